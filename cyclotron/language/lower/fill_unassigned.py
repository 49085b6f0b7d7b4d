"""Equations for the elements of cy.zeros and cy.full that no other equation assigns."""

from __future__ import annotations

from collections.abc import Sequence

from cyclotron import _core
from cyclotron.language.lower.strides import are_many
from cyclotron.language.trace.statement import Statement
from cyclotron.language.values.affine import Affine, Index
from cyclotron.language.values.nodes import Constant, Tensor
from cyclotron.language.values.region import affine_tuple, region_list, region_of_list
from cyclotron.support.errors import LegalityError


def completion(tensor: Tensor, equations: Sequence[Statement]) -> list[Statement] | LegalityError:
    """Return the equation that fills the complement of what the equations assign, if that is not empty.

    Parameters
    ----------
    tensor : SymbolicTensor
        A tensor with a fill value.
    equations : sequence of Statement
        All equations that assign its elements; an empty sequence fills everything.

    Returns
    -------
    list of Statement
        One equation or none; or why there is none that is affine.
    """
    axes = [Index(name, tensor.span) for name in axis_names(tensor, equations)]
    assigned = [
        ([affine_tuple(form, e.loops) for form in e.index], region_list(e.region, e.loops), len(e.loops))
        for e in equations
    ]
    many = are_many(equations)
    missing = None if many else _core.unassigned([int(extent) for extent in tensor.shape], assigned)
    if missing is None:
        return LegalityError(
            f"the elements of `{tensor.name}` that stay {tensor.initial} are no affine function of indices",
            code="CYC216",
            span=equations[-1].span,
            notes=[(tensor.span, "it is declared with a fill value here")],
            help="assign every element with equations of its own, and declare it with cy.empty",
        )
    if not missing:
        return []
    region = region_of_list(missing, axes)
    index = tuple(Affine({axis: 1}, 0) for axis in axes)
    value = Constant(tensor.start, tensor.span)
    loops = tuple(axes)
    return [Statement(tensor, index, loops, region, value, tensor.span, loops)]


def axis_names(tensor: Tensor, equations: Sequence[Statement]) -> list[str]:
    """Name axes after the loops that run over them, so that the fill lies where the other elements do."""
    for equation in equations:
        subscripts = [
            next(iter(form.terms)).name for form in equation.index if list(form.terms.values()) == [1]
        ]
        if len(set(subscripts)) == tensor.ndim:
            return subscripts
    names: list[str] = []
    for axis in range(tensor.ndim):
        plain = [
            next(iter(form.terms)).name
            for form in (equation.index[axis] for equation in equations)
            if list(form.terms.values()) == [1]
        ]
        candidates = [*plain, *"ijkl"[axis : axis + 1], f"axis{axis}", f"{tensor.unique_name}_axis{axis}"]
        names.append(next(name for name in candidates if name not in names))
    return names

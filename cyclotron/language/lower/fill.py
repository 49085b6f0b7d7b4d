"""Equations for the elements of cy.zeros and cy.full that no other equation assigns."""

from __future__ import annotations

from collections.abc import Sequence

from cyclotron.language.trace.statement import Statement
from cyclotron.language.values.affine import Affine, Constraint, Index, Region, intersection
from cyclotron.language.values.nodes import Constant, Tensor
from cyclotron.language.values.region import (
    Conjunction,
    box,
    is_empty,
    project,
    simplify,
    substitute,
    subtract,
)
from cyclotron.support.errors import TraceError


def completion(tensor: Tensor, equations: Sequence[Statement]) -> list[Statement] | TraceError:
    """Return the equation that fills the complement of what the equations assign, if that is not empty.

    Parameters
    ----------
    tensor : SymbolicTensor
        A tensor with a fill value.
    equations : sequence of Statement
        All equations that assign its elements; an empty sequence fills everything.

    Returns
    -------
    list of Statement or TraceError
        One equation or none; or CYC117 where the complement is not found.
    """
    names = axis_names(tensor, equations)
    axes = [Index(name, tensor.span) for name in names]
    inside = box([(axis, int(extent)) for axis, extent in zip(axes, tensor.shape, strict=True)])
    missing: Region = () if is_empty(inside) else (inside,)
    for equation in equations:
        assigned = _assigned(equation, axes)
        if isinstance(assigned, TraceError):
            return assigned
        missing = subtract(missing, simplify(assigned, inside))
    if not missing:
        return []
    region = intersection((inside,), simplify(missing, inside))
    index = tuple(Affine({axis: 1}, 0) for axis in axes)
    value = Constant(tensor.initial or 0, tensor.span)
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
        candidates = [*plain, *"ijkl"[axis : axis + 1], f"axis{axis}", f"{tensor.name}_axis{axis}"]
        names.append(next(name for name in candidates if name not in names))
    return names


def _assigned(equation: Statement, axes: Sequence[Index]) -> Region | TraceError:
    """The elements that an equation assigns, as a region over the axes."""
    solved: dict[Index, Affine] = {}
    pending = list(zip(axes, equation.index, strict=True))
    equalities: list[Constraint] = []
    progress = True
    while pending and progress:
        progress = False
        for item in list(pending):
            axis, form = item
            known = form.substitute(solved)
            unknown = [index for index in known.terms if index not in axes]
            if len(unknown) > 1 or any(abs(known.terms[index]) != 1 for index in unknown):
                continue
            rest = Affine({axis: 1}, 0).plus(known.times(-1))  # axis - form = 0
            if unknown:
                sign = known.terms[unknown[0]]
                solved[unknown[0]] = rest.plus(Affine({unknown[0]: sign}, 0)).times(sign)
            else:
                equalities.append(Constraint(rest, True))
            pending.remove(item)
            progress = True
    tensor = equation.target
    region: Region = ()
    for conjunction in substitute(equation.region, solved):
        part: Conjunction | None = (*conjunction, *equalities)
        for loop in equation.loops:
            if loop not in solved and part is not None:
                part = project(part, loop)
        if pending or part is None:
            return TraceError(
                f"the elements of `{tensor.name}` that stay {tensor.initial} cannot be determined",
                code="CYC117",
                span=equation.span,
                notes=[(tensor.span, "it is declared with a fill value here")],
                help="assign every element with equations of its own, and declare it with cy.empty",
            )
        region += (part,)
    return region

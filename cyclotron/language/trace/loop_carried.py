"""Arrays that a loop assigns anew (`u = u + c * v`): each iteration starts with what the one before left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cyclotron.language.trace.assign import new_array
from cyclotron.language.trace.statement import Scope
from cyclotron.language.trace.trace import Trace, active_trace
from cyclotron.language.values import broadcasting
from cyclotron.language.values.array import SymbolicArray, held_tensor, operand
from cyclotron.language.values.nodes import Access, Element, Tensor
from cyclotron.language.values.region import is_empty
from cyclotron.language.values.source_span import shape_error, trace_error
from cyclotron.language.values.tensor import SymbolicTensor

_PYTHONS = frozenset({"bool", "int64", "float64", "complex128"})


def loop_carried(value: Any, *, name: str, is_number: bool = False) -> SymbolicTensor:
    """``u_kept = il.kept(u, name="u")``: a new array for what a name holds from one iteration to the next.

    Raises
    ------
    TraceError
        CYC111 if the name holds no array, nor a number before it gets data of the same dtype (`is_number`).
    """
    trace = active_trace()
    if not isinstance(value, (SymbolicArray, Element)) and not (
        is_number and isinstance(value, (bool, int, float, complex)) and _has_pythons_dtypes(trace)
    ):
        raise trace_error(
            "CYC111",
            f"`{name}` carries its value from one iteration to the next",
            help="write a reduction, e.g. `sum(... for k in range(...))`; or make it an array before the"
            f" loop, of the dtype that it gets, e.g. `{name} = cy.full((), {name}, dtype=...)`",
        )
    array = operand(value)
    first = len(trace.statements)
    tensor = new_array(array.copy(), name)
    trace.bind({tensor: name}, {tensor: (held_tensor(array),)}, first)
    return tensor


def update_carried(**pairs: Any) -> None:
    """``il.keep(u=(u_kept, u))``: the values with which the next iteration starts, all at once.

    Raises
    ------
    ShapeError
        CYC122 if a name gets an array of another shape, CYC120 if of another dtype.
    """
    loop = [scope for scope in active_trace().scopes if scope.index is not None][-1]
    keep_values(pairs, certain=loop.index if _runs(loop) else None)


def keep_values(pairs: Mapping[str, tuple[SymbolicTensor, Any]], **options: Any) -> None:
    """Assign to the arrays that names are kept in what the names hold, all at once; `Binding` has options."""
    values = {one: operand(value) for one, (_, value) in pairs.items()}
    for one, (target, _) in pairs.items():
        _check_same(one, target, values[one])
    trace = active_trace()
    first = len(trace.statements)
    sources: dict[Tensor, tuple[Tensor | None, ...]] = {
        target: (held_tensor(values[one]),) for one, (target, _) in pairs.items()
    }
    changed = {one: target for one, (target, value) in pairs.items() if not _is_kept(value, target)}
    if len(changed) > 1:  # what one name keeps may be what another one had
        values |= {one: new_array(values[one].copy(), f"{one}_next", one) for one in changed}
    for one, target in changed.items():
        target[...] = values[one]
    if pairs:
        trace.bind({target: one for one, (target, _) in pairs.items()}, sources, first, **options)


def _check_same(one: str, target: SymbolicTensor, value: SymbolicArray) -> None:
    """Check that a name holds after an iteration an array like the one before the loop."""
    same = len(value.shape) == target.ndim and all(map(broadcasting.same, value.shape, target.shape))
    if same and value.dtype_name == target.dtype_name:
        return
    shapes = broadcasting.text(target.whole().shape), broadcasting.text(value.shape)
    was, becomes = (f"shape {s}" for s in shapes) if not same else (target.dtype_name, value.dtype_name)
    raise shape_error(
        "CYC120" if same else "CYC122",
        f"`{one}` has {was} before the loop and {becomes} after an iteration",
        help="give what changes a name of its own, or assign to a slice"
        if target.ndim
        else f"start with a number of that type, e.g. `{one} = 0.0` instead of 0",
        notes=[(target.span, "the loop is here")],
    )


def _has_pythons_dtypes(trace: Trace) -> bool:
    """Return whether numbers of Python's, which adopt the dtype of arrays, have theirs anyway."""
    return all(tensor.dtype_name in _PYTHONS for tensor in trace.tensors)


def _is_kept(value: Any, target: SymbolicTensor) -> bool:
    """Return whether a name holds what its array keeps already."""
    return value is target or (isinstance(value, Access) and value.tensor is target and not target.ndim)


def _runs(loop: Scope) -> bool:
    """Return whether a loop has iterations, wherever it stands."""
    forms = [c.form for conjunction in loop.region for c in conjunction]
    alone = all(index is loop.index for form in forms for index in form.terms)
    return alone and not all(map(is_empty, loop.region))

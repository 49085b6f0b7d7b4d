"""Arrays that a loop assigns anew (`u = u + c * v`): each iteration starts with what the one before left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cyclotron.language.trace.aliases import Carried, Keep
from cyclotron.language.trace.assign import new_array
from cyclotron.language.trace.statement import Scope
from cyclotron.language.trace.trace import active_trace
from cyclotron.language.values import broadcasting
from cyclotron.language.values.array import SymbolicArray, operand
from cyclotron.language.values.nodes import Element, Tensor
from cyclotron.language.values.region import is_empty
from cyclotron.language.values.source_span import shape_error, trace_error
from cyclotron.language.values.tensor import SymbolicTensor


def loop_carried(value: Any, *, name: str) -> SymbolicTensor:
    """``u_kept = il.kept(u, name="u")``: a new array for what a name holds from one iteration to the next.

    Raises
    ------
    TraceError
        CYC111 if the name holds no array.
    """
    if not isinstance(value, (SymbolicArray, Element)):
        raise trace_error(
            "CYC111",
            f"`{name}` carries its value from one iteration to the next",
            help="write a reduction, e.g. `sum(... for k in range(...))`; or make it an array before the"
            f" loop, e.g. `{name} = cy.full((), {name})`",
        )
    trace = active_trace()
    array, declared = operand(value), len(trace.tensors)
    tensor = new_array(array.copy(), name)
    trace.carried.append(Carried(name, tensor, _held(array), declared, len(trace.statements)))
    return tensor


def update_carried(**pairs: Any) -> None:
    """``il.keep(u=(u_kept, u))``: the values with which the next iteration starts, all at once.

    Raises
    ------
    ShapeError
        CYC122 if a name gets an array of another shape, CYC120 if of another dtype.
    """
    trace = active_trace()
    records = {one.tensor: one for one in trace.carried}
    own = [records[target] for target, _ in pairs.values()]
    loops = [scope for scope in trace.scopes if scope.index is not None]
    for record in own:
        record.end = len(trace.statements)
        record.first, record.declared = max(one.first for one in own), min(one.declared for one in own)
        record.around = tuple((scope.index, scope.tensors) for scope in loops if scope.index is not None)
        record.runs = _runs(loops[-1])
    keep_values(pairs)
    for record in own:
        record.last = len(trace.statements)


def keep_values(pairs: Mapping[str, tuple[SymbolicTensor, Any]]) -> None:
    """Assign to the arrays that names are kept in what the names hold, all at once."""
    values = {one: operand(value) for one, (_, value) in pairs.items()}
    for one, (target, _) in pairs.items():
        _check_same(one, target, values[one])
    trace = active_trace()
    records = {one.tensor: one for one in trace.carried}
    first = len(trace.statements)
    own = [(records[target], _held(values[one])) for one, (target, _) in pairs.items()]
    changed = {one: target for one, (target, value) in pairs.items() if value is not target}
    if len(changed) > 1:  # what one name keeps may be what another one had
        values |= {one: new_array(values[one].copy(), f"{one}_next") for one in changed}
    for one, target in changed.items():
        target[...] = values[one]
    for record, held in own:
        record.keeps.append(Keep(held, first, len(trace.statements)))


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
        help="give what changes a name of its own, or assign to a slice",
        notes=[(target.span, "the loop is here")],
    )


def _held(value: SymbolicArray) -> Tensor | None:
    """The tensor of which an array is all or a part; None for new arrays."""
    view = value.whole() if not isinstance(value, SymbolicTensor) else None
    return value if isinstance(value, SymbolicTensor) else view.tensor if view is not None else None


def _runs(loop: Scope) -> bool:
    """Return whether a loop has iterations, wherever it stands."""
    forms = [c.form for conjunction in loop.region for c in conjunction]
    alone = all(index is loop.index for form in forms for index in form.terms)
    return alone and not all(map(is_empty, loop.region))

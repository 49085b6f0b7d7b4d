"""Results of tests: truth values of the host, conditions on indices, and bools that the kernel computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from cyclotron.language.trace.trace import active_trace
from cyclotron.language.values import broadcasting
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import SymbolicArray, operand
from cyclotron.language.values.condition import Condition, tested
from cyclotron.language.values.guarded import while_running
from cyclotron.language.values.nodes import Apply, Choose, Constant, Element
from cyclotron.language.values.operations import apply
from cyclotron.language.values.scalars import as_python, converted, explicit_cast, truth_number
from cyclotron.language.values.source_span import here, trace_error
from cyclotron.support.errors import TraceError

_Value = TypeVar("_Value")


class Parted(Choose):
    """A test of data that is made only where a condition on indices holds; elsewhere its result is known."""

    def __init__(self, condition: Condition, data: Element, elsewhere: bool) -> None:
        super().__init__(condition, data, explicit_cast(Constant(elsewhere, here()), "bool"), here())
        self.elsewhere = elsewhere


def every(*tests: Callable[[], object]) -> object:
    """Return whether all tests hold, as `and`; those after a host value that is false are not made."""
    return _joined(tests, stops_at=False)


def some(*tests: Callable[[], object]) -> object:
    """Return whether one test holds, as `or`; those after a host value that is true are not made."""
    return _joined(tests, stops_at=True)


def no(test: object) -> object:
    """Return whether a test does not hold."""
    value = truth(test)
    if isinstance(value, bool):
        return not value
    if isinstance(value, Parted):
        return Parted(value.condition, apply("logical_not", value.then), not value.elsewhere)
    if isinstance(value, Apply) and value.op == "logical_not" and value.operands[0].dtype == "bool":
        return as_python(value.operands[0], "bool")
    return value.negated() if isinstance(value, Condition) else as_python(apply("logical_not", value), "bool")


not_ = no


def truth(test: object) -> Element | Condition | bool:
    """Test one value: a bool of the kernel, a condition on indices, or a bool of the host.

    Raises
    ------
    TraceError
        CYC104 if it has several elements.
    """
    test = tested(test)
    if isinstance(test, Condition):
        return test
    if not isinstance(test, (SymbolicArray, Element)):
        if isinstance(test, np.ndarray) and test.size != 1:
            raise _of_several(test.shape)
        return bool(test)
    array = operand(test)
    if not all(broadcasting.same(extent, 1) for extent in array.shape):
        raise _of_several(array.shape)
    only = array.at((Affine({}, 0),) * array.ndim)
    known = _of_indices(only)
    return known if known is not None else converted(only, "bool")


def _of_indices(value: Element) -> Condition | bool | None:
    """Test a value of the host, or a choice of such by indices; None of data."""
    if isinstance(value, Constant):
        return bool(value.value)
    if not isinstance(value, Choose):
        return None
    then, other = _of_indices(value.then), _of_indices(value.other)
    if then is None or other is None:
        return None
    return (value.condition & then) | (value.condition.negated() & other)


def taken(value: Callable[[], object], test: Element | Condition | None, *, holds: bool) -> object:
    """Evaluate a branch that is taken only where a test holds, or where it does not.

    Raises
    ------
    TraceError
        CYC104 where it changes an array, as a kernel may that is called in it: it is recorded in any case.
    """
    if test is None:
        return value()

    def evaluated() -> object:
        trace = active_trace()
        if isinstance(test, Condition):
            with trace.assuming(test, holds):
                return value()
        before = len(trace.statements), len(trace.equations)
        result = value()
        trace.guard_since(*before, as_element(truth(test if holds else no(test))))
        return result

    return without_changes(evaluated, "a part of an expression that Python may leave out", "under an `if`")


def without_changes(value: Callable[[], _Value], where: str, instead: str) -> _Value:
    """Evaluate what changes no array, as a kernel may that is called in it; else raise CYC104."""
    trace = active_trace()
    before = [(tensor, tensor.assigned) for tensor in trace.tensors]
    trace.open_parts += 1
    try:
        result = value()
    finally:
        trace.open_parts -= 1
    for tensor, assigned in before:
        if tensor.assigned != assigned:
            raise trace_error(
                "CYC104",
                f"`{tensor.name}` is changed in {where}",
                help=f"call the kernel that changes it in a statement of its own, {instead}",
            )
    return result


def as_element(value: Element | Condition | bool) -> Element:
    """A test as a bool of the kernel."""
    if isinstance(value, Condition):
        return truth_number(value)
    return value if isinstance(value, Element) else Constant(value, here())


def both(one: Element, other: Element) -> Element:
    """Return whether two bools hold."""
    return one if isinstance(other, Constant) and other.value else apply("logical_and", one, other)


def _joined(tests: tuple[Callable[[], object], ...], *, stops_at: bool) -> object:
    joined: Element | Condition | None = None
    for test in tests:
        value = truth(taken(test, joined, holds=not stops_at))
        if isinstance(value, bool):
            if value is stops_at:
                return value
        else:
            joined = value if joined is None else _pair(joined, value, stops_at)
    return joined if joined is not None else not stops_at


def _pair(one: Element | Condition, other: Element | Condition, stops_at: bool) -> Element | Condition:
    """Two tests in one; data are read only where conditions on indices leave it to them."""
    if isinstance(one, Condition) and isinstance(other, Condition):
        return one | other if stops_at else one & other
    region = [_open(part, stops_at) for part in (one, other)]
    data = [_data(part, stops_at) for part in (one, other)]
    op = "logical_or" if stops_at else "logical_and"
    if data[0] is not None and data[1] is not None:
        goes_on = apply("logical_not", data[0]) if stops_at else data[0]
        tested = apply(op, data[0], while_running(data[1], goes_on))
    else:
        tested = data[1] if data[0] is None else data[0]  # type: ignore[assignment]
    conditions = [part for part in region if part is not None]
    if not conditions:
        return tested
    return Parted(conditions[0] if len(conditions) == 1 else conditions[0] & conditions[1], tested, stops_at)


def _open(test: Element | Condition, stops_at: bool) -> Condition | None:
    """The indices for which a test leaves the result to other ones, or to data; None for all."""
    if isinstance(test, Condition):
        return test.negated() if stops_at else test
    return test.condition if isinstance(test, Parted) and test.elsewhere is stops_at else None


def _data(test: Element | Condition, stops_at: bool) -> Element | None:
    """Return the part of a test that is left there; None where that says nothing."""
    if isinstance(test, Condition):
        return None
    return test.then if isinstance(test, Parted) and test.elsewhere is stops_at else test


def _of_several(shape: Any) -> TraceError:
    return trace_error(
        "CYC104",
        f"a condition has the shape {broadcasting.text(shape)}, and so several elements",
        help="combine those of each element with & | ~, as `(x > 0) & (x < 3)`; test one of them, or make one"
        " value of them with cy.any, cy.all, cy.max or cy.norm; to choose"
        " by each, write cy.where(condition, a, b)",
    )

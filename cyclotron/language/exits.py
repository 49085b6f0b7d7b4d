"""Loops that end early: what `break` and `while` record.

A loop that may end early has a flag, a scalar of bool that says whether it still runs. The loop counts
through all of its range; once the flag is False, arrays that were there before the loop keep their values, so
that they are those with which Python leaves the loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from cyclotron.errors import TraceError
from cyclotron.language import broadcasting
from cyclotron.language.affine import EVERYWHERE, Affine, Condition
from cyclotron.language.carried import keep_values
from cyclotron.language.elements import Access, Choose, Constant, Element, apply
from cyclotron.language.elementwise import operand
from cyclotron.language.partial import while_running
from cyclotron.language.position import here
from cyclotron.language.promotion import converted, typed
from cyclotron.language.rounding import Remainder
from cyclotron.language.scopes import as_condition
from cyclotron.language.tensors import SymbolicTensor
from cyclotron.language.trace import Scope, active_trace
from cyclotron.language.whole import Whole

_NAME = "while_at_line_{}_goes_on_after_{}"
_NAMED = re.compile(r"while_at_line_(?P<line>\d+)_goes_on_after_(?P<steps>\d+)(_\d+)?")


def running(*, name: str) -> SymbolicTensor:
    """``t_runs = il.running(name="t")``: the flag of a loop that may end early, before the loop."""
    trace = active_trace()
    flag = trace.declare(f"{name}_runs", (), None, "bool", None, anywhere=True)
    around = trace.guard()
    trace.assign(flag, (), Constant(True, here()) if around is None else _now(around), guarded=False)
    return flag


def stop(flag: SymbolicTensor, test: object, **pairs: Any) -> None:
    """``il.stop(t_runs, rho < tolerance, u=(u_kept, u))``: end the loop where a scalar is true.

    Parameters
    ----------
    flag : SymbolicTensor
        Of the loop.
    test : scalar, condition on indices, or host value
        Whether it ends here.
    **pairs : (SymbolicTensor, array)
        What the names that the loop assigns anew are kept in, and what they hold here.

    Raises
    ------
    TraceError
        CYC104 if the test is an array of several elements, or the kernel has tiles.
    """
    trace = flag.owner
    if any(tensor.blocked for tensor in trace.tensors):
        raise TraceError(
            "a loop over tiles ends early",
            code="CYC104",
            span=here(),
            help="loops that end early are for kernels of scalars; pass arrays instead of `cy.blocked(...)`",
        )
    ends = truth(test)
    if isinstance(ends, bool):
        if not ends:
            return
        ends = Constant(True, here())
    hit = trace.declare(f"{flag.name}_hit", (), None, "bool", None, anywhere=True)
    trace.assign(hit, (), _both(_now(flag), _as_element(ends)))
    trace.scopes.append(Scope(None, EVERYWHERE, tensors=len(trace.tensors), running=hit))
    try:
        keep_values(pairs)
    finally:
        trace.scopes.pop()
    trace.assign(flag, (), _both(_now(flag), apply("logical_not", _now(hit))), guarded=False)


def unfinished(flag: SymbolicTensor, test: object, steps: int) -> None:
    """``il.unfinished(step_runs, rho > tolerance, 100)`` after a loop: whether it would have gone on.

    That becomes an output of the program, of which a run makes an error.
    """
    trace = flag.owner
    name = _NAME.format(here().line, steps)
    ever = trace.declare(name, (), None, "bool", 0, anywhere=True)
    more = _both(_now(flag), while_running(_as_element(truth(test)), _now(flag)))
    trace.assign(ever, (), apply("logical_or", _now(ever), more))
    trace.unfinished.append(ever)


def every(*tests: Callable[[], object]) -> object:
    """Whether all of some tests hold, as `and` says; those after a host value that is false are not made."""
    return _joined(tests, stops_at=False)


def some(*tests: Callable[[], object]) -> object:
    """Whether one of some tests holds, as `or` says; those after a host value that is true are not made."""
    return _joined(tests, stops_at=True)


def no(test: object) -> object:
    """Whether a test does not hold."""
    value = truth(test)
    if isinstance(value, bool):
        return not value
    return value.negated() if isinstance(value, Condition) else apply("logical_not", value)


def truth(test: object) -> Element | Condition | bool:
    """What a test of one value says: a bool of the kernel, a condition on indices, or a bool of the host.

    Raises
    ------
    TraceError
        CYC104 if it has several elements.
    """
    if isinstance(test, Remainder):
        return as_condition(test)
    if isinstance(test, Condition):
        return test
    if not isinstance(test, (Whole, Element)):
        if isinstance(test, np.ndarray) and test.size != 1:
            raise _of_several(test.shape)
        return bool(test)
    array = operand(test)
    if not all(broadcasting.same(extent, 1) for extent in array.shape):
        raise _of_several(array.shape)
    only = array.at((Affine({}, 0),) * array.ndim)
    return bool(only.value) if isinstance(only, Constant) else converted(only, "bool")


def is_ending(name: str) -> bool:
    """Whether the output of this name tells whether a `while` has ended."""
    return _NAMED.fullmatch(name) is not None


def most_steps(name: str) -> tuple[int, int]:
    """The line of the `while` of whose end an output tells, and its most steps."""
    found = _NAMED.fullmatch(name)
    assert found is not None
    return int(found["line"]), int(found["steps"])


def _joined(tests: tuple[Callable[[], object], ...], *, stops_at: bool) -> object:
    joined: Element | Condition | None = None
    for test in tests:
        value = truth(test())
        if isinstance(value, bool):
            if value is stops_at:
                return value
        elif joined is None:
            joined = value
        elif isinstance(joined, Condition) and isinstance(value, Condition):
            joined = joined | value if stops_at else joined & value
        else:
            op = "logical_or" if stops_at else "logical_and"
            before = _as_element(joined)
            goes_on = apply("logical_not", before) if stops_at else before
            joined = apply(op, before, while_running(_as_element(value), goes_on))
    return joined if joined is not None else not stops_at


def _as_element(value: Element | Condition | bool) -> Element:
    if isinstance(value, Condition):
        yes, no = (typed(Constant(one, here()), "bool") for one in (True, False))
        return Choose(value, yes, no, here())
    return value if isinstance(value, Element) else Constant(value, here())


def _both(one: Element, other: Element) -> Element:
    return one if isinstance(other, Constant) and other.value else apply("logical_and", one, other)


def _now(flag: SymbolicTensor) -> Access:
    """What a flag is when the statement runs."""
    return Access(flag, (), here())


def _of_several(shape: Any) -> TraceError:
    return TraceError(
        f"a loop ends by a condition of shape {broadcasting.text(shape)}, which has several elements",
        code="CYC104",
        span=here(),
        help="test one of them, or make one value of them with cy.any, cy.all, cy.max or cy.norm",
    )

"""Loops that end early: what `break` and `while` record.

A loop that may end early has a flag, a scalar of bool that says whether it still runs. The loop counts
through all of its range; once the flag is False, arrays that were there before the loop keep their values, so
that they are those with which Python leaves the loop.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

from cyclotron.language.trace.conditions import as_element, both, no, truth, without_changes
from cyclotron.language.trace.loop_carried import is_kept, keep_values, with_places
from cyclotron.language.trace.loop_parts import known_test
from cyclotron.language.trace.statement import Scope
from cyclotron.language.trace.tests_by_number import for_all_iterations
from cyclotron.language.trace.trace import Trace, active_trace
from cyclotron.language.values.affine import EVERYWHERE, Affine, Constraint, Index, intersection
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.guarded import while_running
from cyclotron.language.values.nodes import Access, Constant, Element, Tensor
from cyclotron.language.values.operations import apply
from cyclotron.language.values.region import extent, indices_of, is_empty, substitute
from cyclotron.language.values.source_span import here, line_span, open_block, trace_error
from cyclotron.language.values.tensor import SymbolicTensor
from cyclotron.support.errors import ExecutionError

_MOST_COUNTED = 1_000_000  # steps, each of which Python takes before the loop is recorded
_GOES_ON = "whether the loop "
_NAME = "while_at_line_{}_goes_on_after_{}"
_NAMED = re.compile(r"while_at_line_(?P<line>\d+)_goes_on_after_(?P<steps>\d+)(_\d+)?")
_UNASSIGNED = re.compile(r"(?P<name>\w+)_at_line_(?P<line>\d+)_is_unassigned(_\d+)?")


def loop_flag(*, name: str) -> SymbolicTensor:
    """``t_runs = il.running(name="t")``: the flag of a loop that may end early, before the loop."""
    trace = active_trace()
    words = f"{_GOES_ON}at line {here().line} goes on"
    flag = trace.declare(f"{name}_runs", (), None, "bool", None, anywhere=True, variable=words)
    around = trace.guard()
    trace.assign(flag, (), Constant(True, here()) if around is None else _now(around), guarded=False)
    return flag


def break_if(flag: SymbolicTensor, test: object, **pairs: Any) -> None:
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
        CYC104 if the test is an array of several elements, or the kernel has tiles, or in `with cy.fuse()`.
    """
    trace = active_trace()
    if any(tensor.blocked for tensor in trace.tensors):
        raise trace_error(
            "CYC104",
            "a loop over tiles ends early",
            help="loops that end early are for kernels of scalars; pass arrays instead of `cy.blocked(...)`",
        )
    ends = known_test(truth(test))
    if ends is False:
        return
    if open_block() and not isinstance(ends, (bool, Condition)):
        raise trace_error(
            "CYC104",
            "a loop ends by data in `with cy.fuse()`",
            help="a controller decides between kernels: put the block into the loop, before what ends it",
        )
    pairs = with_places(pairs)
    if isinstance(ends, Condition):
        _leave_out_what_follows(trace, flag, ends)
    runs = trace.guard()
    assert runs is not None
    value, left = as_element(ends), 0
    if runs is not flag or not isinstance(ends, (bool, Condition)):  # else data do not matter
        at = ends if isinstance(ends, Condition) else value
        value, left = for_all_iterations(at, [held for _, held in pairs.values()])
    scopes = trace.scopes
    trace.scopes = scopes[: len(scopes) - left]
    try:
        _end_where(flag, runs, value, pairs)
    finally:
        trace.scopes = scopes


def _end_where(flag: SymbolicTensor, runs: Tensor, test: Element, pairs: dict[str, Any]) -> None:
    """End the loop where it still runs and a scalar is true."""
    trace = active_trace()
    at_head = runs is flag and all(is_kept(*pair) for pair in pairs.values())  # as of a `while`
    words = f"whether the loop {'goes on' if at_head else 'ends'} at line {here().line}"
    hit = trace.declare(f"{flag.unique_name}_hit", (), None, "bool", None, anywhere=True, variable=words)
    if at_head:
        keep_values(pairs, leaves=True)
        trace.assign(hit, (), as_element(truth(no(test))))
        trace.assign(flag, (), both(_now(flag), _now(hit)), guarded=False)
        return
    trace.assign(hit, (), both(_now(runs), test))
    trace.scopes.append(Scope(None, EVERYWHERE, tensors=len(trace.tensors), running=hit))
    try:
        keep_values(pairs, leaves=True)
    finally:
        trace.scopes.pop()
    for open_flag in _flags_within(flag):  # nor does the rest of the branches run in which it stands
        trace.assign(open_flag, (), both(_now(open_flag), apply("logical_not", _now(hit))), guarded=False)


def _leave_out_what_follows(trace: Trace, flag: SymbolicTensor, ends: Condition) -> None:
    """Let the innermost loop run up to its first iteration in which a condition on its own index ends it.

    Only where the condition is tested in each iteration; those that follow would change nothing.
    """
    scope = trace.scopes[-1]
    if scope.index is None or scope.running is not flag:
        return
    region = intersection(scope.region, ends.region)
    steps = extent(region, scope.index) if set(indices_of(region)) <= {scope.index} else None
    if steps is None or all(map(is_empty, substitute(region, {scope.index: Affine({}, steps[0])}))):
        return
    last = ((Constraint(Affine({scope.index: -1}, steps[0])),),)
    scope.region = intersection(scope.region, last)
    for recorded in (*trace.statements, *trace.equations):
        if scope.index in recorded.inside:
            recorded.region = intersection(recorded.region, last)


def counted(most: int, number: Any, test: Callable[[Any], object], update: Callable[[Any], Any]) -> int:
    """``n = il.counted(100, c, lambda c: c < 3, lambda c: c + 1)``: the steps of a loop that a number ends.

    That is 1 at least, since one iteration is recorded, and the most where data make the number or the test.
    """
    if isinstance(number, (int, Affine)):
        with contextlib.suppress(Exception):  # it is no form
            return _counted_by_form(most, number, test, update)
    if isinstance(number, (int, float)):
        with contextlib.suppress(Exception):  # as the loop itself will say
            for steps in range(min(most, _MOST_COUNTED)):
                if not test(number):
                    return max(steps, 1)
                number = update(number)
    return most


def _counted_by_form(most: int, number: Any, test: Callable[[Any], Any], update: Callable[[Any], Any]) -> int:
    """The most steps at any point of the loops around, of `c < n` with `c + 1`; raises for other forms."""
    index = Index("number", here())
    any_number = Affine({index: 1}, 0)
    step = update(any_number).plus(any_number.times(-1))
    ((ahead,),) = test(any_number).region
    each = -ahead.form.terms[index] * step.constant  # by which it is less ahead
    plain = not step.terms and step.divisor == ahead.form.divisor == 1
    if not plain or ahead.equality or ahead.modulus or each <= 0:
        raise ValueError(f"{step} a step, {ahead.form} ahead")
    first = ahead.form.substitute({index: Affine({}, 0) + number})
    known = Constraint(any_number.times(-1).plus(first), True)
    found = extent(intersection(active_trace().region(), ((known,),)), index)
    return 1 if found is None else max(1, min(most, found[1] // each + 1))


def bound_reached(
    flag: SymbolicTensor, test: Callable[[], object], steps: int, most: int | None = None
) -> None:
    """``il.unfinished(step_runs, lambda: rho > tolerance, 100)`` after a loop: whether it would have gone on.

    That becomes an output of the program, of which a run makes an error; but a number ends a loop that has
    fewer steps than the most.

    Raises
    ------
    TraceError
        CYC104 if the test changes an array, as a kernel may that is called in it: here it is one test more.
    """
    if most is not None and steps < most:
        return
    words = f"whether the loop at line {here().line} goes on after {steps} steps"
    goes_on = without_changes(lambda: truth(test()), "the test of a `while`", "in the loop, with `break`")
    more = both(_now(flag), while_running(as_element(goes_on), _now(flag)))
    _tell(_NAME.format(here().line, steps), words, more)


def is_loop_flag(variable: str) -> bool:
    """Return whether a variable, as messages name it, is the flag of a loop that may end early."""
    return variable.startswith(_GOES_ON) and variable.endswith("goes on")


def unassigned(name: str, flag: Tensor) -> None:
    """Let an output tell, after a loop, whether it has left a name without a value."""
    line, around = here().line, active_trace().guard()
    words = f"whether the loop before line {line} assigns `{name}`"
    never = apply("logical_not", _now(flag))
    never = never if around is None else both(never, _now(around))
    _tell(f"{name}_at_line_{line}_is_unassigned", words, never)


def _tell(name: str, words: str, fault: Element) -> None:
    """Add an output: of each iteration of the `for` loops around, which so need none of each other, a fault.

    Those of loops that may end early, of which there may be any number, share an element.
    """
    trace = active_trace()
    loops = [scope.index for scope in trace.scopes if scope.index is not None and scope.running is None]
    ranges = [extent(trace.region(), index) or (0, 0) for index in loops]
    shape = tuple(last - first + 1 for first, last in ranges)
    told = trace.declare(name, shape, None, "bool", 0, anywhere=True, variable=words)
    at = tuple(Affine({index: 1}, -first) for index, (first, _) in zip(loops, ranges, strict=True))
    if trace.guard() is not None:
        fault = apply("logical_or", Access(told, at, here()), fault)
    trace.assign(told, at, fault)
    trace.reached_bounds.append(told)


def is_ending(name: str) -> bool:
    """Return whether the output of this name tells of a loop that has not ended, or not begun."""
    return bool(_NAMED.fullmatch(name) or _UNASSIGNED.fullmatch(name))


def ending_error(name: str, kernel: str, file: str | None, so_far: str = "") -> ExecutionError:
    """The error of a run in which such an output is true; it says `so_far` of a loop at its most steps."""
    if found := _UNASSIGNED.fullmatch(name):
        code, help = "CYC723", f"assign `{found['name']}` before the loop too"
        message = f"`{found['name']}` of `{kernel}` is read after a loop that has not assigned it"
    else:
        found = _NAMED.fullmatch(name)
        assert found is not None
        code, help = "CYC719", f"allow it more by `@cy.kernel(max_steps=...)`{so_far}"
        message = f"a `while` of `{kernel}` has not ended after {int(found['steps']):,} steps"
    span = None if file is None else line_span(file, int(found["line"]))
    return ExecutionError(message, code=code, span=span, help=help)


def _flags_within(flag: SymbolicTensor) -> list[Tensor]:
    """The flags of the open branches of a loop, innermost first, and that of the loop."""
    found = [scope.running for scope in reversed(active_trace().scopes) if scope.running is not None]
    return found[: [*map(id, found)].index(id(flag)) + 1]


def _now(flag: Tensor) -> Access:
    """Return a flag as it is when the statement runs."""
    return Access(flag, (), here())

"""The blocks of the intermediate language: loops and conditions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any

import numpy as np

from cyclotron.language.trace.assign import new_array
from cyclotron.language.trace.statement import Scope, region_of
from cyclotron.language.trace.trace import active_trace
from cyclotron.language.values import dispatch
from cyclotron.language.values.affine import Affine, Constraint, Index, Region, affine
from cyclotron.language.values.array import LazyArray, SymbolicArray
from cyclotron.language.values.condition import Condition, Extremum, OfIndices, Piecewise, nonzero, not_affine
from cyclotron.language.values.condition import condition as condition_of
from cyclotron.language.values.host_arrays import captured
from cyclotron.language.values.nodes import Constant, Element, retyped
from cyclotron.language.values.operations import apply, element, whole_number
from cyclotron.language.values.operations import where as chosen
from cyclotron.language.values.region import is_empty
from cyclotron.language.values.scalar_type import ScalarType
from cyclotron.language.values.scalars import explicit_cast
from cyclotron.language.values.source_span import trace_error
from cyclotron.language.values.tensor import SymbolicTensor
from cyclotron.support.errors import CyclotronError, InternalError

MOST_UNROLLED = 1_000
MOST_UNEVEN = 16
MOST_HOST_STEPS = 1_000_000


class _Block:
    """A `with` block that restricts the domain."""

    def __init__(self, region: Region) -> None:
        self._trace = active_trace()
        self._region = region
        self._depth = len(self._trace.scopes)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        """Leave the block; what is wrong in one without a point is no error, as Python does not run it."""
        own = region_of(self._trace.scopes[: self._depth + 1])
        runs = error is None or any(not is_empty(part) for part in own)
        del self._trace.scopes[self._depth :]
        refused = isinstance(error, CyclotronError | ArithmeticError)
        return not runs and refused and not isinstance(error, InternalError)


class loop(_Block):  # noqa: N801 (reads as a statement)
    """``with il.loop("i", start, stop, step) as i``: the domain of an index.

    Parameters
    ----------
    name : str
        The name of the index.
    *bounds : int or affine form
        As for ``range``: stop; start and stop; or start, stop and a constant step.
    running : SymbolicTensor, optional
        The flag of a loop that may end early (`il.running`).
    once : bool
        Whether it is one iteration that is recorded apart.
    """

    def __init__(
        self, name: str, *bounds: object, running: SymbolicTensor | None = None, once: bool = False
    ) -> None:
        self._running = running
        self._once = once
        self._index = active_trace().new_index(name)
        self._value, region = range_domain(self._index, bounds)
        super().__init__(region)

    def __enter__(self) -> Affine:
        self._trace.open_loop(self._index, self._region, self._running)
        if self._once:
            self._trace.once.add(self._index)
        return self._value


@contextlib.contextmanager
def inner_loop(name: str, count: Any) -> Iterator[Affine]:
    """A loop that is a function's, whose index is none of the kernel's."""
    trace = active_trace()
    trace.calls.append(name)
    try:
        with loop(name, count) as number:
            yield number
    finally:
        trace.calls.pop()


class where(_Block):  # noqa: N801
    """``with il.where(condition)``: the part of the domain where a condition on indices holds."""

    def __init__(self, test: object) -> None:
        self._condition = as_condition(test)
        super().__init__(self._condition.region)

    def __enter__(self) -> None:
        self._trace.scopes.append(Scope(None, self._region, tensors=len(self._trace.tensors)))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        handled = super().__exit__(kind, error, traceback)
        self._trace.scopes[-1].last_condition = self._condition
        return handled


class otherwise(_Block):  # noqa: N801
    """``with il.otherwise()``: the rest of the domain of the `il.where` before it."""

    def __init__(self) -> None:
        scope = active_trace().scopes[-1]
        if scope.last_condition is None:
            raise trace_error(
                "CYC118",
                "`il.otherwise()` follows no `il.where(...)`",
                help="open it right after the block of `with il.where(...)`",
            )
        super().__init__(scope.last_condition.negated().region)
        scope.last_condition = None

    def __enter__(self) -> None:
        self._trace.scopes.append(Scope(None, self._region, tensors=len(self._trace.tensors)))


def items(array: Any) -> Any:
    """``gs_of = il.items(x)``: what `for gs in x` runs over, an array with axes.

    Raises
    ------
    TraceError
        CYC102 if it is none.
    """
    if isinstance(array, SymbolicArray) and array.shape:
        return array
    what = (
        "an array without axes"
        if isinstance(array, (SymbolicArray, Element))
        else f"a `{type(array).__name__}`"
    )
    raise trace_error(
        "CYC102",
        f"a loop runs over {what}",
        help="run over a range, an array, or values that stand in the kernel or outside it, e.g. `for w in"
        " (0.25, 0.5):`",
    )


def rows(*values: Any, strict: bool = False) -> int:
    """``v_at_rows = il.rows(x, y)``: the iterations of `for v, w in zip(x, y)`.

    Raises
    ------
    TraceError
        CYC102 if `strict` and they are not equally long.
    """
    lengths = [len(value) if isinstance(value, range) else int(value.shape[0]) for value in values]
    if strict and len({*lengths}) > 1:
        raise trace_error(
            "CYC102",
            f"`zip` is strict, and what it takes is {', '.join(map(str, lengths))} long",
            help="give it arrays with as many rows, or leave `strict=True` out",
        )
    return min(lengths)


def unrolled(values: Any) -> Iterator[Any]:
    """``for w in il.unrolled((0.25, 0.5)):`` runs its body while tracing, once for each value.

    Raises
    ------
    TraceError
        CYC102 if there are none, or too many.
    """
    if not isinstance(values, Iterable):
        items(values)  # which refuses it
    for number, value in enumerate(values):
        if number == MOST_UNROLLED:
            raise trace_error(
                "CYC102",
                f"a loop runs over more than {MOST_UNROLLED:,} values of the host, each of which records its"
                " statements anew",
                help="write `for i in range(...)`, which records them once",
            )
        active_trace().count_repeat("loops over values of the host")
        yield captured(value, name="value")


def host_range(*bounds: Any, few: bool) -> range:
    """``for p in il.unrolled(il.host_range(2, 9, few=False)):``, a range whose index slices need as a number.

    Raises
    ------
    TraceError
        CYC102 if the host does not know the bounds; CYC107 if it is long, and only `few` iterations are run.
    """
    result = range(*(int(_bound(one, largest=True)[0]) for one in bounds))
    if few and len(result) > MOST_UNEVEN:
        raise trace_error(
            "CYC107",
            f"a loop of {len(result):,} iterations has a slice with a step whose number of elements is not"
            f" affine in its index; Python runs such loops of at most {MOST_UNEVEN}",
            help="write a loop over the elements, e.g. `for i in range(start, stop, step): ...`",
        )
    return result


def going_on(test: Callable[[], Any]) -> Iterator[None]:
    """``for _ in il.unrolled(il.going_on(lambda: n > 1)):``, a `while` of numbers that the host computes."""
    while test():
        yield None


def host_step() -> None:
    """``il.host_step()``: count an iteration of a loop that Python runs while tracing.

    Raises
    ------
    TraceError
        CYC102 if there are too many in one compilation.
    """
    trace = active_trace()
    trace.host_steps += 1
    if trace.host_steps > MOST_HOST_STEPS:
        raise trace_error(
            "CYC102",
            f"loops in `with cy.host()` take more than {MOST_HOST_STEPS:,} iterations",
            help="end the loop earlier, or call a function of the host that computes the value",
        )


def as_condition(test: object) -> Condition:
    """Return a condition on indices as it is, a host value by its truth; data is an error."""
    if isinstance(test, Element) and test.is_index:
        raise trace_error(
            "CYC103",
            "a condition compares numbers that are no affine forms of indices",
            help="write the numbers in the `if` itself, e.g. `if i * j < n:`, or choose with cy.where",
        )
    if isinstance(test, Element):
        bool(test)
    if isinstance(test, Affine):
        return nonzero(test)
    return test.nonzero() if isinstance(test, OfIndices) else condition_of(test)


def range_domain(index: Index, bounds: tuple[object, ...]) -> tuple[Affine, Region]:
    """The values of ``range(*bounds)`` as a form of an index, and the domain of the index.

    The index is the value itself, or counts down from the start, so that it grows in Python's order.
    """
    start, stop, given = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    step = _constant_step(index, given)
    sign = 1 if step > 0 else -1
    starts, stops = _bound(start, largest=step > 0), _bound(stop, largest=step < 0)
    value = Affine({index: sign}, 0)
    if step < 0:
        value = starts[0].plus(value)
    one = Affine({}, -1)
    inside = [Constraint(value.plus(form.times(-1)).times(sign)) for form in starts]
    inside += [Constraint(form.plus(value.times(-1)).times(sign).plus(one)) for form in stops]
    if abs(step) > 1:
        if len(starts) > 1:
            raise trace_error(
                "CYC102",
                f"the range of `{index.name}` has {len(starts)} starts and the step {step}",
                help="write one range for each start, under `if`",
            )
        inside.append(Constraint(value.plus(starts[0].times(-1)), modulus=abs(step)))
    return value, (tuple(inside),)


def bound(value: Any) -> Any:
    """``il.bound(row[i])``: a bound of a range that data may tell, a whole number of Python's.

    Raises
    ------
    TraceError
        CYC102 if it is none.
    """
    if isinstance(value, (Extremum, Piecewise)):
        return element(value)
    if not isinstance(value, (Element, SymbolicArray)):
        return _bound(value, largest=True)[0]
    if isinstance(value, SymbolicArray) and value.shape:
        what = "an array"
    elif value.dtype.kind in "iu":
        return retyped(whole_number(value), ScalarType("int64", True))
    else:
        what = f"a number of dtype {value.dtype}"
    raise trace_error(
        "CYC102",
        f"a bound of a range is {what}, not a whole number",
        help='convert it, e.g. `int(x[i])` or `n.astype("int64")`',
    )


def places(name: str, start: Any, stop: Any, *axes: tuple[Any, int]) -> tuple[Any, Any, Any]:
    """``first, last, n = il.places("k", row[i], row[i + 1], (values, 0))``: the places of axes in a range.

    These are ``first <= k < last`` of ``0 <= k < n``, all those of the shortest axis. When the program runs,
    a range that begins before them or ends behind them is an `ExecutionError` (CYC701).
    """
    shapes = [(getattr(array, "shape", ()), axis) for array, axis in axes]
    sizes = [affine(shape[axis]) for shape, axis in shapes if axis < len(shape)]
    forms = [form for form in sizes if form is not None]
    is_known = not any(form.terms for form in forms)
    count = min((form.constant for form in forms), default=1) if is_known else Extremum(False, tuple(forms))
    size = explicit_cast(element(count), "int64")
    first, end = (explicit_cast(element(bound(one)), "int64") for one in (start, stop))
    some = apply("less", first, end)
    if not isinstance(first, Constant):
        inside = chosen(some, first, np.int64(0))
        first = apply("normalize_index", inside, size, flags=("checked",))
    last = apply("normalize_index", apply("subtract", end, np.int64(1)), size)
    last = chosen(some, apply("add", last, np.int64(1)), np.int64(0))
    return _kept(first, f"{name}_first"), _kept(last, f"{name}_last"), count


def _kept(value: Element, name: str) -> Any:
    """A number in an array of its own."""
    if isinstance(value, Constant):
        return value.value
    array = LazyArray((), value.dtype, lambda _: value, ())
    return new_array(array, name)


def _constant_step(index: Index, step: object) -> int:
    form = None if isinstance(step, Element) else affine(step)
    if form is not None and not form.terms and form.constant:
        return form.constant
    given = "not constant" if form is None or form.terms else "0"
    raise trace_error(
        "CYC102",
        f"the step of the range of `{index.name}` is {given}",
        help="use a constant step other than 0, e.g. `range(0, n, 2)`",
    )


def _bound(value: object, largest: bool) -> tuple[Affine, ...]:
    if isinstance(value, Extremum) and value.largest == largest:
        return value.forms
    form = None if isinstance(value, Element) else affine(value)
    if form is not None:
        return (form,)
    what = f"has type `{type(value).__name__}`"
    if isinstance(value, Piecewise) or (isinstance(value, Element) and value.is_index):
        raise not_affine(value)
    help = "bounds are affine in outer indices and sizes, e.g. `range(i + 1, n)`"
    if isinstance(value, Element):
        what = "depends on data"
        help += "; elements of arrays bound loops: `for k in range(row[i], row[i + 1]): s += ...`"
    elif isinstance(value, Extremum):
        what = f"is `{value}`, which is not affine"
        help = "of several bounds, the start may be the max() and the stop the min()"
    raise trace_error("CYC102", f"a bound of a range {what}", help=help)


dispatch.implement(where=where)

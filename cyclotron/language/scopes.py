"""The blocks of the intermediate language: loops and conditions."""

from __future__ import annotations

from types import TracebackType

from cyclotron.errors import TraceError
from cyclotron.language.affine import (
    EVERYWHERE,
    Affine,
    Condition,
    Constraint,
    Extremum,
    Index,
    Region,
    affine,
)
from cyclotron.language.affine import condition as condition_of
from cyclotron.language.elements import Element
from cyclotron.language.position import here
from cyclotron.language.trace import Scope, active_trace


class _Block:
    """A `with` block that restricts the domain."""

    def __init__(self, region: Region) -> None:
        self._trace = active_trace()
        self._region = region

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._trace.scopes.pop()


class loop(_Block):  # noqa: N801 (reads as a statement)
    """``with il.loop("i", start, stop, step) as i``: the domain of an index.

    Parameters
    ----------
    name : str
        The name of the index.
    *bounds : int or affine form
        As for ``range``: stop; start and stop; or start, stop and a step of 1 or -1.
    """

    def __init__(self, name: str, *bounds: object) -> None:
        self._index = Index(name, here(), descending=bounds[2:] == (-1,))
        super().__init__(range_region(self._index, bounds))

    def __enter__(self) -> Affine:
        self._trace.open_loop(self._index, self._region)
        return Affine({self._index: 1}, 0)


class where(_Block):  # noqa: N801
    """``with il.where(condition)``: the part of the domain where a condition on indices holds."""

    def __init__(self, test: object) -> None:
        self._condition = as_condition(test)
        super().__init__(self._condition.region)

    def __enter__(self) -> None:
        self._trace.scopes.append(Scope(None, self._region))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, traceback)
        self._trace.scopes[-1].last_condition = self._condition


class otherwise(_Block):  # noqa: N801
    """``with il.otherwise()``: the rest of the domain of the `il.where` before it."""

    def __init__(self) -> None:
        scope = active_trace().scopes[-1]
        if scope.last_condition is None:
            raise TraceError(
                "`il.otherwise()` follows no `il.where(...)`",
                code="CYC118",
                span=here(),
                help="open it right after the block of `with il.where(...)`",
            )
        super().__init__((~scope.last_condition).region)
        scope.last_condition = None

    def __enter__(self) -> None:
        self._trace.scopes.append(Scope(None, self._region))


def all_of(*tests: object) -> object:
    """Conjunction of conditions on indices and host values."""
    if not any(isinstance(test, (Condition, Element)) for test in tests):
        return all(tests)
    result = Condition(EVERYWHERE)
    for test in tests:
        result = result & as_condition(test)
    return result


def any_of(*tests: object) -> object:
    """Disjunction of conditions on indices and host values."""
    if not any(isinstance(test, (Condition, Element)) for test in tests):
        return any(tests)
    result = Condition(())
    for test in tests:
        result = result | as_condition(test)
    return result


def not_(test: object) -> object:
    """Negation of a condition on indices or a host value."""
    return ~as_condition(test) if isinstance(test, (Condition, Element)) else not test


def as_condition(test: object) -> Condition:
    """Return a condition on indices as it is, a host value by its truth; data is an error."""
    if isinstance(test, Element):
        bool(test)
    return condition_of(test)


def range_region(index: Index, bounds: tuple[object, ...]) -> Region:
    """The domain of an index that runs over ``range(*bounds)``."""
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    if not isinstance(step, int) or step not in (1, -1):
        given = step if isinstance(step, int) else "not constant"
        raise TraceError(
            f"the step of the range of `{index.name}` is {given}",
            code="CYC102",
            span=here(),
            help=f"use step 1 or -1, and write e.g. `start + 2 * {index.name}` in subscripts",
        )
    first, last = (start, stop) if step == 1 else (stop, start)
    value = Affine({index: 1}, 0)
    shift = 0 if step == 1 else 1
    lower = [value.plus(form.times(-1)).plus(Affine({}, -shift)) for form in _bound(first, largest=True)]
    upper = [form.plus(value.times(-1)).plus(Affine({}, shift - 1)) for form in _bound(last, largest=False)]
    return (tuple(Constraint(form) for form in (*lower, *upper)),)


def _bound(value: object, largest: bool) -> tuple[Affine, ...]:
    if isinstance(value, Extremum) and value.largest == largest:
        return value.forms
    form = None if isinstance(value, Element) else affine(value)
    if form is not None:
        return (form,)
    what = f"has type `{type(value).__name__}`"
    help = "bounds are affine in outer indices and sizes, e.g. `range(i + 1, n)`"
    if isinstance(value, Element):
        what = "depends on data"
    elif isinstance(value, Extremum):
        what = f"is `{value}`, which is not affine"
        help = "of several bounds, the start may be the max() and the stop the min()"
    raise TraceError(f"a bound of a range {what}", code="CYC102", span=here(), help=help)

"""`if` on data: what `branch = il.branches(test)` records.

Both branches are recorded, each under a flag, a scalar of bool that says whether it is taken: what was there
before keeps its elements where it is not. Names that branches assign, and that are read after them, get what
the flag chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cyclotron.language.trace.assign import array
from cyclotron.language.trace.conditions import Parted, both, truth
from cyclotron.language.trace.statement import Scope
from cyclotron.language.trace.trace import Trace, active_trace
from cyclotron.language.values import broadcasting
from cyclotron.language.values.affine import EVERYWHERE, Affine, intersection
from cyclotron.language.values.array import Chosen, LazyArray, SymbolicArray, combine, held_tensor, operand
from cyclotron.language.values.condition import Condition, Extremum, Piecewise
from cyclotron.language.values.dispatch import PartialArray
from cyclotron.language.values.host_arrays import constant
from cyclotron.language.values.nodes import Access, Element
from cyclotron.language.values.operations import apply, element, where
from cyclotron.language.values.region import is_empty
from cyclotron.language.values.scalar_type import ScalarType, promote
from cyclotron.language.values.source_span import here, shape_error, trace_error
from cyclotron.language.values.tensor import SymbolicTensor

_NUMBERS = (bool, int, float, complex, np.generic)


class Unassigned(Element):
    """The value of a name that only one branch assigns: nothing can use it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.span = here()

    @property
    def type(self) -> ScalarType:  # type: ignore[override]
        raise trace_error(
            "CYC111",
            f"`{self.name}` is assigned in one branch of a condition only, and used after it",
            help=f"assign `{self.name}` before the condition, or in both branches",
            notes=[(self.span, "the condition is here")],
        )


@dataclass(eq=False)
class _Arms:
    """Both branches of a condition that the host cannot tell."""

    trace: Trace
    test: Condition | Access
    before: dict[str, Any]
    part: Parted | None  # what the test is, where it is made for some indices only
    then: dict[str, Any] | None = None


def _known_here(condition: Condition) -> Condition | bool:
    """A condition on indices; its truth where the open loops leave it no choice."""
    around = active_trace().region()
    if all(map(is_empty, around)):
        return condition
    for one, known in ((condition, False), (condition.negated(), True)):
        if all(map(is_empty, intersection(around, one.region))):
            return known
    return condition


class Branches:
    """Both branches of a condition, one after the other.

    Attributes
    ----------
    recorded : bool
        Whether both are recorded, and not only the one that Python would run.
    """

    def __init__(self, value: Element | Condition | bool, before: dict[str, Any]) -> None:
        if isinstance(value, Condition):
            value = _known_here(value)
        self.recorded = not isinstance(value, bool)
        if isinstance(value, bool):
            self._known = value
            return
        self._trace = active_trace()
        if isinstance(value, Condition):
            self._trace.check_region(value.region, here())
            self._arms = _Arms(self._trace, value, before, None)
            tensors = len(self._trace.tensors)
            self._scopes = [Scope(None, one.region, tensors=tensors) for one in (value, value.negated())]
        else:
            taken, self._scopes = _of_data(self._trace, value)
            part = value if isinstance(value, Parted) else None
            self._arms = _Arms(self._trace, taken, before, part)
        self._depth = len(self._trace.scopes)

    def then(self) -> bool:
        """Enter what the condition leads to; False where Python would not."""
        return self._enter(first=True)

    def otherwise(self) -> bool:
        """Enter the other branch; False where Python would not."""
        return self._enter(first=False)

    def _enter(self, *, first: bool) -> bool:
        if not self.recorded:
            return self._known is first
        self.end()
        scope = self._scopes[not first]
        scope.branch = (self._arms, first)
        self._trace.scopes.append(scope)
        return True

    def end(self) -> None:
        """Leave the branch that was entered, if `leave` has not."""
        if self.recorded:
            del self._trace.scopes[self._depth :]

    def leave(self, restored: Sequence[str], **names: Callable[[], Any]) -> tuple[Any, ...]:
        """Leave the branch with what names hold; return what they hold in the other, or after both.

        Parameters
        ----------
        restored : sequence of str
            Names that nobody reads after both.
        **names : callable
            What the names hold now.

        Raises
        ------
        TraceError
            CYC104 if a name holds another value of the host after each.
        ShapeError
            CYC122 if the shapes of arrays differ, CYC120 if the dtypes do.
        """
        arms = self._arms
        self.end()
        found = _held(names)
        if arms.then is None:
            arms.then = found
            return tuple(arms.before[one] for one in names)
        return tuple(
            found[one] if one in restored else _joined(arms, one, arms.then[one], found[one]) for one in names
        )


def branches(test: object, **names: Callable[[], Any]) -> Branches:
    """``branch = il.branches(s > 2, u=lambda: u)``: the branches of a condition, to be entered in turn.

    Of a condition of the host the one that Python would run. They are no block of Python, which nests
    twenty at most: `if branch.then(): ...`, `if branch.otherwise(): ...`, `branch.end()`.

    Parameters
    ----------
    test : scalar, condition on indices, or host value
        What the condition says.
    **names : callable
        What the names that the branches assign, and that are read after them, hold before.

    Raises
    ------
    TraceError
        CYC104 if the test is an array of several elements, or of data in a kernel of tiles.
    """
    value = truth(test)
    return Branches(value, {} if isinstance(value, bool) else _held(names))


def unconditional(what: str) -> None:
    """``il.unconditional("raise ...")``: refuse what Python would run in one branch of a condition on data.

    Raises
    ------
    TraceError
        CYC104 if such a branch is being recorded.
    """
    trace = active_trace()
    if any(scope.branch is not None for scope in trace.scopes):
        raise trace_error(
            "CYC104",
            f"`{what}` stands under a condition that is known only when the program runs",
            help="the kernel is recorded once, and both branches are: choose values there, and do this after"
            " the run, or in `with cy.ignore():` (only the reference runs it)",
        )


def _of_data(trace: Trace, value: Element) -> tuple[Access, list[Scope]]:
    """The flag of the first branch, and the scopes of both."""
    if any(tensor.blocked for tensor in trace.tensors):
        raise trace_error(
            "CYC104",
            "a condition depends on data in a kernel of tiles",
            help="conditions on data are for kernels of scalars; of tiles, choose with cy.where",
        )
    around = trace.guard()

    def flag(name: str, branch: str, test: Element) -> SymbolicTensor:
        words = f"whether the {branch} at line {here().line} is taken"
        made = trace.declare(name, (), None, "bool", None, anywhere=True, variable=words)
        trace.assign(made, (), test if around is None else both(Access(around, (), here()), test))
        return made

    taken = flag("taken", "branch", value)
    rest = flag("not_taken", "other branch", apply("logical_not", Access(taken, (), here())))
    regions = [EVERYWHERE, EVERYWHERE]
    if isinstance(value, Parted):  # `i > 0 and x[i - 1] > 0`: the branch is taken there only
        regions[value.elsewhere] = value.condition.region
    scopes = [
        Scope(None, region, tensors=len(trace.tensors), running=one)
        for one, region in zip((taken, rest), regions, strict=True)
    ]
    return Access(taken, (), here()), scopes


def _held(names: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """Return the values of names; some may not be assigned."""
    found = {}
    for one, value in names.items():
        try:
            found[one] = value()
        except NameError:
            found[one] = Unassigned(one)
    return found


def _joined(arms: _Arms, name: str, then: Any, other: Any) -> Any:
    """Return the value of a name after both branches."""
    if then is other:
        return then
    for value in (then, other):
        if isinstance(value, Unassigned):
            return value
    symbolic = isinstance(then, (SymbolicArray, Element)) or isinstance(other, (SymbolicArray, Element))
    if not symbolic and type(then) is type(other) and isinstance(then, (*_NUMBERS, str)) and then == other:
        return then
    if isinstance(then, Affine) and isinstance(other, Affine) and then.same(other):
        return then
    then, other = map(_chosen_of, (then, other))
    for value in (then, other):
        if isinstance(value, PartialArray):
            raise trace_error(
                "CYC104",
                f"`{name}` is a slice whose bounds are data, and depends on a condition",
                help="assign to the array in the branches, e.g. `y[:stop] = y[:stop] + 1`, or choose there:"
                " `y[:stop] = cy.where(test, a, b)`",
            )
        if not isinstance(value, (SymbolicArray, Element, *_NUMBERS)):
            raise trace_error(
                "CYC104",
                f"`{name}` is a `{type(value).__name__}` that depends on a condition",
                help="only arrays and numbers can be chosen; the kernel is recorded once",
            )
    if not isinstance(then, SymbolicArray) and not isinstance(other, SymbolicArray):
        if isinstance(arms.test, Condition):
            return where(arms.test, element(then), element(other))
        if _is_number(then) and _is_number(other):  # which adopts the dtype of its neighbours, as they do
            chosen = where(arms.test, then, other)
            if arms.part is None:
                return chosen
            return where(arms.part.condition, chosen, then if arms.part.elsewhere else other)
    whole = chosen_array(f"`{name}`", arms.test, then, other)
    of = whole.chosen
    if arms.part is not None:  # one of the branches is recorded only where the test is made
        elsewhere = then if arms.part.elsewhere else other
        whole = _expression("where", (arms.part.condition, whole, elsewhere))
    whole.chosen = None if of is None else replace(of, condition=arms)
    return array(whole, name=name)


def _chosen_of(value: Any) -> Any:
    """Return a branch's value of a name as the recording chooses it: arrays of the host are constants."""
    if isinstance(value, np.ndarray) and value.ndim:
        return constant(value)
    return element(value) if isinstance(value, (Affine, Piecewise, Extremum)) else value


def chosen_array(what: str, test: Condition | Element, then: Any, other: Any) -> LazyArray:
    """One of two arrays or numbers, as a new array that may be either of those that are there.

    Raises
    ------
    ShapeError
        CYC122 if their shapes differ, CYC120 if their dtypes do.
    """
    _check_same(what, operand(then), operand(other))
    then, other = (  # what is chosen already has a place, which may be one of the arrays there are
        array(one, name="chosen") if isinstance(one, LazyArray) and one.chosen is not None else one
        for one in (then, other)
    )
    chosen = _expression("where", (test, then, other))
    both = [operand(value) for value in (then, other)]
    sources = tuple(held_tensor(value) for value in both)
    if any(source is not None for source in sources):
        chosen.chosen = Chosen(tuple(frozenset(value.read_tensors()) for value in both), sources)
    chosen.fixed = next((one.fixed for one in (*both, *sources) if one is not None and one.fixed), "")
    return chosen


def _expression(op: str, values: tuple[Any, ...]) -> LazyArray:
    found = combine(op, values)
    assert isinstance(found, LazyArray)
    return found


def _is_number(value: object) -> bool:
    """Return whether a value is a number of Python's, or a choice between such, without a dtype."""
    return value.type.weak if isinstance(value, Element) else not isinstance(value, np.generic)


def _check_same(what: str, then: SymbolicArray, other: SymbolicArray) -> None:
    """Check that both have one shape and dtype, which numbers adopt."""
    same = len(then.shape) == len(other.shape) and all(map(broadcasting.same, then.shape, other.shape))
    strong = {one.dtype_name for one in (then, other) if not one.type.weak}
    dtype, _ = promote("where", ScalarType("bool"), then.type, other.type)
    if same and strong <= {dtype}:
        return
    texts = [f"{one.dtype_name} of shape {broadcasting.text(one.shape)}" for one in (then, other)]
    raise shape_error(
        "CYC120" if same else "CYC122",
        f"{what} is {texts[0]} in one branch of a condition and {texts[1]} in the other",
        help="what a name holds has one shape and dtype: convert one of them, e.g. with `.astype`",
    )

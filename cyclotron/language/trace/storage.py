"""Names that share storage: copies that stand for one array of Python, and where they would differ from it.

A name that a loop assigns anew, or that a condition gives one of several arrays, has an array of its own: a
copy of what it holds in Python, which may be an array with another name, too. The copy means the same unless
the array is changed under one of its names and read under another before that is bound anew. Bindings are
recorded with the statements; a flow analysis follows, on each path, which names hold one array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cyclotron.language.trace.statement import Arm, Scoped, Statement
from cyclotron.language.values.affine import Index
from cyclotron.language.values.array import Chosen
from cyclotron.language.values.nodes import Tensor, accesses
from cyclotron.support.errors import Span, TraceError

MOST_STATES = 64  # beyond, names that share on some path are taken to share on all
Sources: TypeAlias = Mapping[Tensor, tuple[Tensor | None, ...]]


@dataclass(frozen=True, eq=False)
class Binding:
    """Names that get other arrays, all at once: their own are assigned what those hold.

    Attributes
    ----------
    names : dict of Tensor to str
        The arrays of the names.
    sources : dict of Tensor to tuple of (Tensor or None)
        For each the arrays of which it may hold all or a part; None is a new one.
    first, last : int
        The statements that assign them are those from `first` to `last`.
    scopes : tuple of Index or Arm
        The loops and branches that are open.
    guarded : bool
        Whether the arrays stay what they are where a loop has ended.
    choice : Chosen or None
        What a condition chooses from.
    is_view : bool
        Whether NumPy has a view here.
    leaves : bool
        Whether the innermost loop may end here.
    certain : Index or None
        A loop that has an iteration for certain.
    """

    names: dict[Tensor, str]
    sources: Sources
    first: int
    last: int
    scopes: tuple[Scoped, ...]
    guarded: bool = False
    choice: Chosen | None = None
    is_view: bool = False
    leaves: bool = False
    certain: Index | None = None


@dataclass(frozen=True)
class _State:
    """The state of a path: classes of names that hold one array, those with an old copy, branches taken."""

    shared: frozenset[frozenset[Tensor]] = frozenset()
    old: frozenset[Tensor] = frozenset()
    taken: frozenset[Arm] = frozenset()

    def holders(self, tensor: Tensor) -> frozenset[Tensor]:
        """The names that hold the array of one."""
        return next((names for names in self.shared if tensor in names), frozenset((tensor,)))

    def bound(self, sources: dict[Tensor, Tensor | None]) -> _State:
        """The state after names got the arrays of others, or new ones, all at once."""
        changed = {tensor: source for tensor, source in sources.items() if tensor is not source}
        tensors = {
            *changed,
            *(source for source in changed.values() if source is not None),
            *(one for names in self.shared for one in names),
        }
        arrays: dict[Tensor, object] = {tensor: self.holders(tensor) for tensor in tensors}
        arrays |= {one: one if source is None else self.holders(source) for one, source in changed.items()}
        groups: dict[object, list[Tensor]] = {}
        for tensor, array in arrays.items():
            groups.setdefault(array, []).append(tensor)
        return replace(self, shared=_classes(groups.values()), old=self.old.difference(changed))

    def of(self, tensors: set[Tensor], arms: set[object]) -> _State:
        """The state of names, and of conditions, that still matter."""
        return _State(
            _classes(names & tensors for names in self.shared),
            self.old & tensors,
            frozenset(arm for arm in self.taken if arm[0] in arms),
        )


_States: TypeAlias = dict[_State, None]  # in the order in which they are found
_Item: TypeAlias = Statement | Binding


def _classes(groups: Iterable[Iterable[Tensor]]) -> frozenset[frozenset[Tensor]]:
    return frozenset(names for names in map(frozenset, groups) if len(names) > 1)


def check_storage(
    statements: Sequence[Statement], bindings: Sequence[Binding], outputs: Iterable[Tensor]
) -> None:
    """Check a finished recording.

    Raises
    ------
    TraceError
        CYC111 if an array is changed under one of its names and read under another that has a copy of it.
    """
    if bindings:
        _Flow(statements, bindings, outputs).check()


class _Flow:
    """The flow analysis of a recording."""

    def __init__(
        self, statements: Sequence[Statement], bindings: Sequence[Binding], outputs: Iterable[Tensor]
    ) -> None:
        self._names = {tensor: name for one in bindings for tensor, name in one.names.items()}
        self._conditions = {t for one in bindings if one.choice is not None for t in one.names}
        self._views = {t for one in bindings if one.is_view for t in one.names}
        sources = {t for one in bindings for held in one.sources.values() for t in held if t is not None}
        self._tensors = self._names.keys() | sources
        self._certain = {one.certain for one in bindings}
        self._outputs = [tensor for tensor in outputs if tensor in self._tensors]
        self._reads: dict[_Item, dict[Tensor, Span]] = {}
        self._makes: set[_Item] = set()  # the statements that make a new array
        self._items = self._in_order(statements, bindings)
        self._position = {item: number for number, item in enumerate(self._items)}
        self._last, self._asked = self._ends()
        self._left: dict[Index, _States] = {}  # of loops that end early
        self._changes: dict[
            Tensor, tuple[Tensor, Span]
        ] = {}  # under which name an array was changed, and where

    def _in_order(self, statements: Sequence[Statement], bindings: Sequence[Binding]) -> list[_Item]:
        """The statements that matter, and instead of those that copy what names hold the bindings."""
        items: list[_Item] = []
        waiting = [*reversed(bindings)]
        made = set(self._names)
        for number in range(len(statements) + 1):
            while waiting and waiting[-1].last <= number:
                binding = waiting.pop()
                copies = statements[binding.first : binding.last]
                self._reads[binding] = {
                    t: at
                    for s in copies
                    for t, at in self._read(s).items()
                    if not (binding.guarded and t is s.target)
                }
                items.append(binding)
            if number == len(statements) or (waiting and waiting[-1].first <= number):
                continue
            statement = statements[number]
            self._reads[statement] = self._read(statement)
            if statement.target in self._tensors or self._reads[statement]:
                items.append(statement)
            if statement.target.complete and statement.target not in made:
                made.add(statement.target)
                self._makes.add(statement)
        return items

    def _read(self, statement: Statement) -> dict[Tensor, Span]:
        read = (access.tensor for access in accesses(statement.value))
        return {tensor: statement.span for tensor in read if tensor in self._tensors}

    def _ends(self) -> tuple[dict[Tensor, int], dict[object, int]]:
        """The last uses of names, in loops beyond the end of the outermost, and what conditions chose."""
        loops: dict[Index, int] = {}
        outermost = [
            next((one for one in item.scopes if isinstance(one, Index)), None) for item in self._items
        ]
        for number, loop in enumerate(outermost):
            if loop is not None:
                loops[loop] = number
        tensors: dict[Tensor, int] = {}
        conditions: dict[object, int] = {}
        for number, (item, loop) in enumerate(zip(self._items, outermost, strict=True)):
            end = number if loop is None else loops[loop] + 1
            tensors.update(dict.fromkeys(self._reads[item], end))
            if isinstance(item, Statement):
                tensors[item.target] = end
                continue
            for tensor, held in item.sources.items():
                tensors.update({one: end for one in (tensor, *held) if one is not None})
            if item.choice is not None:
                conditions[item.choice.condition] = number
        return tensors | dict.fromkeys(self._outputs, len(self._items)), conditions

    def check(self) -> None:
        """Raise `TraceError` for what a path reads of an old copy."""
        for state in self._run(self._items, {_State(): None}, 0):
            self._check_read(state, {tensor: tensor.span for tensor in self._outputs})

    def _run(self, items: Sequence[_Item], states: _States, depth: int) -> _States:
        """The states after items, which stand in the same loops and branches down to a depth."""
        at = 0
        while at < len(items):
            item = items[at]
            inner = item.scopes[depth] if len(item.scopes) > depth else None
            end = at + 1
            while inner is not None and end < len(items) and _is_in(items[end], inner, depth):
                end += 1
            if isinstance(inner, Index):
                states = self._loop(inner, items[at:end], states, depth)
            elif inner is not None:
                states = self._branches(inner[0], items[at:end], states, depth)
            else:
                states = self._after(item, states)
            at = end
        return states

    def _branches(self, condition: object, items: Sequence[_Item], states: _States, depth: int) -> _States:
        result: _States = {}
        for first in (True, False):
            own = [one for one in items if one.scopes[depth] == (condition, first)]
            taken = {replace(state, taken=state.taken | {(condition, first)}): None for state in states}
            result |= self._run(own, taken, depth + 1)
        return result

    def _loop(self, loop: Index, items: Sequence[_Item], states: _States, depth: int) -> _States:
        """The states after any number of iterations."""
        new, entered = states, states
        after: _States = {}
        while new:
            after = after | self._run(items, new, depth + 1)
            reached = _limited(entered | after)
            new = {state: None for state in reached if state not in entered}
            entered = reached
        after = after if loop in self._certain else after | states
        return _limited(after | self._left.pop(loop, {}))

    def _after(self, item: _Item, states: _States) -> _States:
        result: _States = {}
        position = self._position[item]
        tensors = {tensor for tensor, end in self._last.items() if end > position}
        asked = {condition for condition, end in self._asked.items() if end > position}
        for state in states:
            if isinstance(item, Binding):
                result |= {one.of(tensors, asked): None for one in self._bound(item, state)}
                continue
            self._check_read(state, self._reads[item])
            if item in self._makes:
                state = state.bound({item.target: None})
            else:
                others = state.holders(item.target) - {item.target}
                self._changes.update(dict.fromkeys(others, (item.target, item.span)))
                state = replace(state, old=state.old | others)
            result[state.of(tensors, asked)] = None
        if isinstance(item, Binding) and item.leaves:
            loop = [one for one in item.scopes if isinstance(one, Index)][-1]
            self._left[loop] = self._left.get(loop, {}) | result
            return states
        return _limited(result)

    def _bound(self, item: Binding, state: _State) -> list[_State]:
        """The states after a binding: of a choice one for each array that may be chosen."""
        ways = range(max(map(len, item.sources.values())))
        choice = item.choice
        if choice is not None:
            ways_taken = [int(not first) for condition, first in state.taken if condition is choice.condition]
            ways = range(ways_taken[0], ways_taken[0] + 1) if ways_taken else ways
        result = []
        for way in ways:
            other = choice.read[not way] - choice.read[way] if choice is not None else ()
            self._check_read(state, {t: at for t, at in self._reads[item].items() if t not in other})
            result.append(state.bound({tensor: held[way] for tensor, held in item.sources.items()}))
        return result

    def _check_read(self, state: _State, reads: dict[Tensor, Span]) -> None:
        for tensor, span in reads.items():
            if tensor in state.old:
                raise self._refused(tensor, span)

    def _refused(self, read: Tensor, span: Span) -> TraceError:
        changed, where = self._changes[read]
        own, other = (read, changed) if changed not in self._names else (changed, read)
        name = self._names[own]
        former = self._names.get(other, other.name)
        bound, notes = "a loop assigns anew", [(own.span, f"the loop that assigns `{name}` is here")]
        if own in self._conditions or own in self._views:
            bound, notes = "a condition chooses" if own in self._conditions else "is a view in NumPy", []
        held = f"`{former}` is" if former != name else "it was before"
        return TraceError(
            f"`{name}`, which {bound}, may hold the array that {held}, or a part of it; one of them is"
            " changed in place and the other read",
            code="CYC111",
            span=where,
            notes=[*notes, (span, "the other is read here")],
            help=f"give `{name}` an array of its own where it gets that one, e.g. `{name} = {former}.copy()`;"
            f" or write e.g. `{former} = {former} + ...` for what changes the array in place",
        )


def _is_in(item: _Item, scope: Scoped, depth: int) -> bool:
    """Return whether an item stands in a loop, or in one of the branches of a condition."""
    own = item.scopes[depth] if len(item.scopes) > depth else None
    if isinstance(own, tuple) and isinstance(scope, tuple):
        return own[0] is scope[0]
    return own is scope


def _limited(states: _States) -> _States:
    """The states, or where they are too many one in which all names share that share in one of them."""
    if len(states) <= MOST_STATES:
        return states
    shared: list[frozenset[Tensor]] = []
    for names in (names for state in states for names in state.shared):
        touched = [one for one in shared if one & names]
        shared = [one for one in shared if one not in touched] + [names.union(*touched)]
    return {_State(frozenset(shared), frozenset().union(*(state.old for state in states))): None}

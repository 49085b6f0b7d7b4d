"""Scopes that are open while a kernel is recorded, and the statements that were recorded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cyclotron.language.values.affine import EVERYWHERE, Affine, Index, Region, intersection
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.nodes import AxisIndex, Element, Tensor
from cyclotron.language.values.region import is_empty
from cyclotron.support.errors import Span

Arm = tuple[object, bool]  # a condition, and which of its branches: the first, or `else`
Scoped: TypeAlias = Index | Arm  # what may be run another number of times than once


@dataclass
class Scope:
    """One open `with`: a loop (with its index) or a condition."""

    index: Index | None
    region: Region
    last_condition: Condition | None = None  # of the inner `where` that closed last
    order: int = 0  # of a loop, among what the loop around it holds
    held: int = 0  # how many loops and statements a loop holds so far
    tensors: int = 0  # how many tensors there were when it was opened
    running: Tensor | None = None  # the flag under which older tensors are assigned inside
    branch: Arm | None = None  # which it is of the branches of `il.branches`
    _within: tuple[Region, Region, Region] | None = None  # what `within` found last, of what

    def within(self, around: Region) -> Region:
        """Its points among those around it; unions of many parts keep only parts that have points."""
        if self._within is None or self._within[0] is not around or self._within[1] is not self.region:
            found = intersection(around, self.region)
            if len(around) > 1 and len(self.region) > 1:
                found = tuple(part for part in found if not is_empty(part))
            self._within = (around, self.region, found)
        return self._within[2]


@dataclass(eq=False)
class Statement:
    """``target[index] = value`` for every point of `region` over `loops`."""

    target: Tensor
    index: tuple[Affine, ...]
    loops: tuple[Index, ...]
    region: Region
    value: Element
    span: Span
    inside: tuple[Index, ...]  # all loops around the statement, the reduced one too, outermost first
    reduced: Index | None = None  # the index of an accumulation
    folded: bool = False  # whether an accumulation started from an assignment, not from a fill value
    scopes: tuple[Scoped, ...] = ()  # the loops of the text and the branches of conditions that it stands in
    text: tuple[int, ...] = ()  # which it is, of what each loop around it holds: the order Python runs it in


def scoped(scopes: Sequence[Scope]) -> tuple[Scoped, ...]:
    """The loops of the text and the branches among scopes, outermost first."""
    found = (scope.index or scope.branch for scope in scopes)
    return tuple(one for one in found if one is not None and not isinstance(one, AxisIndex))


def indices_of(scopes: Sequence[Scope]) -> tuple[Index, ...]:
    """The indices of the loops among scopes, outermost first."""
    return tuple(scope.index for scope in scopes if scope.index is not None)


def region_of(scopes: Sequence[Scope]) -> Region:
    """The points where loops and conditions all hold."""
    region = EVERYWHERE
    for scope in scopes:
        region = scope.within(region)
    return region


def unused(name: str, taken: Collection[str], before_number: str = "_") -> str:
    """The name, or the first with a number after it from 2, that no other index or tensor has."""
    numbered = (f"{name}{before_number}{number}" for number in range(2, len(taken) + 3))
    return next(one for one in (name, *numbered) if one not in taken)

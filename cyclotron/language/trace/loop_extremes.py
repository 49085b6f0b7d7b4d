"""The largest or the smallest of the numbers that loops compute, which they keep (`best = max(best, e)`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cyclotron.language.trace.assign import array
from cyclotron.language.trace.statement import region_of
from cyclotron.language.trace.trace import active_trace
from cyclotron.language.trace.values import maximum, minimum
from cyclotron.language.values.affine import Affine, intersection
from cyclotron.language.values.array import LazyArray
from cyclotron.language.values.broadcasting import box
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.nodes import Constant, Element, FoldIndex, Reduce, retyped
from cyclotron.language.values.operations import element, where
from cyclotron.language.values.region import extent, is_empty, subtract
from cyclotron.language.values.scalar_type import ScalarType
from cyclotron.language.values.scalars import choose_by_indices, explicit_cast
from cyclotron.language.values.source_span import here
from cyclotron.support.dtypes import kind_of


class LoopExtreme:
    """Numbers that the loops around compute, which are in arrays of their own until their extreme is found.

    It is that of Python's `max` and `min`, which leave out each NaN but the one they start with.
    """

    def __init__(self, name: str, *, largest: bool) -> None:
        self.name = name
        self._largest = largest
        self._outside = len(active_trace().scopes)
        self._found: list[tuple[Element, ScalarType]] = []

    def take(self, value: Any) -> None:
        """Keep one number, for each point of the loops and conditions since."""
        trace, number = active_trace(), element(value)
        region = trace.region()
        loops = [scope.index for scope in trace.scopes[self._outside :] if scope.index is not None]
        ends = [extent(region, loop) or (0, -1) for loop in loops]
        if any(last < first for first, last in ends):
            return
        neutral = explicit_cast(Constant(_least_of_all(number.dtype, self._largest), here()), number.dtype)
        if kind_of(number.dtype) == "f":
            number = where(number == number, number, neutral)
        shape = tuple(last - first + 1 for first, last in ends)
        index = tuple(Affine({loop: 1}, -first) for loop, (first, _) in zip(loops, ends, strict=True))
        tensor = trace.declare(self.name, shape, None, number.dtype, None, anywhere=True, variable=self.name)
        tensor.complete = True
        trace.assign(tensor, index, number)
        folds = [FoldIndex("fold", here()) for _ in loops]
        at = [Affine({fold: 1}, 0) for fold in folds]
        places = {
            loop: form.plus(Affine({}, first)) for loop, form, (first, _) in zip(loops, at, ends, strict=True)
        }
        taken = tuple(tuple(one.substitute(places) for one in part) for part in region)
        every = (box(list(zip(folds, shape, strict=True))),)
        around = region_of(trace.scopes[: self._outside])
        term: Element = tensor.at(at)
        if not all(map(is_empty, subtract(intersection(around, every), taken))):
            term = choose_by_indices(Condition(taken), term, neutral)
        for fold, size in zip(reversed(folds), reversed(shape), strict=True):
            kind = "maximum" if self._largest else "minimum"
            term = Reduce(kind, fold, (box([(fold, size)]),), term, here())
        self._found.append((term, ScalarType(number.dtype, number.type.weak)))

    def joined(self, value: Any) -> Any:
        """The extreme of a number and of what was taken."""
        for term, kind in self._found:
            number = retyped(array(_number(term), name=self.name).at(()), kind)
            value = maximum(value, number) if self._largest else minimum(value, number)
        return value


def _number(value: Element) -> LazyArray:
    return LazyArray((), value.dtype, lambda _: value, (), costly=True)


def _least_of_all(dtype: str, largest: bool) -> complex:
    """The number that changes no extreme."""
    if kind_of(dtype) in "iu":
        limits = np.iinfo(dtype)
        return int(limits.min if largest else limits.max)
    if dtype == "bool":
        return not largest
    return -np.inf if largest else np.inf


def loop_extreme(*, name: str, largest: bool) -> LoopExtreme:
    """``best_of = il.extreme(name="best", largest=True)``: what takes `e` of `best = max(best, e)`."""
    return LoopExtreme(name, largest=largest)

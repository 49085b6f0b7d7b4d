"""Where elements are: their places along axes, as numbers that PEs count."""

from __future__ import annotations

from collections.abc import Sequence

from cyclotron.language.arrays.broadcasting import Shape, whole_numbers
from cyclotron.language.arrays.whole import Expression, Whole
from cyclotron.language.expressions.affine import Affine
from cyclotron.language.expressions.elements import Element
from cyclotron.language.expressions.index_numbers import IndexValue
from cyclotron.language.expressions.position import here


def places(shape: Shape, axes: Sequence[int]) -> Whole:
    """For each element of a shape its place along axes, counted with the last one fastest."""
    sizes = tuple(shape[axis] for axis in axes)

    def element_at(index: Sequence[Affine]) -> Element:
        return place([index[axis] for axis in axes], sizes)

    return Expression(shape, "int64", element_at, ())


def place(index: Sequence[Affine], shape: Shape) -> Element:
    """The place of an index in a shape, counted with the last axis fastest."""
    form = index[0] if index else Affine({}, 0)
    for at, size in zip(index[1:], whole_numbers(shape[1:], "the axes"), strict=True):
        form = form.times(size).plus(at)
    return IndexValue(form, "int64", here())

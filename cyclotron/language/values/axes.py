"""Axes and numbers of places that functions of arrays are given."""

from __future__ import annotations

import operator
from typing import Any

from cyclotron.language.values.source_span import shape_error


def axes_of(axis: Any, ndim: int, what: str) -> tuple[int, ...]:
    """Axes as numbers from 0; None means all.

    Raises
    ------
    ShapeError
        CYC122 if there is no such axis, or one is given twice.
    """
    given = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [_whole_number(one, what) for one in given]
    for one in axes:
        if not -ndim <= one < ndim or [a % ndim for a in axes].count(one % ndim) > 1:
            raise shape_error(
                "CYC122",
                f"`{what}` has the axis {one} of an array that has {ndim}",
                help=f"name axes between {-ndim} and {ndim - 1}, each once",
            )
    return tuple(one % ndim for one in axes)


def axis_of(axis: Any, ndim: int, what: str) -> int:
    """One axis as a number from 0; raises as `axes_of`."""
    return axes_of((axis,), ndim, what)[0]


def whole_shift(number: Any, what: str) -> int:
    """A whole number of places that the host knows.

    Raises
    ------
    ShapeError
        CYC122 for other values.
    """
    try:
        return operator.index(number)
    except TypeError:
        raise shape_error(
            "CYC122",
            f"`{what}` goes by {number!r} places",
            help="give a whole number that is known before the program runs",
        ) from None


def whole_size(number: Any, what: str) -> int:
    """A number of elements that the host knows, 0 or more.

    Raises
    ------
    ShapeError
        CYC122 for other values.
    """
    try:
        size = operator.index(number)
    except TypeError:
        size = -1
    if size < 0:
        raise shape_error(
            "CYC122",
            f"`{what}` has the size {number!r}",
            help="give a whole number, 0 or more, that is known before the program runs, e.g. `n // 2`",
        ) from None
    return size


def _whole_number(axis: Any, what: str) -> int:
    try:
        if isinstance(axis, bool):
            raise TypeError("a truth value is no axis, as in NumPy")
        return operator.index(axis)
    except TypeError:
        raise shape_error(
            "CYC122",
            f"`{what}` has the axis {axis!r}, a value of type `{type(axis).__name__}`",
            help="axes are whole numbers, e.g. `axis=0` or `axis=(0, 1)`",
        ) from None

"""Slices whose bounds are data, `x[:, :, :stop] = y` with an array `stop`: elements choose by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cyclotron.errors import ShapeError
from cyclotron.language.affine import Affine
from cyclotron.language.arithmetic import Arithmetic
from cyclotron.language.broadcasting import same, text
from cyclotron.language.elements import Element
from cyclotron.language.elementwise import combine, operand, settled
from cyclotron.language.index_numbers import IndexValue
from cyclotron.language.position import here
from cyclotron.language.whole import Expression, View, Whole


def assign_by_bounds(view: View, key: object, value: object) -> None:
    """Assign what lies inside of slices, whose bounds are data, to those elements.

    Raises
    ------
    ShapeError
        CYC122 for a bound whose shape is not that of the other axes, CYC120 for one that is no integer.
    """
    part = view[_without_bounds(key, Arithmetic)]
    keys, shape = _spread(key, view.ndim), part.shape
    inside: Whole | None = None
    for at, one in _slices(keys):
        for bound, op in ((one.stop, "less"), (one.start, "greater_equal")):
            if isinstance(bound, Arithmetic):
                test = combine(op, (_places(shape, at), _expanded(bound, shape, at)))
                inside = test if inside is None else combine("logical_and", (inside, test))
    assert inside is not None
    new = operand(value)
    part[...] = combine("where", (settled(inside), new.astype(part.dtype_name), part))


def has_bounds_of_data(key: object, kinds: type | tuple[type, ...] = Arithmetic) -> bool:
    """Whether slices among subscripts have bounds that are data."""
    keys = key if isinstance(key, tuple) else (key,)
    return any(
        isinstance(bound, kinds) for one in keys if isinstance(one, slice) for bound in (one.start, one.stop)
    )


def assign_plainly(array: np.ndarray[Any, Any], key: object, value: object) -> None:
    """The same of NumPy's arrays, in plain runs."""
    whole = array[_without_bounds(key, np.ndarray)]
    part = whole.view(np.ndarray)
    inside = np.ones(part.shape, bool)
    for at, one in _slices(_spread(key, array.ndim)):
        size = part.shape[at]
        places = np.arange(size).reshape([-1 if n == at else 1 for n in range(part.ndim)])
        for bound, compare in ((one.stop, np.less), (one.start, np.greater_equal)):
            if isinstance(bound, np.ndarray):
                limits = np.expand_dims(bound, at) if bound.ndim else bound
                inside &= compare(places, np.where(limits < 0, np.maximum(limits + size, 0), limits))
    np.copyto(part, np.asarray(value), where=inside, casting="unsafe")


def _without_bounds(key: object, kinds: type) -> Any:
    """The subscripts with whole axes in place of slices with such bounds."""
    keys = key if isinstance(key, tuple) else (key,)
    return tuple(slice(None) if has_bounds_of_data(one, kinds) else one for one in keys)


def _spread(key: object, ndim: int) -> list[object]:
    """Subscripts, one for each axis and each new one."""
    keys = list(key) if isinstance(key, tuple) else [key]
    axes = sum(one is not None and one is not Ellipsis for one in keys)
    at = next((n for n, one in enumerate(keys) if one is Ellipsis), len(keys))
    return [*keys[:at], *[slice(None)] * (ndim - axes), *keys[at + 1 :]]


def _slices(keys: Sequence[object]) -> list[tuple[int, slice]]:
    """The slices, each with its axis in the result."""
    kept = [one for one in keys if one is None or isinstance(one, slice)]
    return [(at, one) for at, one in enumerate(kept) if isinstance(one, slice)]


def _places(shape: Sequence[Any], axis: int) -> Whole:
    def element_at(index: Sequence[Affine]) -> Element:
        return IndexValue(index[axis], "int64", here())

    return Expression(tuple(shape), "int64", element_at, ())


def _expanded(bound: object, shape: Sequence[Any], axis: int) -> Whole:
    """A bound as one of all axes, from 0 on."""
    limit = operand(bound)
    if limit.dtype.kind != "i":
        raise ShapeError(
            f"a bound of a slice has dtype {limit.dtype_name}",
            code="CYC120",
            span=here(),
            help="bounds are integers, e.g. int64",
        )
    others = (*shape[:axis], *shape[axis + 1 :])
    if limit.shape and not (len(limit.shape) == len(others) and all(map(same, limit.shape, others))):
        raise ShapeError(
            f"a bound of a slice has shape {text(limit.shape)}, and the other axes have {text(others)}",
            code="CYC122",
            span=here(),
            help="give one bound, or one for each element of the other axes",
        )
    size = shape[axis]
    wide = limit.astype("int64")
    limit = combine("where", (wide < 0, combine("maximum", (wide + size, 0)), wide))
    return limit[(slice(None),) * axis + (None,)] if limit.shape else limit

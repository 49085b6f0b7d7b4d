"""Slices whose bounds are data, `x[:, :, :stop] = y` with an array `stop`: elements choose by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from cyclotron.errors import ShapeError, TraceError
from cyclotron.language.arrays.broadcasting import same, text
from cyclotron.language.arrays.elementwise import combine, operand, settled
from cyclotron.language.arrays.whole import Expression, View, Whole
from cyclotron.language.expressions.affine import Affine
from cyclotron.language.expressions.arithmetic import Arithmetic
from cyclotron.language.expressions.elements import Element
from cyclotron.language.expressions.index_numbers import IndexValue
from cyclotron.language.expressions.operators import OPERATORS
from cyclotron.language.expressions.position import here

_Bound = tuple[int, Any, Any]


class Ragged(Arithmetic):
    """What a slice reads whose bounds are data: in operators, and assigned to slices with the same bounds.

    Parameters
    ----------
    whole : Whole or ndarray
        All elements, those outside of the bounds too.
    bounds : sequence of tuple
        For each such slice its axis, start and stop.
    """

    def __init__(self, whole: Any, bounds: Sequence[_Bound]) -> None:
        self.whole = whole
        self.bounds = tuple(bounds)
        self._made = _versions(self.bounds)

    def operate(self, op: str, *values: object) -> Any:
        """Apply an operator to values of which this is one; others are numbers or have such bounds."""
        for value in values:
            if isinstance(value, Ragged):
                self.check(value.bounds)
            elif getattr(value, "shape", ()):
                raise _unlike("an array of other bounds is an operand of a slice whose bounds are data")
        parts = [value.whole if isinstance(value, Ragged) else value for value in values]
        if isinstance(self.whole, np.ndarray):
            with np.errstate(all="ignore"):  # outside of the bounds
                return Ragged(OPERATORS[op].numpy(*parts), self.bounds)
        return Ragged(combine(op, parts), self.bounds)

    def __array_ufunc__(self, *_: object, **__: object) -> NoReturn:
        raise TraceError(
            "how many elements a slice has depends on data, and so would the shape",
            code="CYC107",
            span=here(),
            help="assign it, or what operators make of it, to a slice with the same bounds; else read the"
            " whole axis and choose: `cy.where(cy.arange(n) < stop, x, 0)`",
        )

    __array_function__ = __array__ = __array_ufunc__

    def check(self, bounds: Sequence[_Bound]) -> None:
        """Raise `TraceError` (CYC107) where the bounds are other ones, or were assigned since."""
        same = len(bounds) == len(self.bounds) and all(
            a[0] == b[0] and a[1] is b[1] and a[2] is b[2] for a, b in zip(bounds, self.bounds, strict=True)
        )
        if not same or _versions(self.bounds) != self._made:
            raise _unlike("slices with different bounds, which are data, are used together")


def _versions(bounds: Sequence[_Bound]) -> list[int]:
    """By the tensors that bounds read, their last assignments."""
    arrays = [bound for _, *both in bounds for bound in both if isinstance(bound, Whole)]
    return [tensor.assigned for array in arrays for tensor in array.read_tensors()]


def _unlike(message: str) -> TraceError:
    return TraceError(
        message,
        code="CYC107",
        span=here(),
        help="give the bounds names, and use the same ones, e.g. `x[:, :stop] = y[:, :stop] + 1`",
    )


def read_by_bounds(array: Any, key: object) -> Ragged:
    """What slices read whose bounds are data, of symbolic arrays and, in plain runs, of NumPy's."""
    kinds: Any = Arithmetic if isinstance(array, Whole) else np.ndarray
    return Ragged(array[_without_bounds(key, kinds)], _bounds(key, array.ndim, kinds))


def assign_by_bounds(view: View, key: object, value: object) -> None:
    """Assign what lies inside of slices, whose bounds are data, to those elements.

    Raises
    ------
    ShapeError
        CYC122 for a bound whose shape is not that of the other axes, CYC120 for one that is no integer.
    """
    part = view[_without_bounds(key, Arithmetic)]
    bounds, shape = _bounds(key, view.ndim, Arithmetic), part.shape
    inside: Whole | None = None
    for at, start, stop in bounds:
        for bound, op in ((stop, "less"), (start, "greater_equal")):
            if isinstance(bound, Arithmetic):
                test = combine(op, (_places(shape, at), _expanded(bound, shape, at)))
                inside = test if inside is None else combine("logical_and", (inside, test))
    assert inside is not None
    if isinstance(value, Ragged):
        value.check(bounds)
    new = operand(value.whole if isinstance(value, Ragged) else value)
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
    bounds = _bounds(key, array.ndim, np.ndarray)
    if isinstance(value, Ragged):
        value.check(bounds)
        value = value.whole
    for at, start, stop in bounds:
        size = part.shape[at]
        places = np.arange(size).reshape([-1 if n == at else 1 for n in range(part.ndim)])
        for bound, compare in ((stop, np.less), (start, np.greater_equal)):
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


def _bounds(key: object, ndim: int, kinds: type) -> list[_Bound]:
    """The slices whose bounds are data: the axis of the result, start and stop."""
    kept = [one for one in _spread(key, ndim) if one is None or isinstance(one, slice)]
    for one in kept:
        if one is not None and has_bounds_of_data(one, kinds) and one.step not in (None, 1):
            raise TraceError(
                "a slice whose bounds are data has a step",
                code="CYC107",
                span=here(),
                help="choose by the place, e.g. `cy.where(cy.arange(n) % 2 == 0, ...)`",
            )
    return [
        (at, one.start, one.stop)
        for at, one in enumerate(kept)
        if isinstance(one, slice) and has_bounds_of_data(one, kinds)
    ]


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

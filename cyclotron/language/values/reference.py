"""Slices whose bounds are data in plain runs: NumPy on the elements that they select, and on no others."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from cyclotron.errors import TraceError
from cyclotron.language.arrays.dynamic_slices import (
    ELEMENTWISE,
    Bound,
    bounds_of,
    check_bound,
    check_together,
    other_bounds,
    unassignable,
    unknown_shape,
    without_bounds,
)


class PlainRagged(NDArrayOperatorsMixin):
    """What such a slice reads of NumPy's array, and what operators and functions of elements make of it.

    Parameters
    ----------
    whole : ndarray
        All elements; those outside of the bounds mean nothing.
    bounds : sequence of tuple
        For each such slice its axis, start and stop.
    """

    def __init__(self, whole: np.ndarray[Any, Any], bounds: Sequence[Bound]) -> None:
        self.whole = whole
        self.bounds = tuple(bounds)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        dtype: np.dtype[Any] = self.whole.dtype
        return dtype

    def astype(self, dtype: Any) -> PlainRagged:
        """A copy in another dtype."""
        return self._made(lambda one: one.astype(dtype), self)

    def copy(self) -> PlainRagged:
        """A copy."""
        return PlainRagged(self.whole.copy(), self.bounds)

    @property
    def real(self) -> PlainRagged:
        """The real parts."""
        return self._made(np.real, self)

    @property
    def imag(self) -> PlainRagged:
        """The imaginary parts."""
        return self._made(np.imag, self)

    def conj(self) -> PlainRagged:
        """The complex conjugates."""
        return self._made(np.conj, self)

    def _made(self, function: Callable[..., Any], *values: Any) -> PlainRagged:
        """What a function makes of the elements that are selected."""
        parts = [value for value in values if isinstance(value, PlainRagged)]
        for part in parts:
            check_together(part.bounds, self.bounds)
        if any(np.ndim(value) for value in values if not isinstance(value, PlainRagged)):
            raise other_bounds()
        shape = np.broadcast_shapes(*(part.whole.shape for part in parts))
        inside = selected(shape, self.bounds)
        taken = [
            np.broadcast_to(value.whole, shape)[inside].view(np.ndarray)
            if isinstance(value, PlainRagged)
            else value
            for value in values
        ]
        found = np.asarray(function(*taken))
        whole = np.zeros(shape, found.dtype)
        whole[inside] = found
        return PlainRagged(whole, self.bounds)

    def _changed(self, function: np.ufunc, value: Any) -> PlainRagged:
        """Apply an operator in place: what it is a slice of changes too, as of NumPy's views."""
        inside = selected(self.whole.shape, self.bounds)
        if isinstance(value, PlainRagged):
            check_together(value.bounds, self.bounds)
            value = np.broadcast_to(value.whole, self.whole.shape)[inside].view(np.ndarray)
        elif np.ndim(value):
            raise other_bounds()
        whole = self.whole.view(np.ndarray)
        taken = whole[inside]
        whole[inside] = function(taken, value, out=taken)
        return self

    def __setitem__(self, key: object, value: object) -> None:
        if key is not Ellipsis or value is not self:  # which `_changed` assigned already
            raise unassignable()

    def __getitem__(self, key: object) -> PlainRagged:
        if key is not Ellipsis:
            raise unknown_shape()
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> PlainRagged:
        in_place = options == {"out": (self,)} and inputs[0] is self
        if method != "__call__" or (options and not in_place) or ufunc.nout != 1 or ufunc.signature:
            raise unknown_shape()
        function = operator.pow if ufunc is np.power else ufunc  # which has powers that are exact
        return self._changed(ufunc, inputs[1]) if in_place else self._made(function, *inputs)

    def __array_function__(
        self, function: Callable[..., Any], _types: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> PlainRagged:
        if function not in ELEMENTWISE:
            raise unknown_shape()
        names = list(kwargs)
        count = len(args)

        def call(*values: Any) -> Any:
            return function(*values[:count], **dict(zip(names, values[count:], strict=True)))

        return self._made(call, *args, *kwargs.values())

    def refused(self) -> TraceError:
        """The error where it is used as an array."""
        return unknown_shape()

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise unknown_shape()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown_shape()

    __len__ = __iter__ = __bool__ = __array__


def read_plainly(array: np.ndarray[Any, Any], key: object) -> PlainRagged:
    """What slices read whose bounds are data."""
    whole: Any = array[without_bounds(key, np.ndarray)]
    return PlainRagged(whole, bounds_of(key, array.ndim, np.ndarray))


def assign_plainly(array: np.ndarray[Any, Any], key: object, value: object) -> None:
    """Assign what lies inside of slices, whose bounds are data, to those elements."""
    part = array[without_bounds(key, np.ndarray)].view(np.ndarray)
    bounds = bounds_of(key, array.ndim, np.ndarray)
    if isinstance(value, PlainRagged):
        check_together(value.bounds, bounds)
        value = value.whole
    np.copyto(part, np.asarray(value), where=selected(part.shape, bounds), casting="unsafe")


def selected(shape: Sequence[int], bounds: Sequence[Bound]) -> np.ndarray[Any, Any]:
    """Which elements of an array lie inside of bounds."""
    inside = np.ones(tuple(shape), bool)
    for at, start, stop in bounds:
        size = shape[at]
        places = np.arange(size).reshape([-1 if n == at else 1 for n in range(len(shape))])
        for bound, compare in ((stop, np.less), (start, np.greater_equal)):
            if bound is not None:
                limits = np.asarray(bound)
                check_bound(limits.dtype)
                limits = np.expand_dims(limits, at) if limits.ndim else limits
                inside &= compare(places, np.where(limits < 0, np.maximum(limits + size, 0), limits))
    return inside

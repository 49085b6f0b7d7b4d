"""Plain runs of a kernel's body: arrays whose scalars have `@`, `.T` and whose tiles follow the grid."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from cyclotron.language.values.blocked import Blocked
from cyclotron.language.values.dispatch import IN_PLACE, in_place
from cyclotron.language.values.dynamic_slices import (
    Bound,
    OfUnknownShape,
    bounds_of,
    check_bound,
    check_of_all,
    check_together,
    other_bounds,
    unknown_shape,
    without_bounds,
)
from cyclotron.language.values.subscripts import has_bounds_of_data
from cyclotron.support.errors import TraceError


def _scalar(value: Any) -> Any:
    if not isinstance(value, Value) or value.ndim:
        return value
    bare = value.view(np.ndarray)
    return bare if isinstance(value, ChosenValue) else bare[()]


def _in_dtype_of(tile: Any, other: Any) -> Any:
    """A number beside a tile, which is changed in its own dtype; other values as they are."""
    is_number = tile.ndim and isinstance(other, np.ndarray | np.generic) and not other.ndim
    return other.astype(tile.dtype) if is_number and np.can_cast(other, tile.dtype, "same_kind") else other


def _of_scalars(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """An operator that NumPy's scalars have: its powers, NaN and warnings are not those of arrays."""
    operate = getattr(operator, f"__{name}__")
    of_arrays = getattr(np.ndarray, f"__{'r' * reflected}{name}__")

    def of_values(self: Any, other: Any) -> Any:
        if self.ndim or not isinstance(other, (np.ndarray, np.generic, int, float, complex)):
            return of_arrays(self, other)
        pair = _scalar(self), _scalar(other)
        result = operate(*(pair[::-1] if reflected else pair))
        return result if np.ndim(result) else np.asarray(result).view(Value)

    return of_values


def _operators_of_scalars(cls: type[Value]) -> type[Value]:
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
        setattr(cls, f"__{name}__", _of_scalars(name))
        setattr(cls, f"__r{name}__", _of_scalars(name, reflected=True))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(cls, f"__{name}__", _of_scalars(name))
    return cls


def _in_place(op: str) -> Callable[[Any, Any], Any]:
    """An operator in place: of scalars it makes another number, of tiles a copy that keeps its dtype."""
    of_arrays = getattr(np.ndarray, IN_PLACE[op])

    def changed(self: Any, other: Any) -> Any:
        if not self.ndim:
            return NotImplemented
        return of_arrays(self.view(np.ndarray).copy(), _in_dtype_of(self, other)).view(Value)

    return changed


@_operators_of_scalars
@in_place(_in_place)
class Value(np.ndarray):
    """An element in a plain run: a scalar (an array without axes) or a tile, never changed in place.

    Scalars have `@` and `.T` as 1x1 tiles have; ``x -= y`` makes a new value, as for Python's numbers.
    """

    def __matmul__(self, other: Any) -> Any:
        if self.ndim == 0 or np.ndim(other) == 0:
            return np.multiply(self, other)
        return super().__matmul__(other)

    def __rmatmul__(self, other: Any) -> Any:
        if self.ndim == 0 or np.ndim(other) == 0:
            return np.multiply(other, self)
        return super().__rmatmul__(other)

    def __round__(self, digits: int | None = None) -> Any:
        bare: Any = self.view(np.ndarray)[()]
        return round(bare, digits)

    def __float__(self) -> float:
        """The real part of a complex one, with NumPy's warning: arrays without axes have no such number."""
        return float(self.view(np.ndarray)[()])

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.view(np.ndarray)[()])


class ChosenValue(Value):
    """A choice of scalars by NumPy's `where`: an array without axes, with the warnings of arrays."""


class ScalarView(np.ndarray):
    """An array in a plain run; its scalars are values."""

    def __array_wrap__(self, array: Any, *rest: Any) -> Any:
        """Results without axes are scalars, as NumPy's."""
        return array.view(Value if array.ndim == 0 else ScalarView)

    def __getitem__(self, key: Any) -> Any:
        if has_bounds_of_data(key, np.ndarray):
            return _read_by_bounds(self, key)
        value = super().__getitem__(_with_numbers(key))
        return value if isinstance(value, ScalarView) else np.asarray(value).view(Value)

    def __setitem__(self, key: Any, value: Any) -> None:
        if has_bounds_of_data(key, np.ndarray):
            _assign_by_bounds(self, key, value)
        else:  # arrays without axes, as arguments too, wrap around where NumPy's scalars are refused
            require_unmasked(value)
            whole = isinstance(value, np.integer | np.floating | Value) and not value.ndim
            if isinstance(value, np.ndarray) and np.may_share_memory(self, value):
                value = value.copy()  # NumPy's `u[::2] = u[:3]` reads some that it has written
            super().__setitem__(_with_numbers(key), np.asarray(value) if whole else value)


def _with_numbers(key: Any) -> Any:
    """Subscripts with elements that are whole numbers as such, which take a view; arrays take a copy."""
    if isinstance(key, tuple):
        return tuple(map(_with_numbers, key))
    return int(key) if isinstance(key, Value) and not key.ndim and key.dtype.kind in "iu" else key


class ReferenceRagged(OfUnknownShape, NDArrayOperatorsMixin):
    """Elements that such a slice reads of NumPy's array, and results of operators and functions of them.

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

    def astype(self, dtype: Any) -> ReferenceRagged:
        """A copy in another dtype."""
        return self._apply(lambda one: one.astype(dtype), self)

    def copy(self) -> ReferenceRagged:
        """A copy."""
        return ReferenceRagged(self.whole.copy(), self.bounds)

    real = property(lambda self: self._apply(np.real, self), doc="The real parts.")
    imag = property(lambda self: self._apply(np.imag, self), doc="The imaginary parts.")

    def conj(self) -> ReferenceRagged:
        """The complex conjugates."""
        return self._apply(np.conj, self)

    def sum(self, *options: object, **named: object) -> Any:
        """The sum of its elements, over all axes."""
        check_of_all(*options, *named.values())
        return self.whole.view(np.ndarray)[selected(self.whole.shape, self.bounds)].sum()

    def _apply(self, function: Callable[..., Any], *values: Any) -> ReferenceRagged:
        """Apply a function to the elements that are selected."""
        parts = [value for value in values if isinstance(value, ReferenceRagged)]
        for part in parts:
            check_together(part.bounds, self.bounds)
        if any(np.ndim(value) for value in values if not isinstance(value, ReferenceRagged)):
            raise other_bounds()
        shape = np.broadcast_shapes(*(part.whole.shape for part in parts))
        inside = selected(shape, self.bounds)
        taken = [
            np.broadcast_to(value.whole, shape)[inside].view(np.ndarray)
            if isinstance(value, ReferenceRagged)
            else value
            for value in values
        ]
        found = np.asarray(function(*taken))
        whole = np.zeros(shape, found.dtype)
        whole[inside] = found
        return ReferenceRagged(whole, self.bounds)

    def _changed(self, function: np.ufunc, value: Any) -> ReferenceRagged:
        """Apply an operator in place: what it is a slice of changes too, as of NumPy's views."""
        inside = selected(self.whole.shape, self.bounds)
        if isinstance(value, ReferenceRagged):
            check_together(value.bounds, self.bounds)
            value = np.broadcast_to(value.whole, self.whole.shape)[inside].view(np.ndarray)
        elif np.ndim(value):
            raise other_bounds()
        whole = self.whole.view(np.ndarray)
        taken = whole[inside]
        whole[inside] = function(taken, value, out=taken)
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> ReferenceRagged:
        in_place = options == {"out": (self,)} and inputs[0] is self
        if method != "__call__" or (options and not in_place) or ufunc.nout != 1 or ufunc.signature:
            raise unknown_shape()
        function = operator.pow if ufunc is np.power else ufunc  # which has powers that are exact
        return self._changed(ufunc, inputs[1]) if in_place else self._apply(function, *inputs)

    def _called(self, function: Callable[..., Any], args: Any, kwargs: Any) -> ReferenceRagged:
        names, count = list(kwargs), len(args)

        def call(*values: Any) -> Any:
            return function(*values[:count], **dict(zip(names, values[count:], strict=True)))

        return self._apply(call, *args, *kwargs.values())


def _read_by_bounds(array: np.ndarray[Any, Any], key: object) -> ReferenceRagged:
    """Read slices whose bounds are data."""
    whole: Any = array[without_bounds(key, np.ndarray)]
    return ReferenceRagged(whole, bounds_of(key, array.ndim, np.ndarray))


def _assign_by_bounds(array: np.ndarray[Any, Any], key: object, value: object) -> None:
    """Assign what lies inside of slices, whose bounds are data, to those elements."""
    part = array[without_bounds(key, np.ndarray)].view(np.ndarray)
    bounds = bounds_of(key, array.ndim, np.ndarray)
    if isinstance(value, ReferenceRagged):
        check_together(value.bounds, bounds)
        value = value.whole
    np.copyto(part, np.asarray(value), where=selected(part.shape, bounds), casting="unsafe")


def selected(shape: Sequence[int], bounds: Sequence[Bound]) -> np.ndarray[Any, Any]:
    """The elements of an array that lie inside of bounds."""
    inside = np.ones(tuple(shape), bool)
    for at, start, stop in bounds:
        size = shape[at]
        places = np.arange(size).reshape([-1 if n == at else 1 for n in range(len(shape))])
        for bound, compare in ((stop, np.less), (start, np.greater_equal)):
            if bound is not None:
                limits = np.asarray(bound)
                check_bound(limits.dtype)
                wide = limits if limits.dtype == np.uint64 else limits.astype(np.int64)
                limits = np.minimum(wide, size).astype(np.int64)
                limits = np.expand_dims(limits, at) if limits.ndim else limits
                inside &= compare(places, np.where(limits < 0, np.maximum(limits + size, 0), limits))
    return inside


class BlockedView:
    """A blocked array inside a plain run; subscripts give tiles."""

    def __init__(self, blocked: Blocked) -> None:
        self.blocked = blocked

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of tiles along each axis."""
        return self.blocked.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.blocked.ndim

    @property
    def T(self) -> BlockedView:  # noqa: N802 (NumPy's name)
        """The tiles with their axes exchanged."""
        return BlockedView(Blocked(self.blocked.array.T, self.blocked.tile_shape[::-1]))

    @property
    def size(self) -> int:
        """The number of tiles."""
        return self.blocked.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the scalars."""
        return self.blocked.dtype

    def __len__(self) -> int:
        return len(self.blocked)

    def __getitem__(self, index: Any) -> Value:
        value: Value = self.blocked[index].copy().view(Value)
        return value

    def __setitem__(self, index: Any, value: object) -> None:
        self.blocked[index] = value

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        return self.blocked.__array__(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.blocked)


def wrap(value: Any, *, writeable: bool = True) -> Any:
    """Wrap an array or blocked array for a plain run; host values stay as they are."""
    if isinstance(value, Blocked):
        array = value.array.view()
        array.flags.writeable = writeable and array.flags.writeable
        return BlockedView(Blocked(array, value.tile_shape))
    if isinstance(value, np.ndarray) and value.ndim:
        view = value.view(ScalarView)
        view.flags.writeable = writeable and view.flags.writeable
        return view
    return value


def plain(value: Any) -> Any:
    """Undo `wrap`."""
    if isinstance(value, BlockedView):
        return value.blocked
    return value.view(np.ndarray) if isinstance(value, (ScalarView, Value)) else value


def unwrap(value: Any) -> Any:
    """Return results as plain arrays of scalars, in the form they were returned."""
    if isinstance(value, ReferenceRagged):
        raise value.refused()
    if isinstance(value, (tuple, list)):
        return getattr(value, "_make", type(value))(unwrap(item) for item in value)
    if isinstance(value, Mapping):
        return {key: unwrap(item) for key, item in value.items()}
    require_unmasked(value)
    bare = plain(value)
    return bare.array if isinstance(bare, Blocked) else bare


def require_unmasked(value: Any) -> None:
    """Raise `TraceError` (CYC107) for a masked array, whose mask results do not keep."""
    if isinstance(value, np.ma.MaskedArray):
        raise TraceError(
            "a masked array of the host is an operand, whose operators are not those of arrays",
            code="CYC107",
            help="make an array of it before, e.g. `w = m.filled(0)`",
        )

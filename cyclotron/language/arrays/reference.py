"""Plain runs of a kernel's body: arrays whose scalars have `@`, `.T` and whose tiles follow the grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.language.arrays.blocked import Blocked, Extent


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

    def _new_value(self, other: Any) -> Any:
        return NotImplemented

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = __imatmul__ = _new_value


class ScalarView(np.ndarray):
    """An array in a plain run; its scalars are values."""

    def __getitem__(self, key: Any) -> Any:
        from cyclotron.language.arrays.dynamic_slices import has_bounds_of_data
        from cyclotron.language.arrays.plain_slices import read_plainly

        if has_bounds_of_data(key, np.ndarray):
            return read_plainly(self, key)
        value = super().__getitem__(key)
        return value if isinstance(value, ScalarView) else np.asarray(value).view(Value)

    def __setitem__(self, key: Any, value: Any) -> None:
        from cyclotron.language.arrays.dynamic_slices import has_bounds_of_data
        from cyclotron.language.arrays.plain_slices import assign_plainly

        if has_bounds_of_data(key, np.ndarray):
            assign_plainly(self, key, value)
        else:
            super().__setitem__(key, value)


class BlockedView:
    """A blocked array inside a plain run; subscripts give tiles."""

    def __init__(self, blocked: Blocked) -> None:
        self.blocked = blocked

    @property
    def shape(self) -> tuple[Extent, ...]:
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
    from cyclotron.language.arrays.plain_slices import PlainRagged

    if isinstance(value, PlainRagged):
        raise value.refused()
    if isinstance(value, (tuple, list)):
        return type(value)(unwrap(item) for item in value)
    if isinstance(value, Mapping):
        return {key: unwrap(item) for key, item in value.items()}
    bare = plain(value)
    return bare.array if isinstance(bare, Blocked) else bare

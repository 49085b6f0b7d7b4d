"""Types of functions of each scalar, for type checkers: of an array an array, of a number a number."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Elementwise(Protocol):
    """A function whose result has the dtype of its arguments, as `cyclotron.exp`."""

    @overload
    def __call__(self, x: NDArray[_Scalar], /, *others: Any) -> NDArray[_Scalar]: ...
    @overload
    def __call__(self, x: float, /, *others: float) -> float: ...
    @overload
    def __call__(self, x: Any, /, *others: Any) -> Any: ...


class Magnitude(Protocol):
    """A function whose result is real for complex arguments: `cyclotron.abs`."""

    @overload
    def __call__(self, x: NDArray[Any], /) -> NDArray[Any]: ...
    @overload
    def __call__(self, x: complex, /) -> float: ...
    @overload
    def __call__(self, x: Any, /) -> Any: ...


class Test(Protocol):
    """A function whose result is true or false, as `cyclotron.isnan`."""

    @overload
    def __call__(self, x: NDArray[Any], /, *others: Any) -> NDArray[np.bool_]: ...
    @overload
    def __call__(self, x: complex, /, *others: complex) -> bool: ...
    @overload
    def __call__(self, x: Any, /, *others: Any) -> Any: ...

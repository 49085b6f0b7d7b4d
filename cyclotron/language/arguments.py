"""Arguments of kernels: which are tensors, and what the compiler needs to know of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from cyclotron.language.values.blocked import Blocked, Spec
from cyclotron.language.values.scalar_type import literal
from cyclotron.support.arguments import NOT_READABLE, as_array, is_foreign
from cyclotron.support.errors import ShapeError, Span, TraceError

MOST_AXES = 8  # of a tensor of a program
_MOST_WORK: Any = 10_000  # by which two strided arrays are told apart


@dataclass(frozen=True)
class TensorArgument:
    """The name, dtype, shape and tile shape (both in scalars) of an argument.

    Two calls whose arguments agree in these compile to the same program.
    """

    name: str
    dtype: str
    scalars: tuple[int, ...]
    tile: tuple[int, ...] | None


def normalize(name: str, value: Any, place: Callable[[str], Span | None]) -> Any:
    """Return an ndarray, `Blocked`, `Spec` or host value for what a user passes.

    Parameters
    ----------
    name : str
        The parameter.
    value : object
        Arrays and nested sequences of numbers become ndarrays; numbers and arrays without axes host values,
        those of NumPy in their dtypes.
    place : callable
        Finds the parameter's place, for errors.
    """
    if isinstance(value, (Blocked, Spec)) or value is None or isinstance(value, (int, float, complex, str)):
        return value
    if isinstance(value, np.matrix):
        raise _unsuited(
            f"argument `{name}` is a `matrix`, whose operators are not those of arrays",
            place(name),
            "pass an array, e.g. `np.asarray(m)`",
        )
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        raise _unsuited(
            f"argument `{name}` is a named tuple, a `{type(value).__name__}`",
            place(name),
            "give each of its items an argument of its own",
        )
    if hasattr(value, "spec"):  # distributed: its numbers are elsewhere
        return value.spec()
    if (
        isinstance(value, (list, tuple))
        or hasattr(value, "__array__")
        or hasattr(value, "__array_interface__")
        or is_foreign(value)
    ):
        try:
            array = as_array(value)
        except ValueError as error:
            raise ShapeError(
                f"argument `{name}` is no array: {error}", code="CYC116", span=place(name)
            ) from None
        except NOT_READABLE as error:
            raise ShapeError(
                f"argument `{name}`, a `{type(value).__name__}`, cannot be read as an array: {error}",
                code="CYC116",
                span=place(name),
                help="pass an array in the memory of this process, e.g. `a.filled(0)` or `x.cpu()`",
            ) from None
        if array.ndim:
            return array
        value = array[()]
        if literal(value) is not None:
            return value
    raise _unsuited(
        f"argument `{name}` has type `{type(value).__name__}`",
        place(name),
        "pass an array, cy.blocked(...), cy.spec(...) or a number of Python or NumPy",
    )


def _unsuited(message: str, span: Span | None, help: str) -> TraceError:
    return TraceError(message, code="CYC116", span=span, help=help)


def describe(name: str, value: Any) -> TensorArgument | None:
    """Describe a normalized argument; None for a host value."""
    if isinstance(value, Spec):
        return TensorArgument(name, value.dtype, value.shape, value.tile)
    if isinstance(value, Blocked):
        return TensorArgument(name, value.dtype.name, tuple(map(int, value.array.shape)), value.tile_shape)
    if isinstance(value, np.ndarray):
        return TensorArgument(name, value.dtype.name, tuple(map(int, value.shape)), None)
    return None


def check_axes(tensor: TensorArgument, span: Span | None) -> None:
    """Raise `ShapeError` (CYC116) for more axes than tensors of programs have."""
    if len(tensor.scalars) > MOST_AXES:
        raise ShapeError(
            f"argument `{tensor.name}` has {len(tensor.scalars)} axes, more than {MOST_AXES}",
            code="CYC116",
            span=span,
            help=f"pass an array of fewer axes, e.g. `{tensor.name}.squeeze()` or `.reshape(n, -1)`",
        )


def check_apart(kernel: str, changed: Container[str], arrays: Mapping[str, Any]) -> None:
    """Raise `TraceError` (CYC116) where an argument that a kernel changes shares memory with another one."""
    pairs = combinations((name for name, array in arrays.items() if isinstance(array, np.ndarray)), 2)
    for name, other in (order for pair in pairs for order in (pair, pair[::-1])):
        if name in changed and _overlap(arrays[name], arrays[other]):
            raise TraceError(
                f"`{kernel}` changes `{name}`, and argument `{other}` shares memory with it",
                code="CYC116",
                help=f"pass a copy, e.g. `{other}.copy()`: a kernel changes arrays of its own",
            )


def _overlap(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    try:
        return np.shares_memory(one, other, max_work=_MOST_WORK)
    except RuntimeError:  # it takes more work to tell
        return True

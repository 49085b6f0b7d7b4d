"""Arguments of public functions: whole numbers and arrays, or an error that says why they are none."""

from __future__ import annotations

import operator
import os
import reprlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.support.errors import CyclotronError, ExecutionError, ShapeError

MOST_RANKS = 2**31 - 1  # MPI counts them in an int


def whole_number(name: str, value: Any, *, code: str, least: int = 1, most: int | None = None) -> int:
    """Return an argument as an int.

    Parameters
    ----------
    name : str
        The argument's.
    value : object
    code : str
        Of the error.
    least, most : int
        Bounds, which are allowed.

    Raises
    ------
    ExecutionError
        If it is no whole number, a bool, or out of bounds.
    """
    number = None if isinstance(value, bool) else index_of(value)
    if number is not None and least <= number and (most is None or number <= most):
        return number
    above = number is not None and most is not None and number > most
    fault = f"more than {most}" if above else f"no whole number of at least {least}"
    bounds = f"of at least {least}" if most is None or not above else f"from {least} to {most}"
    raise ExecutionError(f"{name}={shown(value)} is {fault}", code=code, help=f"give a whole number {bounds}")


def invalid_option(message: str, help: str) -> ExecutionError:
    """Return the error of an option of a run that is not valid."""
    return ExecutionError(message, code="CYC733", help=help)


def rank_count(ranks: Any) -> int:
    """Return a number of MPI ranks; raise `ExecutionError` CYC733 where it is none."""
    return whole_number("ranks", ranks, code="CYC733", most=MOST_RANKS)


# What libraries of arrays raise for those that this process cannot read, as on a GPU.
NOT_READABLE = (TypeError, RuntimeError, BufferError)


def as_array(value: Any) -> NDArray[Any]:
    """Return what NumPy makes an array of, or what DLPack's ``__dlpack__`` shows, without a copy if possible.

    Examples
    --------
    >>> class Foreign:  # an array of another library
    ...     def __init__(self, array): self.array = array
    ...     def __dlpack__(self, **options): return self.array.__dlpack__(**options)
    ...     def __dlpack_device__(self): return self.array.__dlpack_device__()
    >>> as_array(Foreign(np.arange(3)))
    array([0, 1, 2])
    """
    if is_foreign(value):
        return np.from_dlpack(value)
    if _is_masked(value):
        raise TypeError("it would lose its mask: fill it, as by `a.filled(0)`")
    return np.asarray(value)


def _is_masked(value: Any) -> bool:
    """Return whether a value is a masked array, or holds one."""
    if isinstance(value, list | tuple):
        return any(map(_is_masked, value))
    return isinstance(value, np.ma.MaskedArray)


def is_foreign(value: Any) -> bool:
    """Return whether a value is an array that only DLPack's protocol reads."""
    known = ("__array__", "__array_interface__")
    return hasattr(value, "__dlpack__") and not any(hasattr(value, name) for name in known)


def array_of(value: Any, what: str, *, code: str) -> NDArray[Any]:
    """Return what NumPy makes an array of.

    Parameters
    ----------
    value : array_like
    what : str
        What it is, for the error.
    code : str
        Of the error.

    Raises
    ------
    ShapeError
        If it is none, e.g. rows of different lengths.
    """
    try:
        return as_array(value)
    except CyclotronError:
        raise
    except (ValueError, OverflowError, MemoryError, *NOT_READABLE) as error:
        first, _, _ = str(error).partition(". ")
        raise ShapeError(
            f"{what} is no array: {first}", code=code, help="give an array of numbers, all rows of one length"
        ) from None


def require(value: Any, kind: type, call: str, *, error: type[CyclotronError], code: str, help: str) -> None:
    """Raise unless the first argument of a call is what it works on.

    Parameters
    ----------
    value : object
    kind : type
        What it has to be.
    call : str
        The function, for example ``"run()"``.
    error, code, help
        Of the error.
    """
    if not isinstance(value, kind):
        raise error(f"{call} got a `{type(value).__name__}`", code=code, help=help)


def file_bytes(path: Any, *, error: type[CyclotronError], code: str, help: str, most: int = 1 << 24) -> bytes:
    """Return what a file holds.

    Parameters
    ----------
    path : str or Path
    error : type
        Of the error where it cannot be read.
    code, help : str
        Of that error.
    most : int
        Bytes; a larger file is refused before it is read, and what is no file, such as a device, is empty.
    """
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= most:
                return file.read(size)
        what = f"it has {size:,} bytes, more than {most:,}"
    except OSError as reason:
        what = reason.strerror or str(reason)
    except (TypeError, ValueError) as reason:  # no path, or one with a null character
        what = str(reason)
    name = f"`{path}`" if isinstance(path, str | os.PathLike) else shown(path)
    raise error(f"{name} cannot be read: {what}", code=code, help=help)


def shown(value: object) -> str:
    """Return an argument as an error quotes it: on one line, and not all of a long one."""
    return " ".join(reprlib.repr(value).split())


def items_of(value: Any) -> tuple[Any, ...] | None:
    """Return the items of what has any; None of others, such as a number or an array without axes."""
    try:
        return tuple(value)
    except TypeError:
        return None


def index_of(value: Any) -> int | None:
    """Return a whole number as an int; None where it is none."""
    try:
        return operator.index(value)
    except TypeError:
        return None

"""The constants of programs: arrays of the host, as bytes in the core and as arrays here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def with_constants(core: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return a program of the core some of whose inputs are constants.

    Parameters
    ----------
    core : _core.Program
    arrays : dict of str to ndarray
        By tensor, of its shape and dtype; those that the program does not load are left out.
    """
    if not arrays:
        return core
    return core.with_constants(
        {name: array.astype(_in_file(array.dtype)).tobytes() for name, array in arrays.items()}
    )


def constants_of(core: Any) -> dict[str, NDArray[Any]]:
    """Return the constants of a program of the core, read-only, by tensor."""
    values = core.constants
    found = {}
    for tensor in core.tensors:
        if tensor["role"] == "constant":
            dtype = np.dtype(tensor["dtype"])
            array = np.frombuffer(values[tensor["name"]], _in_file(dtype)).reshape(tensor["shape"])
            found[tensor["name"]] = array.astype(dtype, copy=False)
            found[tensor["name"]].flags.writeable = False
    return found


def _in_file(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Numbers in files are little-endian."""
    there: np.dtype[Any] = dtype.newbyteorder("<")
    return there

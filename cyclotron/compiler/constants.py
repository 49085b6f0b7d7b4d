"""The constants of programs: arrays of the host, as bytes in the core and as arrays here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron import _core
from cyclotron.support.errors import LegalityError


def with_constants(core: _core.Program, arrays: Mapping[str, NDArray[Any]]) -> _core.Program:
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


def constants_of(core: _core.Program) -> dict[str, NDArray[Any]]:
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


def check_constants(core: _core.Program, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Check that the constants of a program of the core are those of its equations, bit for bit.

    Parameters
    ----------
    core : _core.Program
    arrays : dict of str to ndarray
        Those of the equations, by tensor; a program may leave out some that it does not load.

    Raises
    ------
    LegalityError
        CYC666 if a constant has other values, or is an input or a constant on one side only.
    """
    inputs = {tensor["name"] for tensor in core.tensors if tensor["role"] == "input"}
    own = constants_of(core)
    wrong = [name for name in arrays if name in inputs] + [name for name in own if name not in arrays]
    wrong += [name for name in own if name in arrays and _bits(own[name]) != _bits(arrays[name])]
    if wrong:
        raise LegalityError(
            f"the program has other values for the constant `{wrong[0]}` than the recurrences",
            code="CYC666",
            help="compare a program with the recurrences that it was compiled from",
        )


def _bits(array: NDArray[Any]) -> tuple[str, bytes]:
    return array.dtype.name, array.astype(_in_file(array.dtype)).tobytes()


def _in_file(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Numbers in files are little-endian."""
    there: np.dtype[Any] = dtype.newbyteorder("<")
    return there

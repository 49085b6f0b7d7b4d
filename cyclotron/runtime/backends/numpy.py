"""``backend="numpy"``: the kernel's own Python body, the reference of all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cyclotron.compiler.program import Program
from cyclotron.language import blocked
from cyclotron.runtime.backend import Backend, Execution, Options, is_told
from cyclotron.support.errors import BackendUnavailable, ExecutionError


def check(program: Program) -> None:
    """Raise `BackendUnavailable` for a loaded program."""
    if program.kernel is None:
        raise BackendUnavailable(
            "a loaded program has no Python body for the numpy backend",
            code="CYC721",
            help='use backend="local" or "sim", or compile the kernel here',
        )


def run(program: Program, inputs: Mapping[str, Any], options: Options, /) -> Execution:
    """Run the undecorated function on copies of the inputs."""
    kernel = program.kernel
    assert kernel is not None
    tiles = {t["name"]: t["tile"] for t in program.tensors if t["blocked"]}
    arguments = []
    for name, value in zip(kernel.signature.parameters, program.arguments, strict=True):
        if name in inputs:
            array = np.asarray(inputs[name])
            arguments.append(blocked(array, tuple(tiles[name])) if name in tiles else array)
        else:
            arguments.append(value)
    try:
        returned = kernel.reference(*arguments)
    except np.linalg.LinAlgError as error:
        raise ExecutionError(
            str(error),
            code="CYC701",
            help="the kernel's own Python body says so; other backends also name the PE",
        ) from None
    outputs = [tensor["name"] for tensor in program.tensors if tensor["role"] == "output"]
    names = [name for name in outputs if not is_told(name)]
    if isinstance(returned, dict):
        returned = tuple(returned.values())
    values = returned if isinstance(returned, tuple) else (returned,)
    return Execution({name: np.asarray(value) for name, value in zip(names, values, strict=True)})


BACKEND = Backend("numpy", run, check=check)

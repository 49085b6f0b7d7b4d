"""``backend="local"``: threads of this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron import _core, cache
from cyclotron.compiler.defaults import Workers
from cyclotron.compiler.program import Program
from cyclotron.runtime.backend import Backend, Execution, Options, arrays_of, empty_outputs
from cyclotron.support.environment import threads
from cyclotron.support.progress import progress_bar

_SECONDS_PER_MESSAGE = 2e-8  # in a queue between threads


def workers(options: Options, inputs: Sequence[Any]) -> Workers:
    """Return the threads of a run."""
    return Workers(options.threads or threads(), _SECONDS_PER_MESSAGE)


def execute(program: Program, arrays: list[NDArray[Any]], options: Options) -> Execution:
    """Run a program on threads, which share its PEs and write its outputs."""
    with progress_bar(f"running {program.kernel_name}") as progress:
        skipped, raised = _core.run_local(
            program.core, arrays, threads=options.threads, loops=cache.loops(), progress=progress
        )
    return Execution({}, skipped=skipped, raised=raised)


def run(program: Program, inputs: Mapping[str, Any], options: Options, /) -> Execution:
    """Run a program once."""
    outputs = empty_outputs(program)
    return replace(execute(program, arrays_of(program, inputs, outputs), options), outputs=outputs)


class LocalResidence:
    """Arrays of this process that stay as they are from one run to the next: a `Residence`."""

    def __init__(self, program: Program, options: Options) -> None:
        self.program, self.options = program, options
        self.arrays: dict[str, NDArray[Any]] = {**program.constants, **empty_outputs(program)}

    def give(self, name: str, array: NDArray[Any], /) -> int:
        """Copy the array, into the memory of the one before it where there is one."""
        if name in self.arrays:
            self.arrays[name][...] = array
        else:
            self.arrays[name] = np.array(array)
        return array.nbytes

    def feed(self, output: str, name: str, /) -> tuple[int, int]:
        """Swap the two arrays, or take one more for the first time."""
        before = self.arrays.get(name)
        self.arrays[name] = self.arrays[output]
        self.arrays[output] = np.zeros_like(self.arrays[name]) if before is None else before
        return 0, 0

    def run(self, loaded: frozenset[str], /) -> Execution:
        """Write all outputs anew."""
        return execute(self.program, self.cleared(), self.options)

    def cleared(self) -> list[NDArray[Any]]:
        """Return the arrays of all tensors, those of outputs with zeros."""
        for tensor in self.program.tensors:
            if tensor["role"] == "output":
                self.arrays[tensor["name"]][...] = 0
        return arrays_of(self.program, self.arrays, {})

    def fetch(self, name: str, /) -> tuple[NDArray[Any], int | None]:
        """Copy it."""
        return self.arrays[name].copy(), None

    def close(self) -> None:
        """Free the arrays."""
        self.arrays.clear()


BACKEND = Backend("local", run, options=("threads",), keep=LocalResidence, workers=workers)

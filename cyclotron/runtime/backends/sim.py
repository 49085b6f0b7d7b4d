"""``backend="sim"``: the cycle-accurate simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from cyclotron import _core
from cyclotron.compiler.program import Program
from cyclotron.runtime.backend import Backend, Execution, Options, arrays_of, empty_outputs, is_told
from cyclotron.runtime.backends import local
from cyclotron.support.progress import progress_bar

_EVENT_LIMIT = 200_000


def execute(program: Program, arrays: list[NDArray[Any]], options: Options, resident: list[int]) -> Execution:
    """Simulate a program whose tensors of these numbers stay in the PEs."""
    with progress_bar(f"simulating {program.kernel_name}") as progress:
        timing = _core.simulate(
            program.core,
            arrays,
            functional=options.functional,
            event_limit=_EVENT_LIMIT if options.event_limit is None else options.event_limit,
            engine=options.engine,
            threads=options.threads,
            steps=options.steps,
            resident=resident,
            progress=progress,
        )
    raised = timing["raised"] if options.functional else 0
    return Execution({}, timing, skipped=timing["skipped"], raised=raised)


def run(program: Program, inputs: Mapping[str, Any], options: Options, /) -> Execution:
    """Simulate a program, its time and, where it is functional, its numbers."""
    outputs = empty_outputs(program) if options.functional else {}
    arrays = arrays_of(program, inputs, outputs) if options.functional else []
    return replace(execute(program, arrays, options, []), outputs=outputs)


class SimResidence(local.LocalResidence):
    """Arrays in simulated PEs: only what is loaded, or fetched, takes the time of a memory."""

    def __init__(self, program: Program, options: Options) -> None:
        super().__init__(program, options)
        told = {name for name in self.arrays if is_told(name)}  # to the host, at the end of each run
        self._numbers = {t["name"]: n for n, t in enumerate(program.tensors) if t["name"] not in told}
        _core.require_room(program.core, list(self._numbers.values()))

    def run(self, loaded: frozenset[str], /) -> Execution:
        """Simulate; what is loaded now takes the time of its LOADs."""
        resident = [number for name, number in self._numbers.items() if name not in loaded]
        return execute(self.program, self.cleared(), self.options, resident)

    def fetch(self, name: str, /) -> tuple[NDArray[Any], int | None]:
        """Simulate the STOREs of the output, too."""
        array, _ = super().fetch(name)
        return array, _core.fetch_cycles(
            self.program.core, self._numbers[name]
        ) if name in self._numbers else 0


BACKEND = Backend("sim", run, options=("functional", "threads", "event_limit", "engine"), keep=SimResidence)

"""Stages of compilations as files, where ``CYCLOTRON_DUMP`` names a folder."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclotron.support.files import write_file

if TYPE_CHECKING:
    from cyclotron.compiler.program import Program
    from cyclotron.compiler.recurrences import Recurrences
    from cyclotron.language import Kernel
    from cyclotron.machine.machine import Machine
    from cyclotron.schedule.schedule import Schedule

_NUMBERS = itertools.count(1)


def dump_folder() -> str:
    """Return the folder that the stages are written to; nothing where they are not."""
    return os.environ.get("CYCLOTRON_DUMP", "")


class Dump:
    """The folder of one compilation: ``3141-001-matmul``, of the process, the compilation and the kernel.

    A stage is written when it is there, so that a compilation that is refused leaves those before it.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._folder: Path | None = None
        if (folder := dump_folder()) != "":
            name = re.sub(r"\W", "_", kernel.name)[:60]
            self._folder = Path(folder) / f"{os.getpid()}-{next(_NUMBERS):03}-{name}"
            self._folder.mkdir(parents=True, exist_ok=True)
            self._write("kernel.py", kernel.source)

    def recurrences(self, recurrences: Recurrences, schedule: Schedule | None, machine: Machine) -> None:
        """Write what the compiler is given."""
        self._write("recurrences.txt", recurrences)
        self._write("schedule-given.txt", "none" if schedule is None else repr(schedule))
        self._write("machine.txt", repr(machine))

    def program(self, program: Program) -> None:
        """Write what the compiler made."""
        if self._folder is not None:
            self._write("schedule.txt", repr(program.schedule))
            self._write("dataflow.txt", program.dataflow)
            self._write("placed.txt", program.placed)
            self._write("program.txt", program)
            self._write("memory.txt", program.memory)
            self._write("explanation.txt", program.explain())
            program.save(self._folder / "program.cyc")

    def error(self, error: BaseException) -> None:
        """Write why there is no program."""
        self._write("error.txt", f"{type(error).__name__}: {error}")

    def _write(self, name: str, content: Any) -> None:
        if self._folder is not None:
            write_file(self._folder / name, str(content).rstrip("\n") + "\n")

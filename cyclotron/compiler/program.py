"""Kernels to programs: the Python side of the pipeline."""

from __future__ import annotations

import dataclasses
import html
import operator
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cyclotron import _core
from cyclotron.arguments import file_bytes, require
from cyclotron.constants import constants_of, with_constants
from cyclotron.dataflow import Dataflow
from cyclotron.errors import ProgramError, ScheduleError, ShapeError
from cyclotron.known import Known, keep, key_of, known_of
from cyclotron.language import Blocked, Kernel
from cyclotron.machine import PE, UNBOUNDED, Link, Machine
from cyclotron.machine_parts import MOST, integer, wrong_type
from cyclotron.memory_map import MemoryMap
from cyclotron.pe_classes import PeClass
from cyclotron.places import errors_at_call
from cyclotron.proof import VERIFY_LIMIT, Depths, least_depths, prove
from cyclotron.recurrences import Recurrences
from cyclotron.retarget import require_retargetable
from cyclotron.roles import Roles
from cyclotron.schedule import Schedule
from cyclotron.sections import Sections

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cyclotron.explain import Explanation
    from cyclotron.graph import Graph
    from cyclotron.plot import ProgramPlots

# The machine where none is given: as large as the program needs, unit costs.
_DEEP = Link(depth=UNBOUNDED)
_UNLIMITED = Machine(link=_DEEP, broadcast=_DEEP, pe=PE(memory=1 << 40))


class Program:
    """A compiled kernel: every stage, printable, and what a backend runs.

    Made by `Kernel.compile` or `cyclotron.load`; immutable. What comes out of a pickle is a loaded program.

    Attributes
    ----------
    kernel_name : str
        The kernel's name.
    grid : tuple of int
        PEs a dimension.
    grid_names : tuple of str
        The index on each grid dimension.
    schedule : Schedule or None
        Complete: with every index in space or time. None for a loaded program.
    schedule_chosen : bool
        True where no schedule was given and the compiler took its default.
    kernel : Kernel or None
        What it was compiled from. None for a loaded program.
    """

    def __init__(
        self,
        core: Any,
        *,
        kernel: Kernel | None = None,
        arguments: tuple[Any, ...] = (),
        system: Any = None,
        compiled: Any = None,
        machine: Machine | None = None,
        constants: dict[str, NDArray[Any]] | None = None,
    ) -> None:
        self.core = core
        self._constants = constants
        self.kernel = kernel
        self.arguments = arguments
        self._system = system
        self._compiled = compiled
        self.machine = machine
        self.kernel_name: str = core.kernel
        self.grid: tuple[int, ...] = tuple(core.grid)
        self.grid_names: tuple[str, ...] = tuple(core.grid_names)
        self.tensors: list[dict[str, Any]] = core.tensors
        self.schedule = Schedule.from_core(compiled.schedule) if compiled is not None else None
        self.schedule_chosen: bool = compiled is not None and compiled.schedule_chosen

    @property
    def recurrences(self) -> Recurrences:
        """The system of recurrence equations; prints one equation a line.

        Where the schedule reassociates reductions, these are the equations that it makes of the kernel's.
        """
        system: Recurrences = self._stage(self._system, "recurrences")
        return system

    @property
    def dataflow(self) -> Dataflow:
        """The dataflow recurrences; prints in the paper's notation (Figs. 4 and 6) and parses back."""
        return Dataflow(self._stage(self._compiled, "dataflow").dataflow)

    @property
    def placed(self) -> Dataflow:
        """The dataflow recurrences over the coordinates of grid and time.

        Equal to `dataflow` where these are plain indices and nothing is folded.
        """
        return Dataflow(self._stage(self._compiled, "placed dataflow").placed)

    @property
    def classes(self) -> tuple[PeClass, ...]:
        """The PE classes, each with ``region``, ``pe_count`` and its program as ``str()``."""
        counts = self.core.pe_counts()
        return tuple(
            PeClass(c.name, c.region, count, c.text)
            for c, count in zip(self.core.classes, counts, strict=True)
        )

    @property
    def channels(self) -> list[dict[str, Any]]:
        """The kinds of channel: name, kind, offset or axis, message tile, depth."""
        channels: list[dict[str, Any]] = self.core.channels
        return channels

    @property
    def memory(self) -> MemoryMap:
        """What the memory of a PE of each class holds: prints as a table and maps, and draws itself."""
        return MemoryMap(self)

    @property
    def sections(self) -> Sections:
        """The program as a controller sends it: what runs between decisions that depend on data."""
        return Sections.of(self)

    @property
    def roles(self) -> Roles:
        """Who does what: the controller, if any, workers, reduction PEs and relays, with what each holds."""
        return Roles.of(self)

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that the fullest PE needs."""
        return max((int(c.memory_bytes) for c in self.core.classes), default=0)

    @property
    def notes(self) -> dict[str, str]:
        """Provenance: the schedule as text, and the time function for unit costs where there is one."""
        notes: dict[str, str] = self.core.notes
        return notes

    @property
    def graph(self) -> Graph:
        """The kernel's operations in the order they run; see `Kernel.graph`."""
        kernel: Kernel = self._stage(self.kernel, "graph")
        return kernel.graph(*self.arguments)

    def explain(self) -> Explanation:
        """Return in words which index is space or time, and which tensor stays or moves, where and how.

        The explanation draws itself, too: ``program.explain().plot()``.
        """
        from cyclotron.explain import Explanation

        return Explanation(self)

    @property
    def plot(self) -> ProgramPlots:
        """Pictures: ``plot.iteration_space()``, ``plot.node(i, j, ...)``, ``plot.array()``."""
        from cyclotron.plot import ProgramPlots

        return ProgramPlots(self)

    def verify(self, *, exhaustive: bool = False) -> list[str]:
        """Verify again and return what holds, a sentence each.

        The compiler proves these on every compile; a loaded program is checked as far as a program alone
        shows (structure, types, memory). A small program is also given to the independent checker, see
        `cyclotron.prove`.

        Parameters
        ----------
        exhaustive : bool
            Give larger programs to the checker too: some seconds and up to a gigabyte.

        Raises
        ------
        ProgramError
            If the program is inconsistent.
        LegalityError
            If it does not compute its recurrences.
        DeadlockError
            If its PEs wait for each other with its channel depths.
        """
        type(self.core).from_bytes(self.core.to_bytes())
        holds = ["the program's structure, types and memory layout are consistent"]
        if self._compiled is not None:
            self._system.verify()
            holds = list(self._compiled.proofs)
        proof = prove(self, limit=None if exhaustive else VERIFY_LIMIT)
        return holds + [p.text for p in proof if p.status == "proven" and p.name != "structure"]

    def least_depths(self, *, limit: int | None = None) -> Depths:
        """Find how deep its channels must be, exactly; prints as a table.

        Parameters
        ----------
        limit : int, optional
            Most steps to follow, 8,388,608 by default.

        Returns
        -------
        Depths
            For each channel the least depth without deadlock and the least without a stall, in messages.

        Raises
        ------
        DeadlockError
            If no depth helps.
        CapacityError
            If the program has more steps than the limit.
        """
        return least_depths(self.core, limit)

    def with_machine(self, machine: Machine) -> Program:
        """Return the same PE programs on a machine with other operators, links or memories.

        Its cycles differ, its results do not; nothing is compiled again.

        Parameters
        ----------
        machine : Machine
            Of the topology that the program was compiled for, but for the links of link maps; its grid is the
            program's, or None.

        Raises
        ------
        ShapeError
            If the grid or the topology is another, or memories do not fit the grid.
        CapacityError
            If the PEs' memory is too small, or their channels are too few: only compiling for a machine lets
            messages share channels.
        """
        _check_machine(machine)
        require_retargetable(self, machine)
        own = self.machine.grid if self.machine else None
        with errors_at_call():
            machine = dataclasses.replace(machine, grid=own or (None if machine.link_maps else self.grid))
            core = self.core.with_machine(machine.to_core())
        return self._with(core, machine)

    def with_depths(self, depths: Mapping[str | int, int]) -> Program:
        """Return the same PE programs with channels of other depths than the machine's.

        Parameters
        ----------
        depths : mapping of str or int to int
            Messages that each queue of a channel holds; 0: as the machine says. A name, as in `channels`, is
            that of all channels that share it; a number, its place there, is that of one alone, and comes
            before its name. Others keep their depth.

        Raises
        ------
        ShapeError
            If there is no such channel, a depth is out of range, or an entry has the wrong type.
        """
        names = [channel["name"] for channel in self.channels]
        given = {}
        if not isinstance(depths, Mapping):
            raise wrong_type("`depths`", depths, 'a mapping, for example {"A along j": 4}')
        for name, depth in depths.items():
            if not isinstance(name, str) and (isinstance(name, bool) or not hasattr(name, "__index__")):
                raise wrong_type("a channel in `depths`", name, "its name, or its number in `channels`")
            if name not in names and name not in range(len(names)):
                raise ShapeError(
                    f"`{self.kernel_name}` has no channel `{name}`",
                    code="CYC403",
                    help=f"its channels are: {', '.join(names)}" if names else "its PEs send no messages",
                )
            given[operator.index(name) if not isinstance(name, str) else name] = integer(
                f"channels[{name!r}].depth", depth, 0, MOST
            )
        return self._with(
            self.core.with_depths(
                [
                    given.get(number, given.get(channel["name"], channel["depth"]))
                    for number, channel in enumerate(self.channels)
                ]
            ),
            self.machine,
        )

    def _with(
        self, core: Any, machine: Machine | None, *, arguments: tuple[Any, ...] | None = None
    ) -> Program:
        """Return the same compilation with other PE programs, or for other arguments."""
        return Program(
            core,
            kernel=self.kernel,
            arguments=self.arguments if arguments is None else arguments,
            system=self._system,
            compiled=self._compiled,
            machine=machine,
            constants=self.constants,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _program_of, (self.core.to_bytes(),)

    def __copy__(self) -> Program:
        return self  # it does not change

    def __deepcopy__(self, _: dict[int, Any]) -> Program:
        return self

    def save(self, path: str | Path) -> None:
        """Write the program file; every backend runs the same bytes.

        Parameters
        ----------
        path : str or Path
            By habit ``*.cyc``.
        """
        Path(path).write_bytes(self.core.to_bytes())

    def inputs(self) -> dict[str, NDArray[Any]]:
        """The arrays bound at compile time, by tensor; empty for specs and loaded programs."""
        if self.kernel is None:
            return {}
        named = dict(zip(self.kernel.signature.parameters, self.arguments, strict=True))
        arrays = {name: value.array if isinstance(value, Blocked) else value for name, value in named.items()}
        return {name: value for name, value in arrays.items() if isinstance(value, np.ndarray)}

    @property
    def constants(self) -> dict[str, NDArray[Any]]:
        """The arrays that are a part of the program, read-only, by tensor: what the kernel reads of the host.

        They are as they were when it was compiled, and are kept in files and pickles.
        """
        if self._constants is None:
            self._constants = constants_of(self.core)
        return dict(self._constants)

    def _stage(self, value: Any, name: str) -> Any:
        if value is None:
            raise ProgramError(
                f"a loaded program has no {name}: the file holds PE programs only",
                code="CYC620",
                help="compile the kernel again to see its earlier stages",
            )
        return value

    def __str__(self) -> str:
        return str(self.core)

    def __repr__(self) -> str:
        grid = "x".join(map(str, self.grid))
        return f"<program {self.kernel_name} on {grid} PEs, {len(self.core.classes)} classes>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and bool(self.core == other.core)

    def __hash__(self) -> int:
        return hash((self.kernel_name, self.grid))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<details><summary>{html.escape(c.name)}: {html.escape(c.region)} ({c.pe_count} PEs)</summary>"
            f"{c._repr_html_()}</details>"
            for c in self.classes
        )
        return f"<b>{html.escape(repr(self)[1:-1])}</b>{rows}"


def _check_machine(machine: object) -> None:
    if not isinstance(machine, Machine):
        raise ShapeError(
            f"the machine is a `{type(machine).__name__}`", code="CYC400", help="pass a cy.Machine"
        )


def unlimited(schedule: Schedule | None) -> Machine:
    """Return the machine that is compiled for where none is given: ample, with rings for a rotation.

    Parameters
    ----------
    schedule : Schedule or None
    """
    rings = schedule is not None and schedule.rotations
    return dataclasses.replace(_UNLIMITED, topology="torus") if rings else _UNLIMITED


def compile_kernel(
    kernel: Kernel, values: tuple[Any, ...], schedule: Schedule | None, machine: Machine | None
) -> Program:
    """Compile a kernel for bound arguments; equal shapes, dtypes, schedules and machines compile once.

    Shapes and dtypes are traced once, for whatever schedules and machines.

    Parameters
    ----------
    kernel : Kernel
    values : tuple
        From `Kernel.bind`.
    schedule : Schedule or None
    machine : Machine or None
    """
    if schedule is not None and not isinstance(schedule, Schedule):
        raise ScheduleError(
            f"the schedule is a `{type(schedule).__name__}`",
            code="CYC301",
            help="pass a cy.Schedule, for example cy.Schedule().space('i', 'j')",
        )
    target = unlimited(schedule) if machine is None else machine
    _check_machine(target)
    traced = key_of(kernel, values)
    before = known_of(kernel) if traced is not None else Known()
    key = (schedule, target, traced)
    known = before.programs.get(key)
    if known is None:
        system = before.systems.get(traced)
        if system is None:
            system = kernel.recurrences(*values)
            keep(before.systems, traced, system)
        with errors_at_call():
            compiled = _core.compile(system.core, schedule.to_core() if schedule else None, target.to_core())
        if schedule is not None and schedule.reorders_reductions:
            system = Recurrences(compiled.system, system.constants)
        core = with_constants(compiled.program, system.constants)
        known = Program(core, system=system, compiled=compiled, kernel=kernel, machine=target)
        keep(before.programs, key, known)
    return known._with(known.core, target, arguments=values)


def load(path: str | Path) -> Program:
    """Read a program file written by `Program.save`, checking it as hostile input.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    ProgramError
        If it cannot be read, is corrupt, foreign, of another version or inconsistent.
    CapacityError
        If its PEs use more channels than those of its machine have.
    """
    data = file_bytes(
        path, error=ProgramError, code="CYC601", help="give the path of a file that Program.save wrote"
    )
    return _program_of(data)


def _program_of(data: bytes) -> Program:
    core = _core.Program.from_bytes(data)
    return Program(core, machine=Machine.from_core(core.machine))


def require_program(value: Any, call: str) -> None:
    """Raise `ProgramError` unless the first argument of a call is a program."""
    name = call.removesuffix("()")
    require(
        value,
        Program,
        call,
        error=ProgramError,
        code="CYC621",
        help=f"compile first: prog = kernel.compile(A, B); cy.{name}(prog)",
    )

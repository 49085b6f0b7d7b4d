"""Programs: what kernels compile to, with every stage on the way."""

from __future__ import annotations

import dataclasses
import functools
import html
import operator
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from cyclotron import _core, compiler, graph
from cyclotron.compiler.constants import constants_of
from cyclotron.compiler.performance import performance_warnings
from cyclotron.compiler.ports import check_ports
from cyclotron.compiler.recurrences import Recurrences
from cyclotron.compiler.retarget import check_same_topology
from cyclotron.language import Kernel
from cyclotron.machine.machine import Machine
from cyclotron.machine.parts import MOST, integer, wrong_type
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.arguments import file_bytes, require
from cyclotron.support.call_site import errors_at_call
from cyclotron.support.dtypes import ADDED, load_added
from cyclotron.support.errors import ProgramError, ShapeError
from cyclotron.support.files import write_file
from cyclotron.support.tables import Records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cyclotron.compiler.blocking import Blocking
    from cyclotron.compiler.dataflow import Dataflow
    from cyclotron.compiler.defaults import Placements, Workers
    from cyclotron.compiler.explain import Explanation
    from cyclotron.compiler.memory_map import MemoryMap
    from cyclotron.compiler.pe_class import PeClass
    from cyclotron.compiler.proof import Depths, Proof
    from cyclotron.compiler.roles import Roles
    from cyclotron.compiler.routes import Routes
    from cyclotron.compiler.sections import Sections
    from cyclotron.graph import Graph
    from cyclotron.plot import ProgramPlots

_LARGEST_FILE = 1 << 32  # bytes, of constants nearly all
# Steps that `Program.verify` checks where nothing is said: below 10 ms.
_VERIFY_LIMIT = 2 * _core.COMPILE_PROOF_LIMIT

# What tells channels of one name apart, and what a channel's flows have beside their names.
_NUMBER, _LINE, _OPERATION = map(
    re.compile, (r", number \d+\)$", r" \((line \d+)?(, )?(number \d+)?\)$", r"\^\w+")
)

_Stage = TypeVar("_Stage")


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
    blocking : Blocking or None
        The tiles of a kernel on scalars that was compiled to one over tiles; else None.
    placements : Placements or None
        The programs that threads and ranks run instead, with the same bits, where neither a schedule nor a
        machine was given; else None.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> print(program.recurrences)
    recurrences matmul
      A : input float64[2, 2]
      B : input float64[2, 2]
      result : output float64[2, 2]
      result[i, j] = Σ_{0 <= k <= 1} (A[i, k] · B[k, j])    0 <= i <= 1 and 0 <= j <= 1
    <BLANKLINE>
    """

    def __init__(
        self,
        core: _core.Program,
        *,
        kernel: Kernel | None = None,
        arguments: tuple[Any, ...] = (),
        recurrences: Recurrences | None = None,
        compiled: _core.Compiled | None = None,
        machine: Machine | None = None,
        constants: dict[str, NDArray[Any]] | None = None,
        placements: Placements[Program] | None = None,
        blocking: Blocking | None = None,
    ) -> None:
        self.core = core
        self.blocking = blocking
        self.placements = placements
        self.for_workers: dict[Workers, Program] = {}  # those of the placements, with these arguments
        self._constants = constants
        self.kernel = kernel
        self.arguments = arguments
        self._recurrences = recurrences
        self._compiled = compiled
        self.machine = machine
        self.kernel_name: str = core.kernel
        self.grid: tuple[int, ...] = tuple(core.grid)
        self.grid_names: tuple[str, ...] = tuple(core.grid_names)
        self.tensors: list[dict[str, Any]] = core.tensors
        self.schedule = Schedule.from_core(cast(Any, compiled.schedule)) if compiled is not None else None
        self.schedule_chosen: bool = compiled is not None and compiled.schedule_chosen

    @property
    def changed(self) -> frozenset[str]:
        """The arguments that the kernel changes, which share memory with no other; none of loaded ones."""
        return frozenset() if self._recurrences is None else self._recurrences.changed

    @property
    def recurrences(self) -> Recurrences:
        """The system of recurrence equations; prints one equation a line.

        Where the schedule reassociates reductions, these are the equations that it makes of the kernel's.
        """
        return self._stage(self._recurrences, "recurrences")

    @property
    def dataflow(self) -> Dataflow:
        """The dataflow recurrences; prints in the paper's notation (Figs. 4 and 6) and parses back."""
        return compiler.Dataflow(self._stage(self._compiled, "dataflow").dataflow)

    @property
    def placed(self) -> Dataflow:
        """The dataflow recurrences over the coordinates of grid and time.

        Equal to `dataflow` where these are plain indices and nothing is folded.
        """
        return compiler.Dataflow(self._stage(self._compiled, "placed dataflow").placed)

    @property
    def classes(self) -> tuple[PeClass, ...]:
        """The PE classes, each with ``region``, ``pe_count`` and its program as ``str()``."""
        counts = self.core.pe_counts()
        return tuple(
            compiler.PeClass(c.name, c.region, count, c.text)
            for c, count in zip(self.core.classes, counts, strict=True)
        )

    @property
    def channels(self) -> Records:
        """The kinds of channel: name, kind, offset or axis, message tile, depth; prints as a table."""
        return Records(self.core.channels)

    @property
    def channel_flows(self) -> list[str]:
        """The flows of `dataflow` that each channel moves, e.g. ``A^mul along j``; not of loaded programs.

        A channel of flags that end a loop moves none of them and has its own name there.
        """
        flows: list[str] = self._stage(self._compiled, "dataflow").channel_flows
        return flows + [channel["name"] for channel in self.core.channels[len(flows) :]]

    @property
    def memory(self) -> MemoryMap:
        """The contents of the memory of a PE of each class: prints as a table and maps, and draws itself."""
        return compiler.MemoryMap(self.core)

    @property
    def sections(self) -> Sections:
        """The program as a controller sends it: what runs between decisions that depend on data."""
        return compiler.Sections.of(self.core)

    @property
    def roles(self) -> Roles:
        """The roles of PEs: controller, if any, workers, reduction PEs and relays, with what each holds."""
        return compiler.Roles.of(self.core)

    def routes(self, colors: int = 24, *, messages: bool = False) -> Routes:
        """Return the program's channels as colors of a wafer's fabric, with the routers' states by region.

        Messages go along a row first, then along a column. Routers keep their state where there are enough
        colors: chains of PEs have two a channel, by turns, since no PE sends on a color on which it receives.
        Where not, channels to neighbours on which all PEs send, and receive, by turns have two colors, and an
        advance wavelet after each message. The controller, if there is one, has two. Channels that meet at no
        PE share colors.

        Parameters
        ----------
        colors : int
            As many as there are.
        messages : bool
            Whether channels that have no routes, or too many, share one color on which routers pass messages
            on by their headers.

        Returns
        -------
        Routes
            A table, and a picture in notebooks; ``to_dict`` and ``save`` give it to generators of code,
            ``layout`` is the painted grid.

        Raises
        ------
        CapacityError
            CYC509 with the channels that need more colors than there are.
        ProgramError
            CYC510 if messages go around the ends of a torus, the grid has three dimensions, or receivers of
            a broadcast change.

        Examples
        --------
        >>> @cy.kernel
        ... def total(x):
        ...     return cy.sum(x)
        >>> program = total.compile(cy.spec((4,)), schedule=cy.Schedule().space("i"))
        >>> print(program.routes())
        total: 1 channel on 2 of 24 colors
        <BLANKLINE>
        color  channels        advances  route  where
        -----  --------------  --------  -----  ---------------------------
        c0     result along i            C>R    0 <= i <= 2 and i mod 2 = 0
                                         L>C    1 <= i <= 3 and i mod 2 = 1
        c1     result along i            C>R    0 <= i <= 2 and i mod 2 = 1
                                         L>C    1 <= i <= 3 and i mod 2 = 0
        """
        with errors_at_call():
            return compiler.Routes.of(self.core, integer("colors", colors, 1, MOST), bool(messages))

    @functools.cached_property
    def control_system(self) -> Program | None:
        """The controller as a program of its own, which every backend runs; None where no PE waits for one.

        Its PEs are a row of executive, response and merge PEs (MACH, section 4.1), and two workers beside
        them. The executive has the loops that end by data, and sends the number of each section to the
        response PEs, which have a share of its calls and arguments in tables; the merge PE sends these on
        in order. Inputs are the flags of the loops, by iteration; outputs what came to the workers of
        each section, the numbers of its calls and the addresses of their tensors, or numbers where PEs do not
        hold them. `roles` has the PEs by their role.

        Raises
        ------
        CapacityError
            CYC501 if its tables do not fit the memory of PEs, with a call in each, or as many as
            ``Control.pes``.

        Examples
        --------
        >>> @cy.kernel(max_steps=20)
        ... def halved(x):
        ...     while cy.max(x) > 1.0:
        ...         x = x / 2
        ...     return x
        >>> machine = cy.Machine(control=cy.Control())
        >>> program = halved.compile(cy.spec((4,)), schedule=cy.Schedule().space("i"), machine=machine)
        >>> program.control_system.grid
        (2, 4)
        >>> print(program.roles["merge"])  # doctest: +ELLIPSIS
        merge    { [row, column] : row = 0 and column = 1 }
        ...
        """
        if not self.core.endings or self.core.machine.control is None:
            return None
        with errors_at_call():
            return Program(self.core.control_system())

    @property
    def memory_bytes(self) -> int:
        """Bytes that the values of the program take in the fullest PE; `memory` tells what else it holds."""
        return max((int(c.memory_bytes) for c in self.core.classes), default=0)

    @functools.cached_property
    def cycles(self) -> int:
        """Simulated clock cycles of a run, of time alone: no data is needed; loops run to their bounds.

        Raises
        ------
        DeadlockError
            If the channels are too shallow for the program.
        """
        with errors_at_call():
            timing = _core.simulate(self.core, [], functional=False, event_limit=0, engine="auto")
        return int(timing["cycles"])

    @property
    def notes(self) -> dict[str, str]:
        """Provenance: the schedule as text, and the time function for unit costs where there is one."""
        return self.core.notes

    @property
    def graph(self) -> Graph:
        """The kernel's operations in the order they run; see `Kernel.graph`."""
        return graph.graph_of(self._stage(self.kernel, "graph"), self.arguments)

    def explain(self) -> Explanation:
        """Return in words which index is space or time, which tensor stays or moves, and what is slow.

        The explanation draws itself, too: ``program.explain().plot()``.
        """
        return compiler.Explanation(
            self, performance_warnings(self._stage(self._compiled, "warnings"), self.machine)
        )

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
            self.recurrences.verify()
            holds = list(self._compiled.proofs)
        proof = prove(self, limit=None if exhaustive else _VERIFY_LIMIT)
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
        LegalityError
            CYC672 if its machine has shared links, pipelined units, units side by side or ports.
        """
        return compiler.least_depths(self.core, limit)

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
            messages share channels; CYC507 if a PE loads or stores that is no port (`Machine.io`).
        """
        require_machine(machine)
        own = self.machine.grid if self.machine else None
        check_same_topology(self.core, machine, own)
        with errors_at_call():
            machine = dataclasses.replace(machine, grid=own or (None if machine.link_maps else self.grid))
            core = self.core.with_machine(machine.to_core())
        check_ports(core, machine)
        return self._with(core, machine)

    def with_depths(self, depths: Mapping[str | int, int]) -> Program:
        """Return the same PE programs with channels of other depths than the machine's.

        Parameters
        ----------
        depths : mapping of str or int to int
            Messages that each queue of a channel holds; 0: as the machine says. A name, as in `channels`, is
            that of all channels that share it; a number, its place there, is that of one alone, and comes
            before its name. A name without the line, or the number, in brackets is that of all alike;
            its flows, as in `channel_flows`, name a channel too. Others keep their depth.

        Raises
        ------
        ShapeError
            If there is no such channel, a depth is out of range, or an entry has the wrong type.
        """
        names = [channel["name"] for channel in self.channels]
        flows = names if self._compiled is None else self.channel_flows
        # Without its number, its line or the operations of its flows, a name is that of all alike.
        known = [
            (name, _NUMBER.sub(")", name), _LINE.sub("", name), flow, _OPERATION.sub("", flow))
            for name, flow in zip(names, flows, strict=True)
        ]
        given = {}
        if not isinstance(depths, Mapping):
            raise wrong_type("`depths`", depths, 'a mapping, for example {"A along j": 4}')
        for name, depth in depths.items():
            if not isinstance(name, str) and (isinstance(name, bool) or not hasattr(name, "__index__")):
                raise wrong_type("a channel in `depths`", name, "its name, or its number in `channels`")
            if not any(name in own for own in known) and name not in range(len(names)):
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
                    next((given[name] for name in (number, *own) if name in given), channel["depth"])
                    for number, (channel, own) in enumerate(zip(self.channels, known, strict=True))
                ]
            ),
            self.machine,
        )

    def with_arguments(self, arguments: tuple[Any, ...]) -> Program:
        """Return the same program for other arguments of equal shapes and dtypes.

        Parameters
        ----------
        arguments : tuple
            From `Kernel.bind`.
        """
        return self._with(self.core, self.machine, arguments, self.placements)

    def with_placements(self, placements: Placements[Program]) -> Program:
        """Return the same program, instead of which threads and ranks run others.

        Parameters
        ----------
        placements : Placements
        """
        return self._with(self.core, self.machine, placements=placements)

    def with_blocking(self, blocking: Blocking | None) -> Program:
        """Return the same program, with the tiles that it is in.

        Parameters
        ----------
        blocking : Blocking or None
        """
        if blocking is None:
            return self
        return self._with(self.core, self.machine, placements=self.placements, blocking=blocking)

    def _with(
        self,
        core: _core.Program,
        machine: Machine | None,
        arguments: tuple[Any, ...] | None = None,
        placements: Placements[Program] | None = None,
        blocking: Blocking | None = None,
    ) -> Program:
        """Return the same compilation with other PE programs, or for other arguments."""
        if core is self.core and machine is self.machine:  # for a call, which has no time to read all of it
            result = object.__new__(Program)
            given = self.arguments if arguments is None else arguments
            own = {"arguments": given, "blocking": blocking or self.blocking, "placements": placements}
            result.__dict__.update(self.__dict__, _constants=self.constants, for_workers={}, **own)
            return result
        return Program(
            core,
            kernel=self.kernel,
            arguments=self.arguments if arguments is None else arguments,
            recurrences=self._recurrences,
            compiled=self._compiled,
            machine=machine,
            constants=self.constants,
            placements=placements,
            blocking=blocking or self.blocking,
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
        write_file(path, self.core.to_bytes())

    @functools.cached_property
    def wire_bytes(self) -> bytes:
        """The program file without its constants, which ranks are given as they are inputs."""
        data: bytes = self.core.without_constants().to_bytes()
        return data

    def decoded(self) -> dict[str, Any]:
        """Return the program as plain data, for backends and generators of code.

        Returns
        -------
        dict
            Of lists, texts and numbers, as a program file holds it: the grid, tensors, channels, the machine,
            and the code of each PE class, as `tests/programs/toy_backend.py` runs it.
        """
        return compiler.decoded(self.core)

    def emit(self, name: str) -> str:
        """Return the program as a generator writes it.

        Parameters
        ----------
        name : str
            ``"json"``, or a generator that `cyclotron.compiler.generators.register` was given.

        Raises
        ------
        BackendUnavailable
            If there is no such generator (CYC720).
        """
        return compiler.generator_of(name)(self.decoded())

    def inputs(self) -> dict[str, NDArray[Any]]:
        """The arrays bound at compile time, by tensor; empty for specs and loaded programs."""
        return {} if self.kernel is None else self.kernel.arrays(self.arguments)

    @property
    def constants(self) -> dict[str, NDArray[Any]]:
        """The arrays that are a part of the program, read-only, by tensor: what the kernel reads of the host.

        They are as they were when it was compiled, and are kept in files and pickles.
        """
        if self._constants is None:
            self._constants = constants_of(self.core)
        return dict(self._constants)

    @staticmethod
    def _stage(value: _Stage | None, name: str) -> _Stage:
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


def require_machine(machine: object) -> None:
    """Raise `ShapeError` unless an argument is a machine."""
    if not isinstance(machine, Machine):
        message = f"the machine is a `{type(machine).__name__}`"
        raise ShapeError(message, code="CYC400", help="pass a cy.Machine")


def load(path: str | Path) -> Program:
    """Read a program file written by `Program.save`, checking it as hostile input.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Program
        Runs as the one that was saved; it has no earlier stages.

    Raises
    ------
    ProgramError
        If it cannot be read, is corrupt, foreign, of another version or inconsistent.
    CapacityError
        If its PEs use more channels than those of its machine have.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     program.save(f"{folder}/matmul.cyc")
    ...     loaded = cy.load(f"{folder}/matmul.cyc")
    >>> cy.run(loaded, np.eye(2), np.ones((2, 2))).output.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    data = file_bytes(
        path,
        error=ProgramError,
        code="CYC601",
        help="give the path of a file that Program.save wrote",
        most=_LARGEST_FILE,
    )
    return _program_of(data)


def _program_of(data: bytes) -> Program:
    try:
        core = _core.Program.from_bytes(data)
    except MemoryError:
        raise ProgramError(
            f"the program of {len(data):,} bytes does not fit in memory",
            code="CYC601",
            help="read it where there is more memory",
        ) from None
    load_added(" ".join(name for name in ADDED if name.encode() in data))
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


def prove(program: Program, *, limit: int | None = None) -> Proof:
    """Check a program with the independent checker, for its sizes and for all data.

    Where the schedule reassociates reductions, the recurrences are those it makes of the kernel's.
    The checker reads the program and the recurrences only, and shares no code with the compiler and the
    backends. It unrolls the program, runs it on terms instead of numbers, and compares what is stored with
    the operations that the equations spell.

    Parameters
    ----------
    program : Program
        Compiled or loaded; a loaded one has no recurrences, so its terms are not checked.
    limit : int, optional
        Most steps to check, 8,388,608 by default (some seconds, about a gigabyte); a larger program is
        checked for its structure only, and the proof says so.

    Returns
    -------
    Proof
        The properties, each with its status.

    Raises
    ------
    ExecutionError
        If `limit` is no whole number of at least 1 (CYC733).
    LegalityError
        If a stored element is not what its equation says.
    ProgramError
        If an access is out of bounds, a slot is read that holds no value of its own, an output element is not
        stored exactly once, or a message is left.
    DeadlockError
        If the PEs wait for each other with the program's channel depths.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> cy.prove(program).ok
    True
    """
    require_program(program, "prove()")
    recurrences = program._recurrences
    system = None if recurrences is None else recurrences.core
    constants = None if recurrences is None else recurrences.constants
    return compiler.check_program(program.core, system, constants, program.schedule, limit)

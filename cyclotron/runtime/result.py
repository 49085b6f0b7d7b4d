"""Results of runs: outputs, cycles, where the time went."""

from __future__ import annotations

import functools
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.analysis import perfetto_trace
from cyclotron.analysis.accounting import Accounting, account
from cyclotron.analysis.chrome_trace import trace_of
from cyclotron.analysis.chrome_trace_ranks import trace_of_ranks
from cyclotron.analysis.counters import OF_SOME_MACHINES, TIMES, counts_of, described, port_of_pe
from cyclotron.analysis.critical_path import CriticalPath, critical_path
from cyclotron.analysis.energy import EnergyAccount, energy_of
from cyclotron.analysis.events import active_pes
from cyclotron.analysis.rank_profile import Profile
from cyclotron.analysis.stats import Stats
from cyclotron.compiler.program import Program
from cyclotron.runtime.backend import Execution
from cyclotron.support.data import data_frame, plain, to_json
from cyclotron.support.environment import VERSION
from cyclotron.support.errors import ExecutionError, NotMeasuredError
from cyclotron.support.files import write_file
from cyclotron.support.svg import color_scale_svg, heat_map_png, heat_map_svg, inline_image
from cyclotron.support.tables import Records

if TYPE_CHECKING:
    from cyclotron.plot import Exploration, Plots


class Result:
    """The outcome of `cyclotron.run`.

    Attributes
    ----------
    program : Program
        What ran.
    backend : str
        Where: ``numpy``, ``local``, ``sim`` or ``mpi``.
    outputs : dict of str to ndarray or Distributed
        Every output by name; empty for a timing-only simulation.
    seconds : float
        Wall-clock time of the run.
    steps : dict of str to int
        For each loop that leaves out what is left once it has ended, by ``break`` or ``while``: the
        iterations that the PEs executed, in all its runs, which are what ``cy.run(steps=)`` takes. Those are
        more than NumPy's loop has: also the one in which a ``while`` finds its test false, those in which
        the flag travels to all PEs, and, in each run, at least its first few (three, mostly), before the rest
        repeats. Count in the kernel, ``n += 1``, for NumPy's number. All of them where only time was
        simulated. Empty on ``numpy``.
    profile : Profile or list
        ``mpi`` only: for each rank where its time went, and the words that it moved; prints as a table. See
        `cyclotron.analysis.rank_profile.Profile`. Empty on other backends.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> result = cy.run(program, backend="sim")
    >>> result.output.tolist(), result.utilization.shape == result.grid
    ([[2.0, 2.0], [2.0, 2.0]], True)
    """

    def __init__(self, program: Program, backend: str, execution: Execution, seconds: float) -> None:
        self.program = program
        self.backend = backend
        self.outputs = execution.outputs
        self.seconds = seconds
        self.profile: Profile | list[dict[str, Any]] = [] if execution.profile is None else execution.profile
        self._timing = execution.timing
        skipped = execution.skipped
        self.steps = {} if skipped is None else executed_steps(program.core.endings, skipped)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the core's counters out: `stats` has what they tell."""
        if self._timing is None:
            return self.__dict__
        self.stats  # noqa: B018 - made now, where it was not before
        if self.program.machine is not None and self.program.machine.energy is not None:
            self.energy  # noqa: B018 - the same
        timing = {name: value for name, value in self._timing.items() if name != "counters"}
        return {**self.__dict__, "_timing": timing}

    @property
    def output(self) -> Any:
        """The only output, an ndarray or `Distributed`.

        Raises
        ------
        ExecutionError
            If there are several, or none because the run was timing-only.
        """
        if len(self.outputs) != 1:
            raise ExecutionError(
                f"the run has {len(self.outputs)} outputs: {', '.join(self.outputs) or 'none'}",
                code="CYC711",
                help="take one from `outputs`" if self.outputs else "run with functional=True",
            )
        return next(iter(self.outputs.values()))

    @property
    def grid(self) -> tuple[int, ...]:
        """PEs a dimension."""
        return self.program.grid

    @property
    def cycles(self) -> int:
        """Simulated clock cycles from the first instruction to the last."""
        return int(self._measured["cycles"])

    @property
    def simulated_seconds(self) -> float:
        """Simulated time: `cycles` at the machine's clock.

        Raises
        ------
        ExecutionError
            If the machine has no clock, or the backend measures no cycles.
        """
        cycles = self.cycles
        clock: float | None = self.program.core.machine.clock_hz
        if clock is None:
            raise NotMeasuredError(
                "the machine has no clock, so that its cycles are no seconds",
                code="CYC712",
                help="give it one, in Hz: cy.Machine(clock=1.2e9, ...)",
            )
        return cycles / clock

    @property
    def engine(self) -> str:
        """The engine that simulated it: ``functional``, ``general`` or ``fast-forward``."""
        return str(self._measured["engine"])

    @property
    def utilization(self) -> NDArray[np.float64]:
        """Share of the cycles in which each PE computes, shape ``grid``, 0 to 1."""
        busy = self.stats["busy"].astype(np.float64)
        return np.asarray(busy / max(self.cycles, 1), dtype=np.float64)

    @functools.cached_property
    def active(self) -> NDArray[np.int64]:
        """The number of PEs that compute in each cycle, int64, shape ``(cycles,)``; from `events`.

        A PE executes one operator at a time: this is the number of active instructions, too.

        Raises
        ------
        ExecutionError
            If events were dropped (`events_dropped`) or none were kept: run with a larger ``event_limit``.
        """
        return active_pes(self)

    @functools.cached_property
    def stats(self) -> Stats:
        """Exact accounting, a dict that prints as tables; times of each PE add up to ``cycles``.

        Times: ``busy``, ``stall_empty`` (waiting for a message), ``stall_full`` (waiting for a place in a
        channel), ``stall_memory`` (waiting for its memory, as `Memory` tells), ``stall_control`` (waiting
        for the controller's calls and setting them up, as `Control` tells; ``wait_control`` is the former
        alone, whose mean over ``cycles`` is the idle fraction of workers), ``stall_link`` (waiting for
        a link or bus that others share, ``Machine.shared_links``), ``stall_unit`` (waiting for a result that
        a unit has not delivered, or for a unit, `Unit`), ``stall_port`` (waiting for a port, ``PE.ports``),
        ``idle`` (int64 arrays of shape ``grid``, cycles), ``busy_by_operator`` (dict of such arrays),
        ``cycles_skipped`` and ``pes_skipped`` (ints, by fast-forward: periods of a run that repeat
        themselves, and PEs that do what a neighbour does, a constant time later; the others were run step by
        step), ``steps`` (the attribute).

        Work, counted whatever the engine and however many cycles it skips: ``flops`` (floating-point
        operations as the operators count them, a multiply-add 2, on every dtype), ``words_loaded``,
        ``words_stored``, ``bytes_loaded`` and ``bytes_stored`` (between PEs and tensors, by LOAD and STORE; a
        word is an element), ``words_resident`` (those of tensors that `resident` keeps in the PEs, not among
        the others), ``instructions_by_kind`` (dict: load, store, move, send, receive, broadcast,
        compute), ``words_sent`` and ``words_received`` (dicts by the names of channels, those of one name
        together; a broadcast is sent once and received by many), all int64 arrays of shape ``grid``;
        ``arithmetic_intensity`` (float, flops a byte loaded or stored; infinite without any),
        ``instructions`` (int), ``words_moved`` (int, over channels).

        ``channels`` (list of dicts): name; kind, link or network; messages, words and bytes, of a broadcast
        those of every receiver; queues, the pairs of PEs that it joins; words_per_cycle of their
        links, all together; busy_cycles, which messages kept these busy; utilization, their share of all
        cycles of all queues, 0 to 1; peak_occupancy of any queue.

        ``memory_ports`` (list of dicts): the memory's name; pes that share the port; loads and stores, their
        words_loaded and words_stored; busy_cycles in which it transferred them; utilization, their share of
        all cycles, 0 to 1. ``memory_port`` (int64 array of shape ``grid``): the place of each PE's port in
        this list, or -1.
        """
        timing = self._measured
        stats = Stats(
            {name: np.asarray(timing[name]).reshape(self.grid) for name in (*TIMES, "wait_control")}
        )
        stats["busy_by_operator"] = {
            name: np.asarray(cycles).reshape(self.grid)
            for name, cycles in timing.get("busy_by_operator", {}).items()
        }
        stats["channels"] = Records(
            described(channel, statistics, self.cycles)
            for channel, statistics in zip(self.program.channels, timing["channels"], strict=True)
        )
        stats["memory_ports"] = Records(
            {**port, "utilization": port["busy_cycles"] / max(self.cycles, 1)}
            for port in timing["memory_ports"]
        )
        stats["memory_port"] = port_of_pe(timing["memory_port_of_pe"], self.grid)
        stats.update(counts_of(timing["counters"], self.program))
        stats["instructions"] = int(timing["instructions"])
        stats["words_moved"] = sum(int(channel["words"]) for channel in timing["channels"])
        stats["cycles_skipped"] = int(timing["cycles_skipped"])
        stats["pes_skipped"] = int(timing["pes_skipped"])
        stats["steps"] = self.steps
        return stats

    @functools.cached_property
    def energy(self) -> EnergyAccount:
        """The energy of the run, by what the machine says that operations, words and time cost.

        It prints as a table, and has ``total`` (float), ``by_pe`` (float64, shape ``grid``), ``by_operator``,
        ``by_tensor`` and ``by_level`` (dicts), in picojoules: `cyclotron.analysis.energy.EnergyAccount`. It
        comes from what the simulator counts, so it is the same with and without numbers.

        Raises
        ------
        ExecutionError
            CYC712 if the backend measures nothing, or the machine has no energies (`Energy`), or none for
            something that the run did.

        Examples
        --------
        >>> energy = cy.Energy({"multiply": {"float64": 2.0}, "add": {"float64": 1.0}},
        ...                    memory_picojoules_per_byte={"default": 0}, source="an example")
        >>> machine = cy.Machine(grid=(2, 2), energy=energy)
        >>> A = np.ones((2, 2))
        >>> cy.run(matmul.compile(A, A, machine=machine)).energy.total
        20.0
        """
        return energy_of(self, self._measured["counters"])

    @functools.cached_property
    def events(self) -> NDArray[Any]:
        """One record a computation, up to the event limit.

        Fields: pe (linear index), instruction, operator, start and end (cycles), order (its number among the
        computations, sends and receives of all PEs, in an order in which they can happen), loops (values of
        the loop variables) and depth (how many of them hold).
        """
        return np.asarray(self._measured["events"])

    @property
    def events_dropped(self) -> int:
        """Computations beyond the event limit."""
        return int(self._measured["events_dropped"])

    @functools.cached_property
    def messages(self) -> NDArray[Any]:
        """One record a message, where events are kept and up to their limit.

        Fields: channel (number in `Program.channels`), sender and receiver (linear indices; a broadcast is a
        message to each receiver), words; in cycles, ready (the sender came to its instruction), placed (it
        had its places; it then waited for a shared link), sent, link_free (the next one may enter the link),
        arrival, waiting (the receiver came to its instruction) and received (-1: never); send_instruction,
        receive_instruction; send_order, receive_order (as of `events`).
        """
        return np.asarray(self._measured["messages"])

    @property
    def messages_dropped(self) -> int:
        """Messages beyond the event limit."""
        return int(self._measured["messages_dropped"])

    @functools.cached_property
    def memory_requests(self) -> NDArray[Any]:
        """One record a request to a memory, where events are kept and up to their limit.

        Fields: port (number in ``stats["memory_ports"]``), pe (linear index), instruction and order (of its
        LOAD or STORE, as of `events`), words, stores (bool); in cycles, waiting (the PE came to the
        instruction) and passed (it went on; -1: it never came to it); asked, start and end (the port began
        to transfer the words, and ended) and arrival.
        """
        return np.asarray(self._measured["memory_requests"])

    @property
    def memory_requests_dropped(self) -> int:
        """Requests beyond the event limit."""
        return int(self._measured["memory_requests_dropped"])

    def accounting(self) -> Accounting:
        """Return where each cycle of each PE went: operators, and waits by channel.

        It prints as a table: `cyclotron.analysis.accounting.Accounting`. `stats` has the sums over the
        channels, for runs of any size.

        Returns
        -------
        Accounting

        Raises
        ------
        ExecutionError
            If events or messages were dropped: run with a larger ``event_limit``.

        Examples
        --------
        >>> {name: int(cycles.sum()) for name, cycles in result.accounting().busy.items()}
        {'multiply': 4, 'multiply_add': 4}
        """
        return account(self)

    def critical_path(self) -> CriticalPath:
        """Return the chain of operators and messages that the cycles are the sum of.

        It prints as a table of what it goes through: `cyclotron.analysis.critical_path.CriticalPath`.

        Returns
        -------
        CriticalPath

        Raises
        ------
        ExecutionError
            If events or messages were dropped: run with a larger ``event_limit``.

        Examples
        --------
        >>> sum(step.cycles for step in result.critical_path().steps) == result.cycles
        True
        """
        return critical_path(self)

    @property
    def plot(self) -> Plots:
        """Pictures: ``plot.utilization()`` and the others of `cyclotron.plot.Plots`.

        Of MPI ranks there is ``plot.timeline()``, where they kept events.
        """
        from cyclotron.plot import Plots

        if isinstance(self.profile, Profile):
            return Plots(self, self.profile)
        self._measured  # noqa: B018 - a run without cycles has nothing to draw
        return Plots(self)

    def explore(self, *others: Result, critical_path: bool | None = None) -> Exploration:
        """Return a view that moves: the PEs at each cycle, and what one does, runs, and keeps in its memory.

        A widget in notebooks; ``explore().to_html(path)`` writes a page that needs no server and no network.

        Parameters
        ----------
        *others : Result
            To show side by side, over the same cycles.
        critical_path : bool, optional
            With the critical path as a layer; by default of runs with up to 300,000 records.

        Returns
        -------
        Exploration

        Raises
        ------
        ExecutionError
            If it is no simulation (CYC712), or a critical path is asked for and events are missing (CYC717).
        ShapeError
            If nothing took time (CYC735).

        Examples
        --------
        >>> page = result.explore().to_html("run.html")
        >>> page.startswith("<!DOCTYPE html>")
        True
        """
        from cyclotron.plot import explore

        return explore(self, *others, critical_path=critical_path)

    def save_trace(self, path: str | Path, *, message_limit: int = 50_000) -> None:
        """Write events and messages for Perfetto: in Chrome's trace format, or in Perfetto's own.

        Times are those of the machine's clock; without one, a cycle is a microsecond.

        A PE is a thread named by its place, a row of the grid a process; the slice of a computation tells the
        values of its loop variables, and that of a send or a receive how long the PE waits. An arrow leads
        from each send to its receive. On ``mpi`` a thread is a rank, and times are seconds of the wall clock.

        Parameters
        ----------
        path : str or Path
            By habit ``*.json``. ``*.pftrace`` or ``*.perfetto-trace`` is binary, about half as large.
        message_limit : int
            Messages to draw, those that are sent first: a few hundred bytes each. 0 draws computations alone.

        Raises
        ------
        ExecutionError
            If the backend measures nothing (CYC712).
        BackendUnavailable
            CYC722 if the package ``perfetto``, which the binary format needs, is not installed.
        OSError
            If it cannot be written.

        Examples
        --------
        >>> result.save_trace("run.json")
        >>> import json
        >>> sorted(json.load(open("run.json")))
        ['displayTimeUnit', 'otherData', 'traceEvents']
        """
        import json

        if isinstance(self.profile, Profile):
            trace = trace_of_ranks(self.profile, message_limit)
        else:
            trace = trace_of(self, message_limit)
        if Path(path).suffix in perfetto_trace.SUFFIXES:
            write_file(path, perfetto_trace.packed(trace))
        else:
            write_file(path, json.dumps(trace, separators=(",", ":")))

    def to_dict(self, *, outputs: bool = False) -> dict[str, Any]:
        """Return the result as dicts, lists, texts and numbers.

        Parameters
        ----------
        outputs : bool
            With the arrays of outputs, as nested lists.

        Returns
        -------
        dict
            ``cyclotron`` (the version), ``kernel``, ``backend``, ``seconds``, ``grid``, ``grid_names``,
            ``schedule`` and ``machine`` (as of their own ``to_dict``; None where the program does not tell),
            ``steps``; of a simulation ``cycles``, ``engine`` and ``stats`` too, of MPI ranks ``profile``.
            Complex numbers are pairs, numbers that JSON lacks texts: ``"NaN"``, ``"Infinity"``.

        Raises
        ------
        ExecutionError
            If outputs are asked for that are distributed: gather them first (CYC712).

        Examples
        --------
        >>> import cyclotron as cy
        >>> @cy.kernel
        ... def double(x):
        ...     return 2 * x
        >>> cy.run(double.compile([1.0, 2.0]), backend="sim").to_dict(outputs=True)["outputs"]
        {'result': [2.0, 4.0]}
        """
        program = self.program
        data: dict[str, Any] = {
            "cyclotron": VERSION,
            "kernel": program.kernel_name,
            "backend": self.backend,
            "seconds": self.seconds,
            "grid": self.grid,
            "grid_names": program.grid_names,
            "schedule": None if program.schedule is None else program.schedule.to_dict(),
            "machine": None if program.machine is None else program.machine.to_dict(),
            "steps": self.steps,
        }
        if self._timing is not None:
            data |= {"cycles": self.cycles, "engine": self.engine, "stats": self.stats}
        if self.profile:
            data["profile"] = list(self.profile)
        if outputs:
            there = {name: value for name, value in self.outputs.items() if isinstance(value, np.ndarray)}
            if len(there) < len(self.outputs):
                elsewhere = next(name for name in self.outputs if name not in there)
                raise ExecutionError(
                    f"the output `{elsewhere}` is distributed",
                    code="CYC712",
                    help=f"gather it, or leave outputs out: result.outputs[{elsewhere!r}].gather()",
                )
            data["outputs"] = there
        found: dict[str, Any] = plain(data)
        return found

    def to_json(self, path: str | Path | None = None, *, outputs: bool = False) -> str:
        """Return the result as JSON, and write it to `path` if one is given; see `to_dict`.

        Parameters
        ----------
        path : str or Path, optional
            By habit ``*.json``; replaced only when the text is complete.
        outputs : bool
            With the arrays of outputs.

        Returns
        -------
        str

        Raises
        ------
        OSError
            If it cannot be written.

        Examples
        --------
        >>> import json
        >>> json.loads(result.to_json())["kernel"]
        'matmul'
        """
        text = to_json(self.to_dict(outputs=outputs))
        if path is not None:
            write_file(path, text)
        return text

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``: a row a PE of a simulation, a row a rank of a run on MPI.

        Returns
        -------
        DataFrame
            Of a simulation the place of the PE, by the names of the grid's dimensions, ``utilization`` (0 to
            1), then what `stats` has of each PE; dicts as ``busy_by_operator: multiply``. Of ranks the
            numbers of `profile`.

        Raises
        ------
        ExecutionError
            If the backend measures nothing (CYC712).
        BackendUnavailable
            If pandas is not installed.

        Examples
        --------
        >>> list(result.to_pandas().columns[:3])
        ['i', 'j', 'busy']
        """
        if self._timing is None and self.profile:
            rows = [{k: v for k, v in rank.items() if np.isscalar(v)} for rank in self.profile]
        else:
            share = self.utilization.ravel().tolist()
            rows = self.stats.by_pe(self.grid, self.program.grid_names)
            rows = [{**row, "utilization": part} for row, part in zip(rows, share, strict=True)]
        return data_frame(rows, list(rows[0]) if rows else [], instead="use to_dict()")

    @property
    def _measured(self) -> Mapping[str, Any]:
        if self._timing is None:
            raise NotMeasuredError(
                f"the {self.backend} backend measures no cycles", code="CYC712", help='run with backend="sim"'
            )
        return self._timing

    def __repr__(self) -> str:
        what = f"<result of {self.program.kernel_name} on {self.backend}"
        if self._timing is not None:
            return f"{what}: {self.cycles} cycles, {self.utilization.mean():.1%} utilization>"
        return f"{what}: {self.seconds * 1e3:.1f} ms>"

    def _repr_html_(self) -> str:
        rows = [("backend", self.backend), ("outputs", ", ".join(self.outputs) or "none")]
        picture = ""
        if self._timing is not None:
            told = [name for name in TIMES if name not in OF_SOME_MACHINES or self.stats[name].any()]
            shares = {name: f"{self.stats[name].mean() / max(self.cycles, 1):.1%}" for name in told}
            rows += [("cycles", f"{self.cycles:,}"), *((k.replace("_", " "), v) for k, v in shares.items())]
            scale = f"cycles computing: 0 % {inline_image(color_scale_svg())} 100 %"
            heat_map = inline_image(heat_map_svg(self.utilization))
            picture = f"<div>{heat_map}<br><small>{html.escape(self._axes())}<br>{scale}</small></div>"
        body = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in rows)
        return f"<b>{html.escape(self.program.kernel_name)}</b>{picture}<table>{body}</table>"

    def _repr_png_(self) -> bytes | None:
        """The map alone, for readers of notebooks that show no HTML."""
        return heat_map_png(self.utilization) if self._timing is not None and self.utilization.size else None

    def _axes(self) -> str:
        """The directions of the map, and what it is a mean of."""
        ways = [*["mean over"] * (len(self.grid) - 2), "down", "right"][-len(self.grid) :]
        texts = [
            f"{way} {name}: 0 to {extent - 1:,}"
            for way, name, extent in zip(ways, self.program.grid_names, self.grid, strict=False)
        ]
        return ", ".join(texts)


def loop_names(endings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return names of a program's loops that may end early; ``t_2`` is the second one called ``t``."""
    names: list[str] = []
    for ending in endings:
        name, again = ending["loop"], 2
        while name in names:
            name, again = f"{ending['loop']}_{again}", again + 1
        names.append(name)
    return names


def executed_steps(endings: Sequence[Mapping[str, Any]], skipped: Sequence[int]) -> dict[str, int]:
    """Return the iterations that each loop executed, in all its runs, by its name.

    Parameters
    ----------
    endings : sequence of mapping
        The program's, of loops that may end early.
    skipped : sequence of int
        Iterations that they left out; none: no loop left out any.
    """
    return {
        name: ending["runs"] * ending["steps"] - left_out
        for name, ending, left_out in zip(
            loop_names(endings), endings, skipped or [0] * len(endings), strict=True
        )
    }

"""Runs programs: the numpy, sim, local and mpi backends behind one function."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cyclotron import _core
from cyclotron.arguments import array_of, rank_count, shown, whole_number
from cyclotron.compiler import Program, compile_kernel, require_program
from cyclotron.distributed import Distributed
from cyclotron.endings import ended
from cyclotron.errors import BackendUnavailable, CyclotronError, ExecutionError, LegalityError, ShapeError
from cyclotron.language import Blocked, Kernel, Spec, blocked
from cyclotron.language.recording.exits import is_ending
from cyclotron.layout import Layout
from cyclotron.places import errors_at_call
from cyclotron.progress import progress_bar
from cyclotron.rank_profile import profile_of
from cyclotron.results import Result
from cyclotron.schedule import Schedule

Backend = Literal["numpy", "sim", "local", "mpi"]
BACKENDS: tuple[Backend, ...] = ("numpy", "sim", "local", "mpi")
Engine = Literal["auto", "general", "fast-forward"]
ENGINES: tuple[Engine, ...] = ("auto", "general", "fast-forward")

_EVENT_LIMIT = 200_000
_MOST_THREADS = 1 << 16


def run(
    program: Program,
    *inputs: NDArray[Any] | Blocked | Distributed,
    backend: Backend = "local",
    ranks: int | None = None,
    deal: Layout | None = None,
    functional: bool = True,
    threads: int = 0,
    event_limit: int | None = None,
    engine: Engine = "auto",
) -> Result:
    """Run a compiled program once.

    Parameters
    ----------
    program : Program
        From `Kernel.compile` or `load`.
    *inputs : ndarray, Blocked or Distributed
        One for each input tensor, in order, with the shape and dtype that the program was compiled for; by
        default those bound at compile time. Where one is distributed and the backend ``mpi``, the outputs
        stay distributed: in the program's tiles, where they are computed.
    backend : {"local", "sim", "mpi", "numpy"}
        Threads of this process, the cycle-accurate simulator, MPI ranks, or the kernel's own Python body.
        The compiled backends give the same bits.
    ranks : int, optional
        ``mpi`` only: processes. Under ``mpirun`` the run is collective over all ranks, else a pool of workers
        starts.
    deal : Layout, optional
        ``mpi`` only: how the PEs are dealt out to the ranks, as elements of an array are; by default every
        rank has a block of PEs in the order of the grid.
    functional : bool
        ``sim`` only: False simulates time without numbers, needs no inputs and gives no outputs. Loops that
        may end early go through all of their iterations then: numbers would tell where they end.
    threads : int
        ``local``, and ``sim`` for the numbers: threads to use, 0 for one a core. Any number gives the same
        bits and cycles.
    event_limit : int, optional
        ``sim``: computations to keep for timelines, and messages; by default 200,000. All of a kind are kept
        or, where there are more, none; and no messages without the computations. ``mpi``: what each rank
        keeps of what it did, the first so many; by default nothing.
    engine : {"auto", "general", "fast-forward"}
        ``sim`` with ``functional=False`` only. ``"general"`` runs each instruction of each PE;
        ``"fast-forward"`` skips whole periods where all PEs repeat themselves, and so takes the same time for
        a thousand steps or a billion; where some run further and further ahead, through channels without a
        bound, there is nothing to skip. Cycles and statistics are the same bit for bit. ``"auto"`` skips
        where it can; `Result.engine` tells which it was.

    Returns
    -------
    Result

    Raises
    ------
    ShapeError
        If an input does not fit.
    DeadlockError
        If the channels are too shallow for the program; names the cycle of waits.
    ExecutionError
        If an operator fails (e.g. a matrix that is not positive definite, CYC701), a rank dies (CYC732) or a
        ``while`` has not ended after its most steps (CYC719: ``result`` of the error has the outputs); if
        `ranks` is not that of a distributed input (CYC736), not a launcher's, or no number of ranks (CYC733);
        if `deal` is no layout with a grid of as many dimensions as the PEs' and of at most so many ranks, or
        has a source (CYC733); if an option has no meaning on the backend (CYC713, CYC715, CYC733).
    BackendUnavailable
        If the backend is not installed, or there is none of this name.
    """
    require_program(program, "run()")
    check_backend(backend)
    _check_options(backend, functional, ranks, deal, threads, event_limit)
    kept_events = {"sim": _EVENT_LIMIT}.get(backend, 0) if event_limit is None else event_limit
    _check_engine(engine, backend, functional)
    started = time.perf_counter()
    if backend == "numpy":
        outputs = _run_numpy(program, inputs)
        return Result(program, backend, outputs, time.perf_counter() - started)
    if backend == "mpi":
        from cyclotron.mpi.execution import run_on_ranks

        with errors_at_call():
            given = _checked_inputs(program, inputs)
        outputs, accounts = run_on_ranks(program, given, ranks, deal, kept_events)
        seconds = time.perf_counter() - started
        left_out = [max(counts) for counts in zip(*(one["skipped"] for one in accounts), strict=True)]
        profile = profile_of(accounts, program)
        return ended(Result(program, backend, outputs, seconds, profile=profile, skipped=left_out))
    outputs = _empty_outputs(program) if functional else {}
    with errors_at_call():
        arrays = _arrays(program, inputs, outputs) if functional else []
    timing = None
    skipped: list[int] = []
    if backend == "sim":
        with progress_bar(f"simulating {program.kernel_name}") as progress:
            timing = _core.simulate(
                program.core,
                arrays,
                functional=functional,
                event_limit=kept_events,
                engine=engine,
                threads=threads,
                progress=progress,
            )
        skipped = timing["skipped"]
    elif backend == "local":
        with progress_bar(f"running {program.kernel_name}") as progress:
            skipped = _core.run_local(program.core, arrays, threads=threads, progress=progress)
    seconds = time.perf_counter() - started
    return ended(Result(program, backend, outputs, seconds, timing, skipped=skipped))


def check_backend(backend: Any) -> None:
    """Raise `BackendUnavailable` where there is no backend of this name."""
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise BackendUnavailable(
            f"there is no backend {shown(backend)}", code="CYC720", help=f"use one of: {', '.join(BACKENDS)}"
        )


def _check_options(
    backend: Backend, functional: bool, ranks: Any, deal: Any, threads: Any, event_limit: Any
) -> None:
    """Refuse options that are none, and those that the backend would ignore."""
    if not isinstance(functional, bool | np.bool_):
        raise ExecutionError(
            f"functional={shown(functional)}",
            code="CYC713",
            help="use True, or False for time without numbers",
        )
    if not functional and backend != "sim":
        raise ExecutionError(
            f"functional=False on the {backend} backend",
            code="CYC713",
            help='only backend="sim" can leave numbers out',
        )
    if deal is not None and not isinstance(deal, Layout):
        raise ExecutionError(
            f"deal={shown(deal)} is no layout",
            code="CYC733",
            help="give a cy.Layout of the PEs, for example cy.Layout((2, 1), 1)",
        )
    if ranks is not None:
        rank_count(ranks)
    whole_number("threads", threads, code="CYC733", least=0, most=_MOST_THREADS)
    if event_limit is not None:
        whole_number("event_limit", event_limit, code="CYC733", least=0, most=sys.maxsize)
    for name, value, default, backends, help in (
        ("deal", deal, None, ("mpi",), 'only backend="mpi" deals PEs out to ranks'),
        ("ranks", ranks, None, ("mpi",), 'only backend="mpi" has ranks; use threads= on "local" and "sim"'),
        ("threads", threads, 0, ("local", "sim"), 'backend="mpi" has ranks=, one thread each'),
        ("event_limit", event_limit, None, ("sim", "mpi"), 'use backend="sim" or "mpi", which keep events'),
    ):
        if backend not in backends and value != default:
            raise ExecutionError(f"{name}={value} on the {backend} backend", code="CYC733", help=help)


def _check_engine(engine: str, backend: Backend, functional: bool) -> None:
    if not isinstance(engine, str) or engine not in ENGINES:
        raise ExecutionError(
            f"there is no engine {shown(engine)}", code="CYC715", help=f"use one of: {', '.join(ENGINES)}"
        )
    if engine != "auto" and (backend != "sim" or functional):
        where = "with functional=True" if backend == "sim" else f"on the {backend} backend"
        raise ExecutionError(
            f"engine={engine!r} {where}",
            code="CYC715",
            help='an engine is chosen for time alone: backend="sim", functional=False',
        )


def _compile_for_call(kernel: Kernel, values: tuple[Any, ...]) -> Program:
    """Tiles on many PEs, for threads to share; scalars on one, where loops over them run in vectors."""
    if not any(isinstance(value, Blocked) for value in values):
        try:
            return compile_kernel(kernel, values, Schedule(), None)
        except LegalityError:
            pass  # no order of the loops that was tried is one PE's: the default says what is wrong, if it is
    return compile_kernel(kernel, values, None, None)


def call_kernel(kernel: Kernel, values: tuple[Any, ...]) -> Any:
    """Compile for the threads of this process, run, and return arrays as the function does."""
    for name, value in zip(kernel.signature.parameters, values, strict=True):
        if isinstance(value, Spec):
            raise ShapeError(
                f"the numbers of `{name}` are not here: it is a spec or a distributed array",
                code="CYC710",
                help=f'compile, and run on the ranks: cy.run({kernel.name}.compile(...), ..., backend="mpi")',
            )
    outputs = run(_compile_for_call(kernel, values), backend="local").outputs
    if kernel.returns == "single":
        return next(iter(outputs.values()))
    if kernel.returns == "tuple":
        return tuple(outputs.values())
    names = kernel.result_names
    in_place = len(names) == len(outputs) and all(
        found in (name, f"{name}_out") for name, found in zip(names, outputs, strict=True)
    )
    return dict(zip(names, outputs.values(), strict=True)) if in_place else outputs


@dataclass(frozen=True)
class Check:
    """What `check` found.

    Attributes
    ----------
    errors : dict of str to float
        For each backend the largest difference from the reference, relative to the largest entry.
    skipped : dict of str to str
        Backends that could not run, with the reason.
    """

    errors: dict[str, float]
    skipped: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{name:6} agrees with the reference to {error:.1e}" for name, error in self.errors.items()]
        lines += [f"{name:6} not run: {reason}" for name, reason in self.skipped.items()]
        return "\n".join(lines)


def check(
    program: Program,
    *inputs: NDArray[Any] | Blocked,
    backends: Sequence[Backend] = ("sim", "local", "mpi"),
    ranks: int | None = None,
    tolerance: float | None = None,
) -> Check:
    """Run every backend and compare with the kernel's own Python body.

    Parameters
    ----------
    program : Program
    *inputs : ndarray or Blocked, optional
        By default those bound at compile time.
    backends : sequence of str
        Those that are not installed are left out, and the result says why.
    ranks : int, optional
        MPI processes; by default 2, or under a launcher those that it started.
    tolerance : float, optional
        Largest relative difference; by default 100 n eps for float types, n the largest extent, else 0.

    Raises
    ------
    ExecutionError
        If a backend differs from the reference by more, or in its bits from another backend, or the tolerance
        is no number of at least 0 (CYC714); if there is no such number of ranks (CYC733).
    BackendUnavailable
        If there is no such backend (CYC720).
    """
    names: tuple[Any, ...] = tuple(backends) if isinstance(backends, list | tuple) else (backends,)
    for backend in names:
        check_backend(backend)
    if ranks is not None:
        rank_count(ranks)
    if tolerance is not None and not (isinstance(tolerance, Real) and tolerance >= 0):
        raise ExecutionError(
            f"tolerance={shown(tolerance)}",
            code="CYC714",
            help="give a largest relative difference of at least 0",
        )
    if ranks is None and "mpi" in names:
        from cyclotron.mpi import is_collective

        ranks = None if is_collective() else 2
    expected = run(program, *inputs, backend="numpy").outputs
    errors: dict[str, float] = {}
    skipped: dict[str, str] = {}
    first: tuple[str, dict[str, NDArray[Any]]] | None = None
    for backend in names:
        try:
            outputs = run(
                program, *inputs, backend=backend, ranks=ranks if backend == "mpi" else None
            ).outputs
        except BackendUnavailable as error:
            skipped[backend] = error.message
            continue
        errors[backend] = max((_difference(expected[name], outputs[name]) for name in expected), default=0.0)
        limit = _tolerance(expected) if tolerance is None else tolerance
        if not errors[backend] <= limit:
            raise ExecutionError(
                f"{backend} differs from the reference by {errors[backend]:.1e}, more than {limit:.1e}",
                code="CYC714",
                help="compile the kernel again if globals or attributes that it reads have changed since;"
                " else report this with the kernel and the schedule",
            )
        if first is None:
            first = (backend, outputs)
        elif any(outputs[name].tobytes() != first[1][name].tobytes() for name in expected):
            raise ExecutionError(
                f"{backend} and {first[0]} differ in their bits",
                code="CYC714",
                help="report this with the kernel and the schedule",
            )
    return Check(errors, skipped)


def _difference(expected: NDArray[Any], found: NDArray[Any]) -> float:
    if expected.size == 0 or np.array_equal(expected, found, equal_nan=expected.dtype.kind in "fc"):
        return 0.0
    scale = float(np.max(np.abs(expected))) or 1.0
    return float(np.max(np.abs(expected - found))) / scale


def _tolerance(expected: dict[str, NDArray[Any]]) -> float:
    floating = [array for array in expected.values() if array.dtype.kind in "fc"]
    if not floating:
        return 0.0
    extent = max((size for array in floating for size in array.shape), default=1)
    return 100.0 * max(extent, 1) * max(float(np.finfo(array.dtype).eps) for array in floating)


def _tensors(program: Program, role: str) -> list[dict[str, Any]]:
    return [tensor for tensor in program.tensors if tensor["role"] == role]


def _empty_outputs(program: Program) -> dict[str, NDArray[Any]]:
    return {t["name"]: np.zeros(t["shape"], dtype=t["dtype"]) for t in _tensors(program, "output")}


def _bound(program: Program, inputs: tuple[Any, ...]) -> dict[str, Any]:
    """The input arrays, distributed ones among them, by name: given, or those of the compile."""
    wanted = _tensors(program, "input")
    if not inputs:
        arrays = program.inputs()
        missing = [t["name"] for t in wanted if t["name"] not in arrays]
        if missing:
            raise ShapeError(
                f"no array for input `{missing[0]}`",
                code="CYC710",
                help=f"pass {len(wanted)} arrays: {', '.join(t['name'] for t in wanted)}",
            )
        return arrays
    if len(inputs) != len(wanted):
        raise ShapeError(
            f"{len(inputs)} inputs are given and the program has {len(wanted)}: "
            f"{', '.join(t['name'] for t in wanted)}",
            code="CYC710",
            help="pass one array for each, in this order",
        )
    return {
        tensor["name"]: value
        if isinstance(value, Distributed)
        else array_of(value, f"input `{tensor['name']}`", code="CYC710")
        for tensor, value in zip(wanted, inputs, strict=True)
    }


def _checked(tensor: dict[str, Any], array: Any) -> Any:
    name = tensor["name"]
    if tuple(array.shape) != tuple(tensor["shape"]):
        raise ShapeError(
            f"input `{name}` has shape {tuple(array.shape)}, and the program was compiled for "
            f"{tuple(tensor['shape'])}",
            code="CYC710",
            help="compile the kernel for the new shape; equal shapes share one program",
        )
    if array.dtype.name != tensor["dtype"]:
        raise ShapeError(
            f"input `{name}` has dtype {array.dtype.name} and the program was compiled for {tensor['dtype']}",
            code="CYC710",
            help=f"convert it: {name}.astype({tensor['dtype']!r})",
        )
    if isinstance(array, Distributed):
        return array
    native = array.dtype.newbyteorder("=")
    # The core reads any strides, but only aligned numbers in native byte order.
    if array.dtype != native or not array.flags.aligned:
        array = np.array(array, dtype=native)
    return array


def _arrays(
    program: Program, inputs: tuple[Any, ...], outputs: dict[str, NDArray[Any]]
) -> list[NDArray[Any]]:
    bound = {**_checked_inputs(program, inputs), **program.constants, **outputs}
    return [np.asarray(bound[t["name"]]) for t in program.tensors]


def _checked_inputs(program: Program, inputs: tuple[Any, ...]) -> dict[str, Any]:
    bound = _bound(program, inputs)
    return {t["name"]: _checked(t, bound[t["name"]]) for t in _tensors(program, "input")}


def _run_numpy(program: Program, inputs: tuple[Any, ...]) -> dict[str, NDArray[Any]]:
    kernel = program.kernel
    if kernel is None:
        raise BackendUnavailable(
            "a loaded program has no Python body for the numpy backend",
            code="CYC721",
            help='use backend="local" or "sim", or compile the kernel here',
        )
    with errors_at_call():
        bound = _checked_inputs(program, inputs)
    tiles = {t["name"]: t["tile"] for t in program.tensors if t["blocked"]}
    arguments = []
    for name, value in zip(kernel.signature.parameters, program.arguments, strict=True):
        if name in bound:
            array = np.asarray(bound[name])
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
    names = [t["name"] for t in _tensors(program, "output") if not is_ending(t["name"])]
    if isinstance(returned, dict):
        returned = tuple(returned.values())
    values = returned if isinstance(returned, tuple) else (returned,)
    return {name: np.asarray(value) for name, value in zip(names, values, strict=True)}


__all__ = ["BACKENDS", "Backend", "Check", "CyclotronError", "call_kernel", "check", "run"]

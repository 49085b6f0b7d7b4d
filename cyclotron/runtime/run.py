"""Runs of programs: one function for all backends."""

from __future__ import annotations

import math
import sys
import time
import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from cyclotron.compiler.blocking import Tile
from cyclotron.compiler.case import Case, note
from cyclotron.compiler.compile import compile_kernel, compile_on
from cyclotron.compiler.program import Program, require_program
from cyclotron.language import Kernel
from cyclotron.language.arguments import check_apart
from cyclotron.mpi.distributed_array import Distributed
from cyclotron.mpi.layout import Layout
from cyclotron.runtime.backend import Backend, Engine, Options
from cyclotron.runtime.backends import backend_of
from cyclotron.runtime.early_exit import pop_exit_flags
from cyclotron.runtime.numpy_warnings import warn_as_numpy
from cyclotron.runtime.prints import pop_prints
from cyclotron.runtime.result import Result, loop_names
from cyclotron.support.arguments import array_of, invalid_option, rank_count, shown, whole_number
from cyclotron.support.call_site import errors_at_call
from cyclotron.support.errors import ExecutionError, ShapeError

ENGINES: tuple[Engine, ...] = get_args(Engine)

_MOST_THREADS = 1 << 16
# Of options that a backend does not take: where they have a meaning.
_HELP = {
    "deal": 'only backend="mpi" deals PEs out to ranks',
    "ranks": 'only backend="mpi" has ranks; use threads= on "local" and "sim"',
    "threads": 'backend="mpi" has ranks=, one thread each',
    "event_limit": 'use backend="sim" or "mpi", which keep events',
}


def run(
    program: Program | Kernel,
    *inputs: Any,
    backend: str = "local",
    ranks: int | None = None,
    deal: Layout | None = None,
    functional: bool = True,
    threads: int = 0,
    event_limit: int | None = None,
    engine: Engine = "auto",
    steps: Mapping[str, int] | None = None,
    tile: Tile = "auto",
) -> Result:
    """Run a compiled program, or a kernel, once.

    Parameters
    ----------
    program : Program or Kernel
        From `Kernel.compile` or `load`; a kernel is compiled for its arguments, once for equal shapes. Where
        it was compiled without a schedule and a machine, and its elements are scalars, ``local`` and ``mpi``
        run a program that is placed on their threads or ranks instead, `Result.program`: one PE for each, or
        one in all where that is faster, with the bits of the array of PEs that ``sim`` runs; an array of at
        most 64 PEs runs as it is. Reductions of whole arrays promise no order: a kernel's are done there in
        the order of the elements, a program's in the order of its array.
        A kernel on scalars that takes long may run in tiles instead, see `tile`.
    *inputs : ndarray, Blocked or Distributed
        One for each input tensor, in order, with the shape and dtype that the program was compiled for; by
        default those bound at compile time. Where one is distributed and the backend ``mpi``, the outputs
        stay distributed: in the program's tiles, where they are computed. Of a kernel its arguments.
    backend : {"local", "sim", "mpi", "numpy"}
        Threads of this process, the cycle-accurate simulator, MPI ranks, or the kernel's own Python body.
        The compiled backends give the same bits, of one program.
    ranks : int, optional
        ``mpi`` only: processes. Under ``mpirun`` the run is collective over all ranks, else a pool of workers
        starts.
    deal : Layout, optional
        ``mpi`` only: how the PEs are dealt out to the ranks, as elements of an array are; by default every
        rank has a block of PEs in the order of the grid.
    functional : bool
        ``sim`` only: False simulates time without numbers, needs no inputs and gives no outputs. Loops that
        may end early go through all of their iterations then, or through as many as `steps` says: numbers
        would tell where they end.
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
    steps : dict of str to int, optional
        ``sim`` with ``functional=False`` only: by the names of `Result.steps`, after how many iterations
        loops end whose ends are a matter of data; a loop inside another one after so many each time.
    tile : {"auto", None}, int or dict of str to int
        Of a kernel on scalars. "auto": on ``local`` and ``mpi``, one that would take one PE ten million
        cycles or more, and whose tiles are those of tile operators (`Kernel.block`), runs on tiles that fit
        the threads or ranks. Its sums are added up tile by tile then: floating-point numbers differ in their
        rounding from those of the kernel on scalars, and with the number of workers; integers do not. Where
        an operator fails (a pivot of zero, a matrix that is not positive definite), scalars run after all and
        give the kernel's infinities and NaNs. `Result.program` tells by ``explain()``. None: on scalars, with
        the bits of the kernel. Else as `Kernel.compile` takes it.

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
        has a source (CYC733); if `tile` is given for a program (CYC733); if an option has no meaning on the
        backend (CYC713, CYC715, CYC733).
    BackendUnavailable
        If the backend is not installed, or there is none of this name.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> cy.run(program, np.eye(2), np.ones((2, 2))).output.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    >>> cy.run(program, backend="sim", functional=False).cycles > 0
    True
    >>> cy.run(matmul, np.eye(3), np.ones((3, 2))).output.shape
    (3, 2)
    """
    chosen = backend_of(backend)
    options = Options(functional, threads, ranks, deal, event_limit, engine)
    if isinstance(program, Kernel):
        check_options(chosen, options)
        compiled, given = _compiled(program, inputs, chosen, options, tile)
        if compiled.blocking is None or not isinstance(tile, str):
            return _run(compiled, given, chosen, options, steps)
        try:
            return _run(compiled, given, chosen, _dealt(compiled, inputs, chosen, options), steps)
        except ExecutionError as error:
            if not error.operator_failed:
                raise
        # A tile operator needs numbers that scalars do without: theirs may be infinite, or no numbers.
        return _run(*_compiled(program, inputs, chosen, options, None), chosen, options, steps)
    require_program(program, "run()")
    if not (tile is None or (isinstance(tile, str) and tile == "auto")):
        raise invalid_option(
            f"tile={shown(tile)} for a program, which is compiled already",
            "give the kernel itself, or compile it in tiles: kernel.compile(..., tile=...)",
        )
    return _run(program, inputs, chosen, options, steps)


def _run(
    program: Program,
    inputs: tuple[Any, ...],
    chosen: Backend,
    options: Options,
    steps: Mapping[str, int] | None,
) -> Result:
    check_options(chosen, options)
    program = chosen.placed(program, options, inputs)
    if program.kernel is not None:
        given = {name: value for name, value in vars(options).items() if value is not getattr(Options, name)}
        kernel = weakref.ref(program.kernel)
        tile = None if program.blocking is None else program.blocking.tiles
        note(Case(kernel, program.arguments, program.schedule, program.machine, chosen.name, given, tile))
    if steps is not None:
        options = replace(options, steps=_checked_steps(program, steps, chosen, options))
    started = time.perf_counter()
    if chosen.check is not None:
        chosen.check(program)
    with errors_at_call():
        arrays = _checked_inputs(program, inputs, chosen) if options.functional else {}
    execution = chosen.run(program, arrays, options)
    seconds = time.perf_counter() - started
    if execution.raised:
        warn_as_numpy(program, arrays, execution.raised, seconds)
    return pop_exit_flags(pop_prints(Result(program, chosen.name, execution, seconds)))


def _compiled(
    kernel: Kernel, arguments: tuple[Any, ...], backend: Backend, options: Options, tile: Tile
) -> tuple[Program, tuple[Any, ...]]:
    """A kernel's program for a backend, and the distributed ones of its inputs with all others; or no inputs.

    Without inputs a run takes those that are bound.
    """
    values = kernel.bind(*arguments)
    workers = None if backend.workers is None else backend.workers(options, arguments)
    automatic = isinstance(tile, str) and tile == "auto"
    if workers is None or not (tile is None or automatic):
        program = compile_kernel(kernel, values, None, None, None if automatic else tile)
    else:
        program = compile_on(kernel, values, workers, automatic)
    if not any(isinstance(argument, Distributed) for argument in arguments):
        return program, ()
    named = dict(zip(kernel.signature.parameters, arguments, strict=False))
    inputs = {**program.inputs(), **{n: v for n, v in named.items() if isinstance(v, Distributed)}}
    return program, tuple(inputs[t["name"]] for t in program.tensors if t["role"] == "input")


def _dealt(program: Program, inputs: tuple[Any, ...], backend: Backend, options: Options) -> Options:
    """Options that deal tiles out to ranks in turn, so that each has some of the long and the short rows."""
    workers = None if backend.workers is None else backend.workers(options, inputs)
    if "deal" not in backend.options or workers is None:
        return options
    columns = next(n for n in range(math.isqrt(workers.count), 0, -1) if workers.count % n == 0)
    sides = [workers.count // columns, columns] if len(program.grid) > 1 else [workers.count]
    sides += [1] * (len(program.grid) - len(sides))
    if any(side > extent for side, extent in zip(sides, program.grid, strict=True)):
        return options
    return replace(options, deal=Layout(tuple(sides), 1))


def check_options(backend: Backend, options: Options) -> None:
    """Refuse options that are none, and those that the backend would ignore."""
    functional, deal = options.functional, options.deal
    if not isinstance(functional, bool | np.bool_):
        raise ExecutionError(
            f"functional={shown(functional)}",
            code="CYC713",
            help="use True, or False for time without numbers",
        )
    if not functional and "functional" not in backend.options:
        raise ExecutionError(
            f"functional=False on the {backend.name} backend",
            code="CYC713",
            help='only backend="sim" can leave numbers out',
        )
    if deal is not None and not isinstance(deal, Layout):
        raise invalid_option(
            f"deal={shown(deal)} is no layout",
            "give a cy.Layout of the PEs, for example cy.Layout((2, 1), 1)",
        )
    if options.ranks is not None:
        rank_count(options.ranks)
    whole_number("threads", options.threads, code="CYC733", least=0, most=_MOST_THREADS)
    if options.event_limit is not None:
        whole_number("event_limit", options.event_limit, code="CYC733", least=0, most=sys.maxsize)
    for name, help in _HELP.items():
        value = getattr(options, name)
        if name not in backend.options and value != getattr(Options, name):
            raise invalid_option(f"{name}={value} on the {backend.name} backend", help)
    _check_engine(backend, options)


def _checked_steps(
    program: Program, steps: Mapping[str, int], backend: Backend, options: Options
) -> tuple[int, ...]:
    """Return the iterations of each loop that may end early, in the program's order."""
    if options.functional or "functional" not in backend.options:
        raise invalid_option(
            f"steps={shown(steps)} where numbers say when loops end",
            'they are given for time alone: backend="sim", functional=False',
        )
    endings = program.core.endings
    names = loop_names(endings)
    if not isinstance(steps, Mapping) or not set(steps) <= set(names):
        raise invalid_option(
            f"steps={shown(steps)} does not tell the steps of loops that may end early",
            f"give a dict by their names, which are {', '.join(names)}" if names else "the program has none",
        )
    for name, ending in zip(names, endings, strict=True):
        if name in steps:
            whole_number(f"steps[{name!r}]", steps[name], code="CYC733", least=0, most=ending["steps"])
    return tuple(int(steps.get(name, -1)) for name in names)


def _check_engine(backend: Backend, options: Options) -> None:
    engine = options.engine
    if not isinstance(engine, str) or engine not in ENGINES:
        raise ExecutionError(
            f"there is no engine {shown(engine)}", code="CYC715", help=f"use one of: {', '.join(ENGINES)}"
        )
    takes = "engine" in backend.options
    if engine != "auto" and (not takes or options.functional):
        where = "with functional=True" if takes else f"on the {backend.name} backend"
        raise ExecutionError(
            f"engine={engine!r} {where}",
            code="CYC715",
            help='an engine is chosen for time alone: backend="sim", functional=False',
        )


def _bound(program: Program, inputs: tuple[Any, ...]) -> dict[str, Any]:
    """The input arrays, distributed ones among them, by name: given, or those of the compile."""
    wanted = [tensor for tensor in program.tensors if tensor["role"] == "input"]
    if not inputs:
        arrays = program.inputs()
        missing = [t["name"] for t in wanted if t["name"] not in arrays]
        if missing:
            raise unfit_input(
                f"no array for input `{missing[0]}`",
                f"pass {len(wanted)} arrays: {', '.join(t['name'] for t in wanted)}",
            )
        return arrays
    if len(inputs) != len(wanted):
        raise unfit_input(
            f"{len(inputs)} inputs are given and the program has {len(wanted)}: "
            f"{', '.join(t['name'] for t in wanted)}",
            "pass one array for each, in this order",
        )
    return {tensor["name"]: value for tensor, value in zip(wanted, inputs, strict=True)}


def unfit_input(message: str, help: str) -> ShapeError:
    """Return the error of an input that the program does not take."""
    return ShapeError(message, code="CYC710", help=help)


def checked_input(tensor: dict[str, Any], array: Any) -> Any:
    """Return an input as an array of its tensor's shape and dtype, aligned, or `Distributed`.

    Raises
    ------
    ShapeError
        If it is none (CYC710).
    """
    name = tensor["name"]
    if not isinstance(array, Distributed):
        array = array_of(array, f"input `{name}`", code="CYC710")
    if tuple(array.shape) != tuple(tensor["shape"]):
        raise unfit_input(
            f"input `{name}` has shape {tuple(array.shape)}, and the program was compiled for "
            f"{tuple(tensor['shape'])}",
            "compile the kernel for the new shape; equal shapes share one program",
        )
    if array.dtype.name != tensor["dtype"]:
        raise unfit_input(
            f"input `{name}` has dtype {array.dtype.name} and the program was compiled for {tensor['dtype']}",
            f"convert it: {name}.astype({tensor['dtype']!r})",
        )
    if isinstance(array, Distributed):
        return array
    native = array.dtype.newbyteorder("=")
    # The core reads any strides, but only aligned numbers in native byte order.
    if array.dtype != native or not array.flags.aligned:
        array = np.array(array, dtype=native)
    return array


def _checked_inputs(program: Program, inputs: tuple[Any, ...], backend: Backend) -> dict[str, Any]:
    """An array for each input tensor, by name; distributed ones only where the backend takes them."""
    bound = _bound(program, inputs)
    checked = {t["name"]: checked_input(t, bound[t["name"]]) for t in program.tensors if t["role"] == "input"}
    check_apart(program.kernel_name, program.changed, checked)
    return checked if backend.distributed else {name: np.asarray(array) for name, array in checked.items()}

"""`cyclotron.map`: the best mapping of a kernel on a machine, with a proven bound on all others."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cyclotron.compiler.cache import cache_key, insert
from cyclotron.compiler.compile import compile_recurrences
from cyclotron.compiler.defaults import unlimited
from cyclotron.compiler.program import require_machine
from cyclotron.compiler.recurrences import recurrences_of
from cyclotron.kernel import Kernel, require_kernel
from cyclotron.machine.machine import Machine
from cyclotron.mapper.evaluate import OBJECTIVES, Measured
from cyclotron.mapper.mappings import Candidate, Mappings, Report, Source, bound_arguments
from cyclotron.mapper.refuse import no_mapping, reasons
from cyclotron.mapper.search import Limits, Outcome, Problem, search
from cyclotron.mapper.space import Partial, space_of
from cyclotron.schedule.parts import unfit
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.arguments import items_of, require, shown
from cyclotron.support.call_site import errors_at_call
from cyclotron.support.errors import ScheduleError
from cyclotron.support.progress import progress_bar

Tile = tuple[int, ...]


def map(
    kernel: Kernel[..., Any],
    *args: Any,
    machine: Machine | None = None,
    objective: str | Sequence[str] = "cycles",
    fix: Schedule | None = None,
    tiles: Iterable[Sequence[int]] | None = None,
    top: int = 5,
    time_limit: float | None = 10.0,
    candidates: int | None = None,
    gap: float = 0.02,
    **kwargs: Any,
) -> Mappings:
    """Search for the best mapping of a kernel on a machine, and prove how far from the best it may be.

    What is compiled for without a schedule is tried first. Placements in all orders, folds of every size,
    orders of reductions that promise none, movements of each tensor, rotations and orders of time are
    branched on; a lower bound from exact counts of operations, from the longest chain of them, and from the
    words that memories load and store, prunes what cannot be better than the best so far; what it leaves is
    compiled and simulated, time alone. When
    the search ends, for whatever reason, the least bound of what is left is proven for all of it. Ctrl-C
    ends it, too. The same call with the same number of `candidates`, and no `time_limit`, finds the same;
    what each mapping took is kept on disk (`cyclotron.cache`), so that it does so in less time.

    Parameters
    ----------
    kernel : Kernel
        What to map.
    *args : ndarray, Blocked or Spec; or one function
        One for each parameter; only shapes, dtypes and tiles matter. With `tiles`, a function from the sizes
        of a tile to these.
    machine : Machine, optional
        By default one that is large enough.
    objective : {"cycles", "memory", "pes", "energy"} or sequence of them
        What is least: simulated clock cycles, bytes of the fullest PE, PEs, picojoules on a machine that has
        energies (`Machine.energy`). Of several the first decides, and the next among equals. Only cycles have
        a bound above 0 before all mappings are tried.
    fix : Schedule, optional
        What all mappings have in common: its space, time, folds and movements are not searched.
    tiles : iterable of sequences of int, optional
        Sizes of tiles to choose from.
    top : int
        Mappings to return at most.
    time_limit : float, optional
        Seconds; None: no limit. Then what is left is bounded, for a tenth of these at most.
    candidates : int, optional
        Mappings to compile at most; by default any number.
    gap : float
        The search ends when no mapping can be better by more than this share of the best; not with several
        objectives, where mappings that are equal in the first are worth a look.
    **kwargs : ndarray, Blocked or Spec
        As `*args`, by name.

    Returns
    -------
    Mappings
        The best first, each with its schedule and measures; ``best`` is a program.

    Raises
    ------
    TraceError
        If it is no kernel, or its arguments cannot be traced (CYC116).
    ScheduleError
        If an option is none (CYC301); if no mapping is legal, with the reasons by count, and the machine
        that would have one (CYC340).

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> found = cy.map(matmul, np.ones((4, 4)), np.ones((4, 4)), machine=cy.Machine(grid=(2, 2)))
    >>> found.best.cycles, found.bound, found.gap <= 0.02
    (16, 16, True)
    """
    require_kernel(kernel, "map()")
    require_machine(unlimited(None) if machine is None else machine)
    objectives = _objectives(objective, machine)
    limits = _limits(top, time_limit, candidates, gap)
    fixed = Schedule() if fix is None else fix
    require(fixed, Schedule, "map(fix=)", error=ScheduleError, code="CYC301", help="give a cy.Schedule")
    with errors_at_call():
        arguments = _arguments(kernel, args, kwargs, tiles)
        problems = [_problem(kernel, values, tile, machine, fixed) for tile, values in arguments.items()]
        with progress_bar(f"mapping {kernel.name}") as progress:
            outcome = search(problems, objectives, limits, progress)
        if not outcome.measured:
            systems = {problem.tile: problem.system for problem in problems}
            raise no_mapping(systems, kernel.name, problems[0].machine, fixed, outcome.refused)
    source = Source(kernel, arguments, machine)
    return _mappings(outcome, problems, source, objectives, top)


def best_schedule(
    kernel: Kernel[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], machine: Machine | None
) -> Schedule:
    """Return the schedule of the best mapping, searched once for the same shapes and machine.

    Parameters
    ----------
    kernel : Kernel
    args : tuple
        As of `map`.
    kwargs : dict
    machine : Machine or None
    """
    traced = cache_key(kernel, kernel.bind(*args, **kwargs))
    schedules: dict[Any, Schedule] = kernel.cache.setdefault("mapper", {}) if traced is not None else {}
    key = (machine, traced)
    if key not in schedules:
        insert(schedules, key, map(kernel, *args, machine=machine, top=1, **kwargs)[0].schedule)
    return schedules[key]


def _arguments(
    kernel: Kernel[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], tiles: Any
) -> dict[Tile, tuple[Any, ...]]:
    bound = bound_arguments(kernel, args, kwargs)
    if tiles is None:
        return {(): bound(())}
    if len(args) != 1 or not callable(args[0]):
        raise unfit(
            "`tiles` are given, and the arguments are no function of them",
            "pass a function that blocks the arguments: "
            "cy.map(f, lambda m, n: cy.blocked(A, (m, n)), tiles=[(16, 16), (32, 32)])",
        )
    sizes = [tuple(int(size) for size in (tile if np.iterable(tile) else (tile,))) for tile in tiles]
    if not sizes or not all(sizes):
        raise unfit("`tiles` has no sizes", "give some, for example tiles=[(16, 16), (32, 32)]")
    return {tile: bound(tile) for tile in sizes}


def _problem(
    kernel: Kernel[..., Any], values: tuple[Any, ...], tile: Tile, machine: Machine | None, fix: Schedule
) -> Problem:
    target = unlimited(fix) if machine is None else machine
    recurrences = recurrences_of(kernel, values)

    def default() -> Schedule:
        program = compile_recurrences(kernel, recurrences, None, target, quiet=True)
        assert program.schedule is not None
        if target.io == "everywhere":
            return program.schedule
        return dataclasses.replace(program.schedule, time_indices=())  # those of copies are not the kernel's

    return Problem(recurrences.core, target, fix, tile, default=default)


def _mappings(
    outcome: Outcome, problems: Sequence[Problem], source: Source, objectives: tuple[str, ...], top: int
) -> Mappings:
    order = sorted(outcome.measured, key=lambda one: _key(one, objectives))
    unique = list({(one.tile, one.complete): one for one in reversed(order)}.values())[::-1]
    distinct = {tuple(one.value(name) for name in OBJECTIVES): one for one in reversed(unique)}.values()
    front = [one for one in list(distinct)[::-1] if not any(_dominates(other, one) for other in unique)]
    refused = reasons(outcome.refused)
    pruned = dict(outcome.pruned)
    transposed = sum(one.space.transposed for one in problems)
    if transposed:
        pruned["transposed"] = transposed
    best = order[0]
    problem = next(one for one in problems if one.tile == best.tile)
    report = Report(outcome.ended, outcome.tried, refused, pruned, outcome.seconds, _limits_of(problem, best))
    return Mappings(
        [Candidate(one, source) for one in unique[:top]],
        objectives=objectives,
        bound=outcome.bound,
        report=report,
        tried=[(one.memory, one.cycles) for one in outcome.measured],
        front=[Candidate(one, source) for one in front],
    )


def _key(one: Measured, objectives: tuple[str, ...]) -> tuple[float, ...]:
    """The objectives that are asked for, then the others, so that of equals the smaller one leads."""
    return tuple(one.value(name) for name in dict.fromkeys((*objectives, *OBJECTIVES)))


def _dominates(one: Measured, other: Measured) -> bool:
    ones, others = ([each.value(name) for name in OBJECTIVES] for each in (one, other))
    return ones != others and all(a <= b for a, b in zip(ones, others, strict=True))


def _limits_of(problem: Problem, best: Measured) -> dict[str, int]:
    schedule = best.schedule
    orders = ("reassociations", "inward_indices", "descending_indices", "reductions")
    fix = dataclasses.replace(problem.fix, **{name: getattr(schedule, name) for name in orders})
    space = space_of(problem.system, problem.machine, fix)
    folds = dict(schedule.folds)
    shares = tuple(folds.get(form) for form in schedule.space_indices)
    partial = Partial(schedule.space_indices, shares, rotation=_rotation(best, problem))
    bounds = space.bounds
    inside = ", ".join(best.complete.space_indices) or "nothing"
    return {
        "the longest chain of operators that wait": (
            0 if schedule.rotations or schedule.reductions else bounds.chain
        ),
        "operators in their PEs, after what they wait for: fill, work, drain, ways and loads of values": (
            space.proven(partial)
        ),
        f"operators of the busiest PE, with {inside} in space": bounds.cycles(
            schedule.space_indices, shares, space.most_along(schedule.space_indices)
        ),
        "all operators, shared out evenly": -(-bounds.total // max(best.pes, 1)),
    }


def _rotation(best: Measured, problem: Problem) -> tuple[str, tuple[str, ...]]:
    """The rotation that was chosen, beyond those that are fixed."""
    chosen = [rotation for rotation in best.schedule.rotations if rotation not in problem.fix.rotations]
    return chosen[0] if chosen else ("", ())


def _objectives(objective: Any, machine: Machine | None) -> tuple[str, ...]:
    names = (objective,) if isinstance(objective, str) else items_of(objective)
    if not names or not all(isinstance(name, str) and name in OBJECTIVES for name in names):
        raise unfit(f"the objective is {shown(objective)}", f"use some of: {', '.join(OBJECTIVES)}")
    if "energy" in names and (machine is None or machine.energy is None):
        raise unfit(
            "the objective is energy, and the machine has no energies",
            "give them, for example cy.Machine(energy=cy.energies.horowitz_45nm(), ...)",
        )
    return names


def _limits(top: Any, time_limit: Any, candidates: Any, gap: Any) -> Limits:
    for name, value, least in (("top", top, 1), ("candidates", candidates, 1)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise unfit(f"`{name}` is {value!r}", "give a number of at least 1")
    for name, value in (("time_limit", 0 if time_limit is None else time_limit), ("gap", gap)):
        if not (isinstance(value, int | float) and value >= 0):
            raise unfit(f"`{name}` is {value!r}", "give a number of at least 0")
    return Limits(time_limit, candidates, float(gap))

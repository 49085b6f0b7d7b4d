"""Runs random problems on all cores, judges them, and makes those that fail small."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import gc
import multiprocessing
import os
import queue
import random
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import random_kernels
import random_schedules

import cyclotron as cy
from cyclotron.machine.parts import UNBOUNDED

# CYCLOTRON_SEED=0 draws a fresh one.
SEED = int(os.environ.get("CYCLOTRON_SEED", "20261121")) or random.SystemRandom().randrange(1, 1 << 31)
DEPTHS = (1, 2, 3, UNBOUNDED)
REFUSALS = (cy.LegalityError, cy.ScheduleError, cy.CapacityError)
SLOW_SECONDS = 2.0  # of processor time, for one compile
SHRINK_SECONDS = 40.0
HANG_SECONDS = 60.0
MOST_FAILURES = 8  # kinds, of one process


class Failure(Exception):  # noqa: N818 (found, not raised, by the caller's view)
    """A result that must not be; `kind` is what stays the same while a problem shrinks."""

    def __init__(self, kind: str, detail: str = "") -> None:
        super().__init__(kind, detail)
        self.kind, self.detail = kind, detail


@dataclass(frozen=True)
class Problem:
    """A kernel, its sizes and data, and what it is compiled for."""

    kernel: random_kernels.Kernel
    sizes: tuple[int, ...]
    schedule: cy.Schedule | None
    machine: cy.Machine | None
    data: int

    def __str__(self) -> str:
        sizes = ", ".join(f"{n} = {v}" for n, v in zip(random_kernels.SIZES, self.sizes, strict=True))
        shapes = "; ".join(f"{name}: {', '.join(shape)}" for name, shape in self.kernel.inputs)
        return (
            f"{self.kernel.source}\n# {sizes}; inputs {shapes}\n"
            f"# data {self.kernel.dtype} of seed {self.data}\n"
            f"# schedule {self.schedule!r}\n# machine {self.machine!r}"
        )


def problems(seed: int, case: int) -> Iterator[Problem]:
    """The problems of one case: a kernel with a few sizes and schedules."""
    rng = random.Random(f"{seed}/{case}")
    kernel = random_kernels.draw(rng)
    most = 4 if "for k in range(p)" in kernel.source and "Z" in kernel.source else 6
    for _ in range(3):
        schedule = random_schedules.draw(rng, kernel)
        sizes = tuple(rng.choice([0, 1, 2, 3, 3, 4, 4, 5, most]) for _ in random_kernels.SIZES)
        if schedule is not None and schedule.rotations and rng.random() < 0.8:
            sizes = (sizes[0],) * 3
        yield Problem(
            kernel, sizes, schedule, random_schedules.machine(rng, schedule), rng.randrange(1 << 30)
        )


class Judge:
    """Compiles and runs problems and counts what came of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: collections.Counter[str] = collections.Counter()
        self.loaded: tuple[str, Any] = ("", None)

    def kernel(self, source: str) -> Any:
        """The kernel, from a file of its own, so that its source is found."""
        if self.loaded[0] != source:
            path = self.folder / f"kernel_{zlib.crc32(source.encode()):08x}.py"
            path.write_text(source)
            names: dict[str, Any] = {}
            exec(compile(source, str(path), "exec"), names)
            self.loaded = (source, names["kernel"])
        return self.loaded[1]

    def judge(self, problem: Problem) -> int:
        """The number of programs that ran right; raises `Failure`."""
        kernel = self.kernel(problem.kernel.source)
        arguments = problem.kernel.arguments(problem.sizes, np.random.default_rng(problem.data))
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                expected = kernel.reference(*arguments)
            except RuntimeWarning:  # an integer overflows
                self.counts["overflows"] += 1
                return 0
        expected = expected if isinstance(expected, tuple) else (expected,)
        if any(np.abs(array).max(initial=0) > 1 << 45 for array in expected):
            self.counts["overflows"] += 1
            return 0
        program = self.compiled(problem, kernel, arguments)
        if program is None:
            return 0
        for depth in DEPTHS:
            self.run(problem, at_depth(program, depth), depth, expected)
        if problem.data % 40 == 0:
            self.recompile(problem, kernel, arguments, program, expected)
        return len(DEPTHS)

    def compiled(self, problem: Problem, kernel: Any, arguments: list[Any]) -> cy.Program | None:
        started = time.process_time()
        try:
            program = kernel.compile(*arguments, schedule=problem.schedule, machine=problem.machine)
        except cy.CyclotronError as error:
            self.check_refusal(error)
            whose = "default schedule " if problem.schedule is None else ""
            self.counts[f"{whose}refused {type(error).__name__} {error.code}"] += 1
            return None
        except Exception as error:
            raise Failure(f"{type(error).__name__} on compile: {error}") from error
        finally:
            seconds = time.process_time() - started
            self.counts["compiles"] += 1
        if seconds > SLOW_SECONDS:
            self.counts["slow compiles"] += 1  # told, not judged: machines differ
        return program

    def check_refusal(self, error: cy.CyclotronError) -> None:
        # What the language refuses is not among these kernels: they are right by construction. CYC310 is
        # here since a loop that is empty at some size loses its index.
        if not isinstance(error, REFUSALS) or error.code < "CYC210" or error.code >= "CYC600":
            which = f": {error.message[:60]}" if isinstance(error, cy.InternalError) else ""
            raise Failure(f"{type(error).__name__} {error.code}{which}", str(error))
        if not error.message or not error.help:
            raise Failure(f"no help with {error.code}", str(error))
        if len(str(error).splitlines()) > 15:
            raise Failure(f"long text of {error.code}", str(error))

    def run(self, problem: Problem, program: cy.Program, depth: int, expected: tuple[Any, ...]) -> None:
        """All verdicts on one depth agree, and so do all results."""
        where = f"at depth {depth}"
        depths = program.least_depths()
        passes = depths.passes_as_given
        if not passes and depth == UNBOUNDED:
            raise Failure("deadlock at unbounded depth")
        if not passes and depth >= max((channel.least for channel in depths.channels), default=0):
            raise Failure("deadlock at the least depths or deeper", where)
        try:
            proof = cy.prove(program)
        except cy.DeadlockError:
            if passes:
                raise Failure("deadlock proven where the least depths pass", where) from None
        except cy.CyclotronError as error:
            raise Failure(f"disproven: {error.code}", str(error)) from error
        else:
            rotated = problem.schedule is not None and problem.schedule.rotations
            if not passes or not (proof.ok or rotated):
                raise Failure(
                    "proof passes where the least depths do not" if proof.ok else "not proven", where
                )
        for backend in ("sim", "local"):
            try:
                outputs = cy.run(program, backend=backend).outputs
            except cy.DeadlockError as error:
                if passes:
                    raise Failure(f"deadlock on {backend}", f"{where}\n{error}") from error
                continue
            except Exception as error:
                raise Failure(f"{type(error).__name__} on {backend}", f"{where}\n{error}") from error
            if not passes:
                raise Failure(f"{backend} passes where the least depths do not", where)
            for (name, found), right in zip(outputs.items(), expected, strict=True):
                if found.dtype != right.dtype or not np.array_equal(found, right):
                    raise Failure(f"wrong result of {backend}", f"{where}: {name} is\n{found}\nnot\n{right}")
        self.counts["runs" if passes else "deadlocks, as proven"] += 1

    def recompile(
        self,
        problem: Problem,
        kernel: Any,
        arguments: list[Any],
        program: cy.Program,
        expected: tuple[Any, ...],
    ) -> None:
        """Programs compiled for shallow links run on them; deep ones change nothing; stages print."""

        def at(depth: int) -> cy.Program:
            machine = machine_at_depth(program.machine, depth)
            return kernel.compile(*arguments, schedule=problem.schedule, machine=machine)

        for depth in (1, 2):
            self.run(problem, at(depth), depth, expected)
        deep, deeper = (at(depth) for depth in (1 << 10, 1 << 11))
        if deeper.core.to_bytes() != at_depth(deep, 1 << 11).core.to_bytes():
            raise Failure("the depth changes the program")
        if type(program.dataflow).parse(str(program.dataflow)) != program.dataflow:
            raise Failure("the dataflow prints as another")
        if eval(repr(problem.schedule)) != problem.schedule:
            raise Failure("the schedule prints as another")
        self.counts["compiled again, printed and parsed"] += 1


def at_depth(program: cy.Program, depth: int) -> cy.Program:
    """The same program on a machine whose links and broadcasts have another depth."""
    return program.with_machine(machine_at_depth(program.machine, depth))


def machine_at_depth(machine: Any, depth: int) -> cy.Machine:
    return dataclasses.replace(
        machine,
        link=dataclasses.replace(machine.link, depth=depth),
        broadcast=dataclasses.replace(machine.broadcast, depth=depth),
    )


def shrunk(judge: Judge, problem: Problem, kind: str) -> tuple[Problem, str]:
    """A problem with as few parts as still fails in the same way, and what is said of it."""
    ends = time.monotonic() + SHRINK_SECONDS
    detail = ""
    changed = True
    while changed:
        changed = False
        for candidate in smaller(problem):
            if time.monotonic() > ends:
                return problem, detail
            try:
                judge.judge(candidate)
            except Failure as failure:
                if failure.kind == kind:
                    problem, detail, changed = candidate, failure.detail, True
                    break
            except Exception:  # a part that others need: no longer a kernel
                continue
    return problem, detail


def smaller(problem: Problem) -> Iterator[Problem]:
    if problem.machine is not None:
        yield dataclasses.replace(problem, machine=None)
    for schedule in random_schedules.smaller(problem.schedule):
        yield dataclasses.replace(problem, schedule=schedule)
    for kernel in random_kernels.smaller(problem.kernel):
        yield dataclasses.replace(problem, kernel=kernel)
    for n, size in enumerate(problem.sizes):
        if size > 0:
            yield dataclasses.replace(problem, sizes=(*problem.sizes[:n], size - 1, *problem.sizes[n + 1 :]))


@dataclass
class Outcome:
    """Findings of a search."""

    counts: collections.Counter[str]
    failures: list[str]

    @property
    def runs(self) -> int:
        return self.counts["runs"] + self.counts["deadlocks, as proven"]

    def __str__(self) -> str:
        rows = sorted(self.counts.items(), key=lambda item: -item[1])
        return "\n".join(f"{count:8}  {what}" for what, count in rows)


def search(seed: int, wanted: int, workers: int) -> Outcome:
    """Judge problems until so many programs ran, on so many processes."""
    context = multiprocessing.get_context("spawn")
    done = context.Value("q", 0)
    results: Any = context.Queue()
    lives = [(context.Value("d", time.monotonic() + 60), context.Value("q", -1)) for _ in range(workers)]
    processes = [
        context.Process(target=_work, args=(seed, n, workers, wanted, done, results, *lives[n]), daemon=True)
        for n in range(workers)
    ]
    for process in processes:
        process.start()
    total = Outcome(collections.Counter(), [])
    waiting = set(range(workers))
    while waiting:
        with contextlib.suppress(queue.Empty):
            worker, counts, failures = results.get(timeout=1.0)
            waiting.discard(worker)
            total.counts.update(counts)
            total.failures += failures
        for worker in list(waiting):
            alive, case = lives[worker]
            hangs = time.monotonic() - alive.value > HANG_SECONDS
            if hangs or (processes[worker].exitcode or 0) != 0:
                processes[worker].kill()
                what = "hangs" if hangs else f"ends with {processes[worker].exitcode}"
                texts = "\n\n".join(map(str, problems(seed, case.value)))
                total.failures.append(f"case {case.value} {what}; its problems are\n{texts}")
                waiting.discard(worker)
    for process in processes:
        process.join()
    return total


def _work(
    seed: int, worker: int, workers: int, wanted: int, done: Any, results: Any, alive: Any, case: Any
) -> None:
    failures: dict[str, str] = {}
    gc.freeze()  # the modules stay: the collector need not look at them again
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(Path(folder))
        number = worker
        while done.value < wanted and len(failures) < MOST_FAILURES:
            case.value = number
            for problem in problems(seed, number):
                alive.value = time.monotonic()
                try:
                    ran = judge.judge(problem)
                except Failure as failure:
                    if failure.kind not in failures:
                        failures[failure.kind] = _report(judge, problem, failure, seed, number, alive)
                    judge.counts[f"FAILED: {failure.kind}"] += 1
                    continue
                with done.get_lock():
                    done.value += ran
            number += workers
        judge.counts["processor seconds"] = int(time.process_time())
        results.put((worker, judge.counts, list(failures.values())))


def _report(judge: Judge, problem: Problem, failure: Failure, seed: int, number: int, alive: Any) -> str:
    apart = Judge(judge.folder)
    small, detail = shrunk(apart, problem, failure.kind)
    alive.value = time.monotonic()
    return (
        f"{failure.kind} (CYCLOTRON_SEED={seed}, case {number})\n{detail or failure.detail}\n"
        f"the smallest such problem found:\n{small}"
    )

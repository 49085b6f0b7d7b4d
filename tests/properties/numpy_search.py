"""Random programs on every backend beside NumPy, each within its time; failures are made small.

    python tests/properties/numpy_search.py --programs 50000 --seed 7 [--jobs 2] [--show 1]

prints the outcomes, the refusals by kind, how long compiling took, and for each kind of failure scripts
that show it. A program is ok, refused with a reason (a `CyclotronError`), or fails: a wrong value, dtype or
shape, another exception, a hang, a crash, or a result where NumPy has none.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import dataclasses
import itertools
import json
import linecache
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy_programs
import numpy_shim
import random_machines
import random_schedules
from numpy_shim import HEAD, Tiles, Undefined, copied
from numpy_values import DTYPES, FEATURES, Program

import cyclotron as cy

HANG_SECONDS = 20  # of processor time, for one program on all backends
SLOW_SECONDS = 2.0  # of processor time, for one compilation: told
SLOWEST_SECONDS = 10.0  # that fails
SHRINK_SECONDS = 6.0
COMMAND = [sys.executable, __file__]
SCHEDULED = 0.3  # the share of programs that run under a random schedule too


@dataclasses.dataclass(frozen=True)
class Finding:
    """The outcome of a program, its kind, and what is to be said."""

    outcome: str
    kind: str = ""
    detail: str = ""

    @property
    def fails(self) -> bool:
        return self.outcome not in (
            "ok",
            "refused",
            "refused, as by NumPy",
            "refused, as it says",
            "undefined",
        )


class Judge:
    """Compares programs with NumPy."""

    def __init__(self) -> None:
        self.count = itertools.count()
        self.compile_seconds: list[float] = []
        self.refused_schedules = self.schedules = 0

    def judge(self, program: Program, seed: int) -> Finding:
        kernel = self.kernel(program.text)
        finding = self.with_arguments(kernel, program, program.values(), seed, scheduled=True)
        if finding.outcome in ("ok", "refused") and program.others:
            # The second arguments differ in their values alone, at times in the type of a number.
            again = self.with_arguments(kernel, program, program.values(second=True), seed, scheduled=False)
            if again.fails:
                return dataclasses.replace(again, detail=f"with the second arguments\n{again.detail}")
        return finding

    def kernel(self, text: str) -> Any:
        name = f"<program {next(self.count)}>"
        source = HEAD + text
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        names: dict[str, Any] = {}
        exec(compile(source, name, "exec"), names)
        return names["kernel"]

    def with_arguments(
        self, kernel: Any, program: Program, arguments: list[Any], seed: int, *, scheduled: bool
    ) -> Finding:
        if any(isinstance(one, np.ma.MaskedArray) for one in arguments):
            return self.illegal(kernel, arguments, TypeError("masked arrays are not for kernels"))
        try:
            expected = numpy_shim.expected(program.text, arguments, seed)
        except Undefined as error:
            return Finding("undefined", str(error)[:60])
        except Exception as error:
            found = self.illegal(kernel, arguments, error)
            if found.outcome != "accepted" or not isinstance(error, ZeroDivisionError | ValueError):
                return found
            # What nothing uses is not computed.
            return (
                found
                if numpy_shim.is_used(program.text, arguments, seed)
                else Finding("undefined", str(error))
            )
        given = [
            cy.blocked(one.array.copy(), one.tile) if isinstance(one, Tiles) else one for one in arguments
        ]
        refused = Finding("ok")
        finding = self.reference(kernel, given, expected)
        if finding.outcome == "wrong value" and "np." in program.text:
            # Plain runs are NumPy's where it makes the arrays.
            in_turn = numpy_shim.written_in_turn(program.text, arguments)
            finding = self.reference(kernel, given, dataclasses.replace(expected, arrays=in_turn))
        if finding.fails:
            return finding
        started = time.process_time()
        try:
            compiled = kernel.compile(*map(copied, given))
        except cy.CyclotronError as error:
            if isinstance(error, cy.InternalError):
                return Finding("internal error", numpy_shim.generalized(error.message), str(error))
            odd = any(isinstance(one, np.generic) and one.dtype.name not in DTYPES for one in arguments)
            return Finding("refused, as it says" if odd else "refused", refusal(error), str(error))
        except Exception as error:
            return exception("compile", error)
        finally:
            self.compile_seconds.append(time.process_time() - started)
        if self.compile_seconds[-1] > SLOWEST_SECONDS:
            return Finding("slow", f"more than {SLOWEST_SECONDS} s", f"{self.compile_seconds[-1]:.1f} s")
        for backend in ("local", "sim"):
            finding = self.run(compiled, backend, expected)
            if finding.outcome == "refused":
                refused = finding
            elif finding.outcome != "ok":
                return finding
        if scheduled and random.Random(seed).random() < SCHEDULED:
            finding = self.scheduled(kernel, given, expected, seed, compiled.recurrences.indices)
            if finding.fails:
                return finding
        return refused

    def illegal(self, kernel: Any, arguments: list[Any], error: Exception) -> Finding:
        """NumPy refuses it: so does the package, with a reason."""
        why = f"NumPy: {type(error).__name__}: {error}"
        given = [
            cy.blocked(one.array, one.tile) if isinstance(one, Tiles) else copied(one) for one in arguments
        ]
        try:
            result = kernel(*given)
        except cy.InternalError as found:
            return Finding("internal error", numpy_shim.generalized(found.message), f"{why}\n{found}")
        except cy.CyclotronError:
            return Finding("refused, as by NumPy")
        except Exception as found:
            return exception("an illegal program", found, why)
        kind = f"{type(error).__name__}: {numpy_shim.generalized(str(error))}"
        return Finding("accepted", kind, f"{why}\nresult {result}")

    def reference(self, kernel: Any, given: list[Any], expected: numpy_shim.Expected) -> Finding:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = kernel.reference(*map(copied, given))
        except cy.CyclotronError:
            return Finding("refused")
        except Exception as error:
            return exception("reference", error)
        return compared("reference", list(found) if isinstance(found, tuple) else [found], expected)

    def run(self, compiled: Any, backend: str, expected: numpy_shim.Expected, where: str = "") -> Finding:
        options = {"threads": 1}
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = cy.run(compiled, backend=backend, **options).outputs
        except cy.InternalError as error:
            return Finding("internal error", numpy_shim.generalized(error.message), str(error))
        except cy.DeadlockError as error:
            return Finding("refused" if where else "deadlock", refusal(error), str(error))
        except cy.CyclotronError as error:
            return Finding("refused", refusal(error), str(error))
        except Exception as error:
            return exception(backend, error)
        # What nothing uses is not computed, and of that NumPy alone warns; of complex NaN that are compared
        # it warns in arrays, without axes too, and not of scalars.
        found_warnings = numpy_shim.warned(caught) - expected.warnings
        has_complex = any(tensor["dtype"].startswith("complex") for tensor in compiled.tensors)
        unfounded = {
            one for one in found_warnings if not (has_complex and re.search(r" in (less|greater)", one))
        }
        if unfounded:
            return Finding("wrong warning", f"{backend}{where}: {sorted(unfounded)}", str(expected.warnings))
        return compared(backend + where, list(found.values()), expected)

    def scheduled(
        self, kernel: Any, given: list[Any], expected: numpy_shim.Expected, seed: int, indices: list[str]
    ) -> Finding:
        if not indices:
            return Finding("ok")
        rng = random.Random(f"{seed}/schedule")
        heads = "\n".join(f"for {index} in" for index in indices)
        stand_in: Any = SimpleNamespace(source=heads, inputs=(), tensors=())
        schedule = random_schedules.draw(rng, stand_in)
        if schedule is not None:  # sums stay in their order
            schedule = dataclasses.replace(schedule, reassociations=(), inward_indices=())
        self.schedules += 1
        says = f"\nschedule = {schedule!r}"
        try:
            machine = random_schedules.machine(rng, schedule)
            says += f"\nmachine = {machine!r}"
            compiled = kernel.compile(*map(copied, given), schedule=schedule, machine=machine)
        except cy.InternalError as error:
            return Finding("internal error", numpy_shim.generalized(error.message), f"{error}{says}")
        except cy.CyclotronError:
            self.refused_schedules += 1
            return Finding("refused")
        except Exception as error:
            return exception("a schedule", error, says)
        for backend in ("local", "sim"):
            finding = self.run(compiled, backend, expected, " under a schedule")
            if finding.fails:
                return dataclasses.replace(finding, detail=finding.detail + says)
        try:
            retimed = random_machines.retimed(rng, compiled)
        except cy.CyclotronError:
            return Finding("ok")
        finding = self.run(retimed, "sim", expected, " on a machine")
        return dataclasses.replace(finding, detail=finding.detail + says)


def refusal(error: cy.CyclotronError) -> str:
    return f"{type(error).__name__} {error.code}: {numpy_shim.generalized(error.message)}"


def exception(where: str, error: Exception, more: str = "") -> Finding:
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.name}"
    kind = f"{where}: {type(error).__name__} {numpy_shim.generalized(str(error))} ({place})"
    return Finding("bare exception", kind, f"{traceback.format_exc()[-1500:]}{more}")


def compared(where: str, found: list[Any], expected: numpy_shim.Expected) -> Finding:
    difference = expected.difference(found)
    return Finding("ok") if difference is None else Finding(difference[0], where, difference[1])


# Making failures small.


def shrunk(judge: Judge, program: Program, seed: int, finding: Finding) -> tuple[Program, Finding]:
    """The smallest program found that fails in the same way."""

    def out_of_time(*_: object) -> None:  # of a loop that has lost what ends it
        raise TimeoutError

    ends = time.process_time() + SHRINK_SECONDS
    signal.signal(signal.SIGVTALRM, out_of_time)
    changed = True
    while changed:
        changed = False
        for candidate in smaller(program):
            if time.process_time() > ends:
                return program, finding
            signal.setitimer(signal.ITIMER_VIRTUAL, SHRINK_SECONDS)
            try:
                again = judge.judge(candidate, seed)
            except Exception:  # no kernel at all
                continue
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            same = again.outcome == finding.outcome
            if same and (again.kind == finding.kind or finding.outcome.startswith("wrong")):
                program, finding, changed = candidate, again, True
                break
    return program, finding


def smaller(program: Program) -> Iterator[Program]:
    """Programs with a statement, a part of an expression, or an argument less."""
    tree = ast.parse(program.text)
    for change in range(_changes(tree)):
        text = _changed(program.text, change)
        if text is not None and len(text) < len(program.text) and "return" in text:
            yield dataclasses.replace(program, text=text)
    names = [one.arg for one in tree.body[0].args.args]  # type: ignore[attr-defined]
    for n, name in enumerate(names):
        if len(re.findall(rf"\b{name}\b", program.text)) == 1:
            head, rest = program.text.split("def kernel(", 1)
            given, body = rest.split("):", 1)
            kept = ", ".join(one for one in given.split(", ") if one != name)
            yield dataclasses.replace(
                program,
                text=f"{head}def kernel({kept}):{body}",
                arguments=program.arguments[:n] + program.arguments[n + 1 :],
                others=program.others[:n] + program.others[n + 1 :],
            )
    if program.others:
        yield dataclasses.replace(program, others=())
        yield dataclasses.replace(program, arguments=program.others, others=())


def _sites(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, list[Any]]]:
    """Each field that a smaller part may take the place of, with those."""
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if field in ("body", "orelse", "ifs") and isinstance(value, list):
                for n, one in enumerate(value):
                    inner = [getattr(one, "body", None)] if not isinstance(one, ast.FunctionDef) else []
                    yield node, field, n, [[], *[part for part in inner if isinstance(part, list)]]
            elif isinstance(value, ast.expr) and not isinstance(getattr(value, "ctx", None), ast.Store):
                yield node, field, None, _parts(value)
            elif isinstance(value, list) and field in ("elts", "args", "values", "comparators"):
                for n, one in enumerate(value):
                    if isinstance(one, ast.expr):
                        removed = [None] if field == "elts" and len(value) > 1 else []
                        yield node, field, n, [*removed, *_parts(one)]


def _parts(value: ast.expr) -> list[Any]:
    children = [one for one in ast.iter_child_nodes(value) if isinstance(one, ast.expr)]
    children += [
        one for child in children for one in ast.iter_child_nodes(child) if isinstance(one, ast.expr)
    ]
    if isinstance(value, ast.Constant):
        return []
    modules = ("cy", "np", "math")
    return [one for one in children if not (isinstance(one, ast.Slice) or getattr(one, "id", "") in modules)]


def _changes(tree: ast.AST) -> int:
    return sum(len(parts) for *_, parts in _sites(tree))


def _changed(text: str, number: int) -> str | None:
    tree = ast.parse(text)
    for node, field, n, parts in _sites(tree):
        if number >= len(parts):
            number -= len(parts)
            continue
        part = parts[number]
        if n is None:
            setattr(node, field, part)
        elif part is None:
            del getattr(node, field)[n]
        else:
            getattr(node, field)[n : n + 1] = part if isinstance(part, list) else [part]
        with contextlib.suppress(Exception):
            return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        return None
    return None


def script(program: Program, finding: Finding, seed: str) -> str:
    """A script that shows a failure, by itself."""
    arguments = ", ".join(program.arguments)
    comments = "\n".join(f"# {line}" for line in finding.detail.splitlines()[-24:])
    arrays = arguments.replace("Tiles(", "cy.blocked(")
    second = f"# then kernel({', '.join(program.others)})\n" if program.others else ""
    imports = HEAD.replace("import cyclotron", "from numpy import inf, nan\nimport cyclotron")
    return (
        f"# {finding.outcome}: {finding.kind} (program {seed})\n{imports}{program.text}\n"
        f"print(kernel({arrays}))\n{second}{comments}\n"
    )


# Many programs: a process that judges them one by one, and one that watches it.


def work(
    seed: int, first: int, stop: int, step: int, without: frozenset[str], shrink: bool, show: int
) -> None:
    """Judge programs, one line of JSON before and after each."""
    judge = Judge()
    reported: collections.Counter[tuple[str, str]] = collections.Counter()
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    for number in range(first, stop, step):
        name = f"{seed}/{number}"
        print(json.dumps({"start": number}), flush=True)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + HANG_SECONDS + 1, hard))
        program = numpy_programs.draw(name, without)
        judge.compile_seconds.clear()
        finding = judge.judge(program, number)
        line: dict[str, Any] = {
            "done": number,
            "outcome": finding.outcome,
            "kind": finding.kind,
            "seconds": max(judge.compile_seconds, default=0.0),
            "schedules": judge.schedules,
            "refused": judge.refused_schedules,
        }
        judge.schedules = judge.refused_schedules = 0
        key = finding.outcome, finding.kind
        reported[key] += 1
        if (finding.fails or finding.outcome == "refused") and reported[key] <= show:
            resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
            if shrink and finding.fails:
                program, finding = shrunk(judge, program, number, finding)
            line["script"] = script(program, finding, name)
        print(json.dumps(line), flush=True)
    print(json.dumps({"finished": True}), flush=True)


class Outcomes:
    """The outcomes of many programs."""

    def __init__(self) -> None:
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.kinds: collections.Counter[tuple[str, str]] = collections.Counter()
        self.scripts: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
        self.seconds: list[float] = []
        self.slowest: list[tuple[float, int]] = []
        self.schedules = self.refused_schedules = 0

    def take(self, line: dict[str, Any]) -> None:
        if "done" in line:
            self.outcomes[line["outcome"]] += 1
            key = line["outcome"], line["kind"]
            self.kinds[key] += bool(line["kind"])
            self.seconds.append(line["seconds"])
            self.slowest = sorted([*self.slowest, (line["seconds"], line["done"])])[-5:]
            if "script" in line:
                self.scripts[key].append(line["script"])
            self.schedules += line.get("schedules", 0)
            self.refused_schedules += line.get("refused", 0)

    @property
    def failures(self) -> int:
        return sum(count for name, count in self.outcomes.items() if Finding(name).fails)

    def __str__(self) -> str:
        total = max(self.outcomes.total(), 1)
        rows = [f"{count:8} {count / total:7.2%}  {name}" for name, count in self.outcomes.most_common()]
        rows += ["", "by kind:"]
        rows += [f"{count:8}  {a}: {b}" for (a, b), count in self.kinds.most_common() if count]
        taken = np.array(sorted(self.seconds) or [0.0])
        rows += [
            "",
            f"compiling: median {np.quantile(taken, 0.5):.3f} s, 99.9 % {np.quantile(taken, 0.999):.2f} s, "
            f"most {taken[-1]:.2f} s; more than {SLOW_SECONDS} s: {(taken > SLOW_SECONDS).sum()}",
            "slowest: "
            + ", ".join(f"{seconds:.1f} s program {number}" for seconds, number in self.slowest[::-1]),
            f"random schedules: {self.schedules}, of which {self.refused_schedules} are refused",
        ]
        return "\n".join(rows)


def search(
    seed: int,
    programs: int,
    jobs: int = 1,
    without: frozenset[str] = frozenset(),
    shrink: bool = True,
    show: int = 1,
) -> Outcomes:
    """Judge programs 0 .. programs - 1 of a seed in processes that are watched."""
    total = Outcomes()
    workers = {}
    for job in range(jobs):
        workers[job] = _Worker(seed, job, programs, jobs, without, shrink, show)
    try:
        while workers:
            ready, _, _ = select.select([worker.process.stdout for worker in workers.values()], [], [], 1.0)
            for job, worker in list(workers.items()):
                if worker.process.stdout in ready:
                    worker.read(total)
                if worker.ended(total):
                    del workers[job]
    except KeyboardInterrupt:  # what is known so far
        for worker in workers.values():
            worker.process.kill()
            worker.process.wait()
    return total


class _Worker:
    """A process that judges every so many-th program, started again after one that it does not survive."""

    WALL_SECONDS = 300.0

    def __init__(
        self, seed: int, first: int, stop: int, step: int, without: frozenset[str], shrink: bool, show: int
    ) -> None:
        self.options = (seed, stop, step, without, shrink, show)
        self.start(first)

    def start(self, first: int) -> None:
        seed, stop, step, without, shrink, show = self.options
        command = [*COMMAND, "--seed", str(seed), "--programs", str(stop)]
        command += [
            "--worker",
            str(first),
            str(step),
            "--show",
            str(show),
            *(["--without", *without] if without else []),
        ]
        command += [] if shrink else ["--no-shrinking"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.current, self.since, self.rest = first, time.monotonic(), b""
        self.finished = False

    def read(self, total: Outcomes) -> None:
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for text in lines:
            line = json.loads(text)
            if "start" in line:
                self.current, self.since = line["start"], time.monotonic()
            self.finished |= "finished" in line
            total.take(line)
        if not data:
            self.process.wait()

    def ended(self, total: Outcomes) -> bool:
        """Tell whether all is judged; a program that ends the process, or hangs, is told of."""
        hangs = time.monotonic() - self.since > self.WALL_SECONDS
        if hangs:
            self.process.kill()
            self.process.wait()
        if self.process.returncode is None:
            return False
        if self.finished:
            return True
        seed, stop, step, without, *_ = self.options
        # The limit of processor time ends a process by its signal.
        hangs |= self.process.returncode == -24
        name = f"{seed}/{self.current}"
        finding = Finding("hang" if hangs else "crash", f"status {self.process.returncode}")
        program = numpy_programs.draw(name, without)
        total.take({"done": self.current, "outcome": finding.outcome, "kind": finding.kind, "seconds": 0.0,
                    "script": script(program, finding, name)})  # fmt: skip
        if self.current + step >= stop:
            return True
        self.start(self.current + step)
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="0 draws a fresh one")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without", nargs="*", default=[], choices=FEATURES, metavar="FEATURE")
    parser.add_argument("--show", type=int, default=1, help="scripts of each kind of failure to print")
    parser.add_argument("--refusals", action="store_true", help="print scripts of refusals too")
    parser.add_argument("--no-shrinking", action="store_true")
    parser.add_argument("--worker", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    seed = given.seed or random.SystemRandom().randrange(1, 1 << 31)
    without = frozenset(given.without)
    if given.worker is not None:
        first, step = given.worker
        work(seed, first, given.programs, step, without, not given.no_shrinking, given.show)
        return
    found = search(seed, given.programs, given.jobs, without, not given.no_shrinking, given.show)
    for (outcome, _), scripts in sorted(found.scripts.items()):
        if Finding(outcome).fails or given.refusals:
            print("\n\n".join(scripts[: given.show]), end="\n\n")
    print(f"seed {seed}: {found.outcomes.total()} programs\n{found}")
    sys.exit(found.failures > 0)


if __name__ == "__main__":
    main()

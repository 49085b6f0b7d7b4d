"""Every file of the examples' programs with one instruction deleted, or one number another, read and run.

    python tests/programs/mutant_search.py [--seed 7] [--numbers 40] [--programs NAME ...]

A file is refused with a reason or runs; prints, for each program, how many were refused and what else came
of the others: an error of another kind, an internal error, a crash, or a run longer than LIMIT_SECONDS.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import cases
import mutants

import cyclotron as cy

LIMIT_SECONDS = 20  # of processor time
CASES = {case.name.rsplit("/", 1)[0]: case for case in cases.all_cases()}


def files(program: cy.Program, seed: str, numbers: int) -> Iterator[tuple[str, bytes]]:
    """The files without one instruction, all of them; then some with another number, each in any place."""
    yield from ((what, data) for what, data in mutants.mutants(program) if what.startswith("delete"))
    rng = random.Random(seed)
    data = program.core.to_bytes()
    places = list(places_of_numbers(mutants.text_of(data)[0]))
    for place in rng.sample(places, min(numbers, len(places))):
        text, values = mutants.text_of(data)
        holder = text
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = rng.choice([holder[place[-1]] + 1, holder[place[-1]] - 1, -1, 0, 7, 2**31, 2**62])
        yield f"{place} is {holder[place[-1]]}", mutants.changed_file(data, text, values)


def places_of_numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, entry in entries:
        yield from places_of_numbers(entry, (*path, key))
    if isinstance(value, int) and not isinstance(value, bool):
        yield path


def outcome_of(program: cy.Program, data: bytes) -> str:
    """Read a file and run it: `refused`, `ran`, or what must not come of one."""
    refused = False
    try:
        read = mutants.read(data)
    except cy.InternalError as error:
        return f"internal error when read: {error}"
    except cy.CyclotronError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__} when read: {error}"
    for backend in ("sim", "local"):
        try:
            cy.run(read, *mutants.inputs(program), backend=backend)
        except cy.InternalError as error:
            return f"internal error on {backend}: {error}"
        except cy.CyclotronError:
            refused = True
        except Exception as error:
            return f"{type(error).__name__} on {backend}: {error}"
    return "refused" if refused else "ran"


def work(name: str, seed: int, numbers: int, first: int) -> None:
    """Try the files of a program from the `first` on, with a line of JSON before and after each."""
    program = CASES[name].compile()
    assert outcome_of(program, program.core.to_bytes()) == "ran"
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    for number, (what, data) in enumerate(files(program, f"{seed}/{name}", numbers)):
        if number < first:
            continue
        print(json.dumps({"start": number, "what": what}), flush=True)
        used = resource.getrusage(resource.RUSAGE_SELF)
        resource.setrlimit(
            resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + LIMIT_SECONDS + 1, hard)
        )
        print(json.dumps({"outcome": outcome_of(program, data)}), flush=True)
    print(json.dumps({"finished": True}), flush=True)


def outcomes(name: str, seed: int, numbers: int) -> list[tuple[str, str]]:
    """Try each file of a program, in processes that may end: what was done to it, what came of it."""
    result: list[tuple[str, str]] = []
    first = 0
    while True:
        command = [sys.executable, __file__, "--worker", name, str(first)]
        command += ["--seed", str(seed), "--numbers", str(numbers)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=3600)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        started = [line["what"] for line in lines if "what" in line]
        ended = [line["outcome"] for line in lines if "outcome" in line]
        if not started and "finished" not in str(lines):
            raise RuntimeError(f"{name} does not start")
        if len(ended) < len(started):
            hangs = done.returncode == -24  # the limit's signal
            ended.append("hangs" if hangs else f"crashes: status {done.returncode}")
        result += zip(started, ended, strict=True)
        first += len(started)
        if lines and lines[-1].get("finished"):
            return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="0 draws a fresh one")
    parser.add_argument("--numbers", type=int, default=40, help="files with another number, of each program")
    parser.add_argument("--programs", nargs="*", default=sorted(CASES))
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    seed = given.seed or random.SystemRandom().randrange(1, 1 << 31)
    if given.worker:
        work(given.worker[0], seed, given.numbers, int(given.worker[1]))
        return
    print(f"seed {seed}", flush=True)
    faults = 0
    for name in given.programs:
        found = outcomes(name, seed, given.numbers)
        count = collections.Counter(outcome for _, outcome in found)
        print(f"{name}: {len(found)} files, {count['refused']} refused, {count['ran']} ran", flush=True)
        for what, outcome in found:
            if outcome not in ("refused", "ran"):
                faults += 1
                print(f"    {what}: {outcome}", flush=True)
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()

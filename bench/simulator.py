"""The simulator's speed and memory against DAM's and its bounds; its closed forms, and runs that agree."""

import dataclasses
import itertools
import math
import subprocess
import sys
from typing import Any

import numpy as np
from common import medians, options, write
from kernels import matmul

import cyclotron as cy
from cyclotron.machine.parts import UNBOUNDED

DAM_OPERATIONS = 3.3e6  # a second, on one core (the simulator that the Cyclotron paper uses)
DAM_PE_BYTES = 49e3
BOUND_GENERAL = 150e6  # channel operations a second without numbers, on one core
BOUND_SECONDS, BOUND_MEGABYTES = 1.0, 500.0  # of the wafer
BOUND_PE_MICROSECONDS, BOUND_PE_BYTES = 1.0, 256.0
BOUND_FLATNESS = 2.0  # times as long for any number of steps as for any other
BOUND_FUNCTIONAL = 50e6  # channel operations a second with float32 numbers, on one core
BOUND_TWO_CORES = 1.6  # times as fast as on one
BOUND_EXCHANGES = 300e6  # channel operations a second with float64 numbers, of stencils and scans


def program(side: int, steps: int, depth: int, dtype: str = "float64") -> cy.Program:
    """An output-stationary product on side x side PEs."""
    return matmul.compile(
        cy.spec((side, steps), dtype),
        cy.spec((steps, side), dtype),
        schedule=cy.schedules.output_stationary(matmul),
        machine=cy.Machine(link=cy.Link(depth=depth)),
    )


def operations(result: cy.Result) -> int:
    """Sends and receives."""
    return 2 * sum(channel["messages"] for channel in result.stats["channels"])


def run(compiled: cy.Program, engine: str) -> cy.Result:
    return cy.run(compiled, backend="sim", functional=False, event_limit=0, engine=engine)


def general(quick: bool) -> dict[str, Any]:
    runs, side, steps = (1, 8, 16) if quick else (5, 128, 1000)
    figures = {}
    for depth in (2, 16, UNBOUNDED):
        compiled = program(side, steps, depth)
        count = operations(run(compiled, "general"))
        seconds = medians(runs, general=lambda c=compiled: run(c, "general").seconds)["general"]
        rate = count / seconds
        name = "unbounded" if depth == UNBOUNDED else str(depth)
        figures[f"depth {name}"] = {"operations_per_second": rate, "ratio_to_dam": rate / DAM_OPERATIONS}
        print(
            f"general, {side}x{side} PEs, depth {name}: {rate / 1e6:.0f} M channel operations/s, "
            f"{rate / BOUND_GENERAL:.2f} of the bound, ratio to DAM {rate / DAM_OPERATIONS:.0f}"
        )
    return figures


def functional(quick: bool) -> dict[str, Any]:
    """Numbers and time, on one thread and on two."""
    figures = {}
    for side, steps in ((8, 16), (16, 16)) if quick else ((128, 1000), (512, 300)):
        compiled = program(side, steps, 2, "float32")
        rng = np.random.default_rng(0)
        sides = [rng.standard_normal(shape, "float32") for shape in ((side, steps), (steps, side))]

        def timed(threads: int, compiled: cy.Program = compiled, sides: Any = sides) -> cy.Result:
            return cy.run(compiled, *sides, backend="sim", event_limit=0, threads=threads)

        count = operations(timed(1))
        seconds = medians(1 if quick else 3, one=lambda: timed(1).seconds, two=lambda: timed(2).seconds)
        rate, gain = count / seconds["one"], seconds["one"] / seconds["two"]
        figures[f"{side}x{side}"] = {"operations_per_second": rate, "two_threads": gain}
        print(
            f"functional float32, {side}x{side} PEs: {rate / 1e6:.0f} M channel operations/s, "
            f"{rate / BOUND_FUNCTIONAL:.2f} of the bound; two threads {gain:.2f} times as fast, "
            f"{gain / BOUND_TWO_CORES:.2f} of the bound"
        )
    return figures


@cy.kernel
def heat(u: Any, steps: int) -> Any:
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
        u = new
    return u


def exchanges(quick: bool) -> dict[str, Any]:
    """Messages to and fro: heat on a PE an element and on blocks with numbers, tori without."""
    figures = {}
    plane = cy.Schedule().space("i", "j")
    side, steps = (18, 10) if quick else (66, 1000)
    stencils = {
        f"heat {side}^2": (side, steps, {"schedule": plane}),
        f"heat {8 * side}^2 on {side}^2": (8 * side, steps // 10, {"schedule": plane.fold(i=side, j=side)}),
    }
    for name, (size, count, options_) in stencils.items():
        u = np.random.default_rng(0).random((size, size))
        compiled = heat.compile(u, count, **options_)

        def timed(compiled: cy.Program = compiled) -> cy.Result:
            return cy.run(compiled, backend="sim", event_limit=0)

        rate = operations(timed()) / medians(1 if quick else 3, one=lambda: timed().seconds)["one"]
        figures[name] = {"operations_per_second": rate}
        share = rate / BOUND_EXCHANGES
        print(f"functional, {name}: {rate / 1e6:.0f} M channel operations/s, {share:.2f} of the bound")
    for side in (24,) if quick else (237, 948):
        sides = [cy.spec((side, side))] * 2
        compiled = matmul.compile(*sides, schedule=cy.schedules.cannon(matmul))
        result = run(compiled, "auto")
        assert result.cycles == side
        rate = operations(result) / result.seconds
        figures[f"cannon {side}^2"] = {"seconds": result.seconds, "operations_per_second": rate}
        print(f"Cannon, {side}x{side} PEs: {result.seconds:.2f} s, {rate / 1e6:.0f} M channel operations/s")
    return figures


def start_up(quick: bool) -> dict[str, float]:
    """Seconds of a run of one step, a PE."""
    side = 16 if quick else 512
    compiled = program(side, 1, 2)
    seconds = medians(1 if quick else 5, one=lambda: run(compiled, "general").seconds)["one"]
    microseconds = seconds / side**2 * 1e6
    share = microseconds / BOUND_PE_MICROSECONDS
    print(f"start-up and results: {microseconds:.2f} us a PE, {share:.2f} of the bound")
    return {"microseconds_per_pe": microseconds}


def fresh(side: int, steps: int, engine: str) -> tuple[float, float, float]:
    """Seconds, megabytes at the peak and what the run added to it, in a process of its own.

    The peak is that of the process's memory map: the one that `getrusage` tells starts at the parent's.
    """
    text = (
        "import simulator\n"
        "def kilobytes(what):\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith(what + ':'))\n"
        f"compiled = simulator.program({side}, {steps}, 2)\n"
        f"simulator.run(simulator.program(4, 4, 2), '{engine}')\n"
        "before = kilobytes('VmRSS')\n"
        f"result = simulator.run(compiled, '{engine}')\n"
        "peak = kilobytes('VmHWM')\n"
        f"assert result.cycles == 2 * {side} + {steps} - 2 and result.engine == '{engine}'\n"
        "print(result.seconds, peak / 1024, (peak - before) / 1024)\n"
    )
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=sys.path[0])
    seconds, megabytes, added = map(float, done.stdout.split())
    return seconds, megabytes, added


def wafer(quick: bool) -> dict[str, float]:
    side = 16 if quick else 948
    results = [fresh(side, 10**6, "fast-forward") for _ in range(1 if quick else 3)]
    seconds, megabytes, added = sorted(results)[len(results) // 2]
    pe_bytes = added * 2**20 / side**2
    share = seconds / BOUND_SECONDS
    print(f"fast-forward, {side}x{side} PEs, 10^6 steps: {seconds:.2f} s, {share:.2f} of the bound")
    print(
        f"  process peak {megabytes:.0f} MB, {megabytes / BOUND_MEGABYTES:.2f} of the bound; "
        f"{pe_bytes:.0f} bytes a PE with its results, {pe_bytes / BOUND_PE_BYTES:.2f} of the bound"
    )
    return {"seconds": seconds, "megabytes": megabytes, "bytes_per_pe": pe_bytes}


def memory(quick: bool) -> dict[str, float]:
    """Of the general engine, which keeps the state of each PE and queue."""
    side = 16 if quick else 512
    pe_bytes = fresh(side, 100, "general")[2] * 2**20 / side**2
    ratio = DAM_PE_BYTES / pe_bytes if pe_bytes else math.inf
    print(
        f"general, {side}x{side} PEs: {pe_bytes:.0f} bytes a PE with its results, ratio of DAM's {ratio:.0f}"
    )
    return {"bytes_per_pe": pe_bytes}


def flatness(quick: bool) -> dict[str, float]:
    side = 8 if quick else 128
    compiled = {steps: program(side, steps, 2) for steps in (10**3, 10**6, 10**9)}
    seconds = medians(
        1 if quick else 5,
        **{f"10^{len(str(n)) - 1}": lambda c=c: run(c, "fast-forward").seconds for n, c in compiled.items()},
    )
    times = ", ".join(f"{name} steps {time * 1e3:.1f} ms" for name, time in seconds.items())
    ratio = max(seconds.values()) / min(seconds.values())
    print(
        f"fast-forward, {side}x{side} PEs: {times}, "
        f"ratio {ratio:.2f}, {ratio / BOUND_FLATNESS:.2f} of the bound"
    )
    return seconds


def full_rate(quick: bool) -> dict[str, int]:
    """Least depths at which no PE ever waits, against ceil((latency + response latency) / cost)."""
    side, steps = (3, 20) if quick else (16, 200)
    compiled = program(side, steps, 1)
    checked = 0
    for latency, response, cost in itertools.product((1, 2, 5), (0, 1, 3), (1, 2, 3)):
        link = cy.Link(latency, response_latency=response)
        pe = cy.PE(cycles=dict.fromkeys(("matmul", "matmul_add", "multiply", "multiply_add"), cost))

        def cycles(depth: int, link: cy.Link = link, pe: cy.PE = pe) -> int:
            machine = cy.Machine(link=dataclasses.replace(link, depth=depth), pe=pe)
            return run(compiled.with_machine(machine), "auto").cycles

        closed_form = latency * (2 * side - 2) + cost * steps  # with latency = cost = 1: I + J + K - 2
        least = next(depth for depth in range(1, 100) if cycles(depth) == closed_form)
        assert least == max(1, -(-(latency + response) // cost))
        assert cycles(least + 1) == cycles(UNBOUNDED) == closed_form
        checked += 1
    print(
        f"full rate exactly from depth ceil((latency + response) / cost) on: {checked} of {checked} machines"
    )
    return {"machines": checked}


def determinism(quick: bool) -> dict[str, int]:
    """Numbers, cycles and statistics on several numbers of threads."""
    side, steps = (4, 8) if quick else (64, 64)
    compiled = program(side, steps, 2, "float32")
    rng = np.random.default_rng(0)
    sides = [rng.standard_normal(shape, "float32") for shape in ((side, steps), (steps, side))]
    runs = [cy.run(compiled, *sides, backend="sim", threads=threads) for threads in (1, 2, 3, 4)]
    runs += [cy.run(compiled, *sides, backend="sim", threads=n, event_limit=0) for n in (1, 2, 3, 4)]
    first = runs[0]
    for other in runs[1:]:
        assert other.output.tobytes() == first.output.tobytes()
        assert other.cycles == first.cycles
        for name in ("busy", "stall_empty", "stall_full", "idle"):
            assert np.array_equal(other.stats[name], first.stats[name])
    print(f"determinism: the same bits and cycles in {len(runs)} of {len(runs)} runs, on 1 to 4 threads")
    return {"runs": len(runs)}


def main() -> None:
    arguments = options(__doc__)
    parts = (general, functional, exchanges, start_up, memory, wafer, flatness, full_rate, determinism)
    write(arguments.json, {part.__name__: part(arguments.quick) for part in parts})


if __name__ == "__main__":
    main()

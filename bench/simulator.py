"""Channel operations a second against DAM's, with numbers and without; fast-forward of a wafer's array."""

import subprocess
import sys
from typing import Any

import numpy as np
from common import medians, options, write
from kernels import matmul

import cyclotron as cy
from cyclotron.machine import UNBOUNDED

DAM_OPERATIONS = 3.3e6  # a second, on one core (the simulator that the Cyclotron paper uses)
BOUND_SECONDS, BOUND_MEGABYTES = 1.0, 500.0  # of the wafer
BOUND_PE_MICROSECONDS = 1.0
BOUND_FUNCTIONAL = 50e6  # channel operations a second with float32 numbers, on one core
BOUND_TWO_CORES = 1.6  # times as fast as on one


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
            f"ratio to DAM {rate / DAM_OPERATIONS:.0f}"
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


def start_up(quick: bool) -> dict[str, float]:
    """Seconds of a run of one step, a PE."""
    side = 16 if quick else 512
    compiled = program(side, 1, 2)
    seconds = medians(1 if quick else 5, one=lambda: run(compiled, "general").seconds)["one"]
    microseconds = seconds / side**2 * 1e6
    share = microseconds / BOUND_PE_MICROSECONDS
    print(f"start-up and results: {microseconds:.2f} us a PE, {share:.2f} of the bound")
    return {"microseconds_per_pe": microseconds}


def fresh(side: int, steps: int) -> tuple[float, float, float]:
    """Seconds, megabytes at the peak and what the run added to it, in a process of its own."""
    text = (
        "import resource, simulator\n"
        f"compiled = simulator.program({side}, {steps}, 2)\n"
        "simulator.run(simulator.program(4, 4, 2), 'fast-forward')\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        "before = peak()\n"
        "result = simulator.run(compiled, 'fast-forward')\n"
        f"assert result.cycles == 2 * {side} + {steps} - 2\n"
        "print(result.seconds, peak(), peak() - before, result.engine)\n"
    )
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=sys.path[0])
    seconds, megabytes, added, engine = done.stdout.split()
    assert engine == "fast-forward"
    return float(seconds), float(megabytes), float(added)


def wafer(quick: bool) -> dict[str, float]:
    side = 16 if quick else 948
    results = [fresh(side, 10**6) for _ in range(1 if quick else 3)]
    seconds, megabytes, added = sorted(results)[len(results) // 2]
    pe_bytes = added * 2**20 / side**2
    share = seconds / BOUND_SECONDS
    print(f"fast-forward, {side}x{side} PEs, 10^6 steps: {seconds:.2f} s, {share:.2f} of the bound")
    print(
        f"  process peak {megabytes:.0f} MB, {megabytes / BOUND_MEGABYTES:.2f} of the bound; "
        f"{pe_bytes:.0f} bytes a PE with its results"
    )
    return {"seconds": seconds, "megabytes": megabytes, "bytes_per_pe": pe_bytes}


def flatness(quick: bool) -> dict[str, float]:
    side = 8 if quick else 128
    compiled = {steps: program(side, steps, 2) for steps in (10**3, 10**6, 10**9)}
    seconds = medians(
        1 if quick else 5,
        **{f"10^{len(str(n)) - 1}": lambda c=c: run(c, "fast-forward").seconds for n, c in compiled.items()},
    )
    times = ", ".join(f"{name} steps {time * 1e3:.1f} ms" for name, time in seconds.items())
    print(
        f"fast-forward, {side}x{side} PEs: {times}, ratio {max(seconds.values()) / min(seconds.values()):.2f}"
    )
    return seconds


def main() -> None:
    arguments = options(__doc__)
    figures = {
        "general": general(arguments.quick),
        "start_up": start_up(arguments.quick),
        "wafer": wafer(arguments.quick),
        "flatness": flatness(arguments.quick),
        # Last: a process that is started later would show this one's peak of memory as its own.
        "functional": functional(arguments.quick),
    }
    write(arguments.json, figures)


if __name__ == "__main__":
    main()

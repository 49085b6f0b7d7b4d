"""Time of ten CG steps that the host counts, with tensors that stay in the PEs against separate runs.

Prints a line for each backend: of ``sim`` cycles, with a memory of a word a cycle for each PE and 20 of
latency; of ``local`` seconds of processor time, of ``mpi`` of wall-clock time, the best of five.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from common import options, write

import cyclotron as cy

STEPS = 10
BOUND = {"x1": "x", "r1": "r", "p1": "p", "rho1": "rho"}


@cy.kernel
def cg_step(A, x, r, p, rho):
    """One step of conjugate gradients."""
    q = A @ p
    alpha = rho[0] / sum(p[i] * q[i] for i in range(len(p)))
    x1 = x + alpha * p
    r1 = r - alpha * q
    rho1 = cy.zeros_like(rho)
    rho1[0] = sum(r1[i] * r1[i] for i in range(len(r)))
    p1 = r1 + rho1[0] / rho[0] * p
    return x1, r1, p1, rho1


def system(n: int) -> dict[str, np.ndarray]:
    """Return a positive definite system and where CG begins."""
    rng = np.random.default_rng(1)
    m = rng.standard_normal((n, n))
    b = rng.standard_normal(n)
    return {"A": m @ m.T + n * np.eye(n), "x": np.zeros(n), "r": b, "p": b.copy(), "rho": np.array([b @ b])}


def separately(
    program: cy.Program, given: dict[str, np.ndarray], **options: object
) -> tuple[np.ndarray, int]:
    """Return x and the cycles of separate runs."""
    state, cycles = dict(given), 0
    for _ in range(STEPS):
        result = cy.run(program, *state.values(), **options)
        state |= {name: result.outputs[output] for output, name in BOUND.items()}
        cycles += result.cycles if result.backend == "sim" else 0
    return state["x"], cycles


def resident(program: cy.Program, given: dict[str, np.ndarray], **options: object) -> tuple[np.ndarray, int]:
    """Return x and the cycles where tensors stay."""
    with cy.resident(program, bind=BOUND, **options) as handle:
        handle.run(**given)
        for _ in range(STEPS - 1):
            handle.run()
        return handle["x1"], handle.cycles


def best(runs: int, call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return the least of some times."""
    seconds = []
    for _ in range(runs):
        begun = clock()
        call()
        seconds.append(clock() - begun)
    return min(seconds)


def main() -> None:
    """Print a line for each backend."""
    given_options = options(__doc__)
    n, runs = (32, 1) if given_options.quick else (256, 5)
    figures: dict[str, object] = {"unknowns": n}

    small = system(16)
    machine = cy.Machine(memories={"dram": cy.Memory(latency=20, serves=":")})
    simulated = cg_step.compile(*map(cy.spec, (one.shape for one in small.values())), machine=machine)
    (x, apart), (y, kept) = (
        run(simulated, small, backend="sim", event_limit=0) for run in (separately, resident)
    )
    assert np.array_equal(x, y)
    print(f"sim, 16 unknowns: {apart} cycles apart, {kept} resident, ratio {apart / kept:.2f}")
    figures["sim"] = {"apart_cycles": apart, "resident_cycles": kept}

    given = system(n)
    program = cg_step.compile(*map(cy.spec, (one.shape for one in given.values())))
    for backend, clock in (("local", time.process_time), ("mpi", time.perf_counter)):
        apart_s, kept_s = (
            best(runs, lambda run=run, backend=backend: run(program, given, backend=backend), clock)
            for run in (separately, resident)
        )
        print(
            f"{backend}, {n} unknowns: {apart_s:.4f} s apart, {kept_s:.4f} s resident,"
            f" ratio {apart_s / kept_s:.2f}"
        )
        figures[backend] = {"apart_seconds": apart_s, "resident_seconds": kept_s}
    write(given_options.json, figures)


if __name__ == "__main__":
    main()

"""Cost of an instruction on scalars, simulated, on threads and on an MPI rank, against a bound of 200 ns."""

import numpy as np
from common import medians, options, write
from kernels import matmul

import cyclotron as cy

BOUND_NANOSECONDS = 200


def timing_only(program: cy.Program) -> cy.Result:
    return cy.run(program, backend="sim", functional=False, event_limit=0, engine="general")


def main() -> None:
    arguments = options(__doc__)
    runs, size, steps = (3, 16, 32) if arguments.quick else (5, 64, 256)
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((size, steps)), rng.standard_normal((steps, size))
    program = matmul.compile(A, B, schedule=cy.schedules.output_stationary(matmul))
    timing = timing_only(program)
    instructions, pe_cycles = timing.stats["instructions"], timing.cycles * timing.utilization.size
    measures = {}
    try:
        cy.run(program, backend="mpi", ranks=1)
        measures["mpi"] = lambda: cy.run(program, backend="mpi", ranks=1).seconds
    except cy.BackendUnavailable as error:
        print(error.message)
    seconds = medians(
        runs,
        **measures,
        sim=lambda: cy.run(program, backend="sim", event_limit=0).seconds,
        sim_timing_only=lambda: timing_only(program).seconds,
        local=lambda: cy.run(program).seconds,
    )
    figures = {}
    for name, time in seconds.items():
        cost = time / instructions * 1e9
        figures[name] = {"ns_per_instruction": cost, "ratio_to_bound": cost / BOUND_NANOSECONDS}
        print(f"{name:16} {cost:6.1f} ns an instruction, {cost / BOUND_NANOSECONDS:.2f} of the bound")
    print(f"simulated: {pe_cycles / seconds['sim_timing_only'] / 1e6:.1f} M PE-cycles/s, timing only")
    write(arguments.json, figures)


if __name__ == "__main__":
    main()

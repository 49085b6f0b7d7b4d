"""The applications among the examples: each backend computes what NumPy computes, on grids of any shape.

MA-144, MA-145. Where the order of operations is that of NumPy, to the bit; `cy.sum` adds element by element,
where NumPy adds pairs of parts, so that sums of floats differ in their last bits.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import bicgstab
import bitonic_sort
import conjugate_gradient
import fft
import gmres
import heat
import heat_3d
import implicit_heat
import ising
import kalman
import kmeans
import lattice_boltzmann
import life
import lstm
import mach_listing
import maxwell
import molecular_dynamics
import multigrid
import navier_stokes
import particles
import poisson
import potts
import shallow_water
import sparse_cg
import sparse_matvec
import transformer
import two_phase_flow
import waves

(ELL, CSR), VECTOR = sparse_matvec.poisson(3), np.arange(9.0)
GRID = cy.Schedule().space("i", "j")
STEPS = GRID.time("t")
RNG = np.random.default_rng(3)


def torus(*grid):
    return cy.Machine(grid=grid, topology="torus")


def rooms(n, m):
    """A wall across, with a gap where it is wide enough."""
    wall = np.zeros((n, m), dtype=bool)
    wall[n // 2, 1:] = True
    return RNG.random((n, m)) * ~wall, np.zeros((n, m)), wall


EXACT = {  # kernel, arguments, schedule, machine
    "heat": (heat.heat, (RNG.random((6, 5)), 4, 0.2), STEPS, None),
    "heat, blocks": (heat.heat, (RNG.random((7, 6)), 4, 0.2), STEPS.fold(i=cy.block(3), j=cy.block(4)), None),
    "heat, a row": (heat.heat, (RNG.random((3, 9)), 3, 0.2), STEPS, None),
    "heat, nothing inside": (heat.heat, (RNG.random((2, 4)), 3, 0.2), None, None),
    "heat in 3-D": (heat_3d.heat, heat_3d.problem(5, 4, 6, 3), heat_3d.COLUMNS, None),
    "heat in 3-D, a column": (heat_3d.heat, heat_3d.problem(3, 3, 5, 3), heat_3d.COLUMNS, None),
    "heat in 3-D, folded": (
        heat_3d.heat,
        heat_3d.problem(6, 5, 4, 2),
        heat_3d.COLUMNS.fold(i=cy.block(4)),
        None,
    ),
    "FFT": (fft.fft, fft.arguments(RNG.random(8)), None, None),
    "FFT, two samples": (fft.fft, fft.arguments(RNG.random(2)), None, None),
    "bitonic sort": (bitonic_sort.bitonic_sort, (RNG.random(8),), None, None),
    "multigrid": (multigrid.v_cycle, (RNG.random((9, 9)), RNG.random((9, 9)), 0.125, 2), None, None),
    "multigrid, several points a PE": (
        multigrid.v_cycle,
        (RNG.random((17, 17)), RNG.random((17, 17)), 0.0625, 3),
        None,
        cy.Machine(grid=(4, 4)),
    ),
    "Navier-Stokes": (navier_stokes.navier_stokes, navier_stokes.problem(6, 3, 1e-3), None, None),
    "Maxwell": (maxwell.maxwell, maxwell.problem(8, 6), None, None),
    "ELL": (sparse_matvec.ell, (*ELL, VECTOR), None, None),
    "ELL, blocks of rows": (
        sparse_matvec.ell,
        (*ELL, VECTOR),
        cy.Schedule().space("i"),
        cy.Machine(grid=(3,)),
    ),
    "CSR": (sparse_matvec.csr, (*CSR, VECTOR), None, None),
    "CSR, rows apart": (sparse_matvec.csr, (*CSR, VECTOR), cy.Schedule().space("i"), None),
    "density": (particles.density, (5 * RNG.random(7), 5), None, None),
    "particles": (particles.pushed, (4 * RNG.random(6), RNG.random(6), RNG.random(4), 0.1, 4), None, None),
    "histogram": (particles.histogram, (RNG.random(9), 0.0, 0.25, 4), None, None),
    "waves": (waves.waves, (*rooms(5, 6), 4, 0.25), STEPS, None),
    "waves, a row": (waves.waves, (*rooms(1, 6), 4, 0.25), STEPS, None),
    "life": (life.life, (life.glider(6), 5), STEPS, torus(6, 6)),
    "life, a mesh": (life.life, (RNG.integers(0, 2, (3, 5)), 4), STEPS, None),
    "Jacobi": (poisson.jacobi, (RNG.random((4, 5)), 1e-1, 9), STEPS, None),
    "Jacobi, a point": (poisson.jacobi, (np.ones((1, 1)), 1e-3, 3), STEPS, None),
    "Gauss-Seidel": (
        poisson.gauss_seidel,
        (RNG.random((4, 5)), RNG.random((4, 5)) < 0.5, 1e-1, 9),
        STEPS,
        None,
    ),
    "shallow water": (shallow_water.shallow_water, shallow_water.problem(5, 6, 4), shallow_water.CELLS, None),
    "shallow water, a canal": (
        shallow_water.shallow_water,
        shallow_water.problem(1, 7, 4),
        shallow_water.CELLS,
        None,
    ),
    "Ising": (ising.ising, ising.problem(6, 4, 3), ising.SITES, torus(6, 4)),
    "Ising, a mesh": (ising.ising, ising.problem(4, 4, 3), ising.SITES, None),
    "Potts": (potts.potts, potts.problem(6, 4, 3, 5), potts.SITES, torus(6, 4)),
}

ROUNDED = {
    "BiCGStab": (bicgstab.bicgstab, (1 + RNG.random((4, 5)), 0.5, RNG.random((4, 5)), 1e-10, 40), None),
    "conjugate gradients": (conjugate_gradient.conjugate_gradient, (RNG.random((4, 5)), 1e-12, 25), STEPS),
    "GMRES": (
        gmres.gmres,
        (1 + RNG.random((3, 4)), 0.5, RNG.random((3, 4)), 4, 1e-3),
        cy.Schedule().space("k", "l"),
    ),
    "Kalman filter": (kalman.kalman, kalman.problem(3), None),
    "k-means": (kmeans.kmeans, kmeans.problem(6, 8), cy.Schedule().space("i")),
    "LSTM": (lstm.lstm, lstm.problem(3, 2, 3), None),
    "molecular dynamics": (
        molecular_dynamics.atoms,
        molecular_dynamics.problem(4, 4, steps=3),
        molecular_dynamics.SITES,
    ),
    "two-phase flow": (
        two_phase_flow.two_phase,
        two_phase_flow.problem(3, 4, relaxations=3, steps=3),
        two_phase_flow.BLOCKS,
    ),
    "sparse conjugate gradients": (
        sparse_cg.sparse_cg,
        (*sparse_cg.disc(4)[:2], RNG.random(16), 1e-12, 25),
        cy.Schedule().space("i").time("t"),
    ),
    "sparse conjugate gradients, by default": (
        sparse_cg.sparse_cg,
        (*sparse_cg.disc(3)[:2], RNG.random(9), 1e-12, 9),
        None,
    ),
    "transformer": (transformer.transformer, transformer.problem(3, 4, 2), None),
    "implicit heat": (implicit_heat.implicit_heat, implicit_heat.problem(5, 4, 2), implicit_heat.POINTS),
    "lattice Boltzmann": (
        lattice_boltzmann.lattice_boltzmann,
        lattice_boltzmann.problem(5, 4, 3),
        lattice_boltzmann.POINTS,
    ),
    "MACH's listing": (mach_listing.listing, mach_listing.problem(), mach_listing.WORKERS),
    "MACH's listing, to the end": (
        mach_listing.listing,
        mach_listing.problem(4, 5, 9, 1.0),
        mach_listing.WORKERS,
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_all_backends_give_the_bits_of_numpy(name):
    kernel, arguments, schedule, machine = EXACT[name]
    checked = cy.check(kernel.compile(*arguments, schedule=schedule, machine=machine), tolerance=0)
    assert set(checked.errors) | set(checked.skipped) == {"sim", "local", "mpi"}
    assert checked.errors.keys() >= {"sim", "local"}


@pytest.mark.parametrize("name", ROUNDED)
def test_all_backends_agree_where_numpy_adds_in_another_order(name):
    """All backends have the same bits, which differ from NumPy's by rounding."""
    kernel, arguments, schedule = ROUNDED[name]
    checked = cy.check(kernel.compile(*arguments, schedule=schedule))
    assert checked.errors.keys() >= {"sim", "local"}


def test_inner_loops_of_navier_stokes_end_when_they_have_converged():
    """As in Python, but for the two or three iterations in which the end of a loop becomes known."""
    arguments = navier_stokes.problem(6, 4, 1e-3)
    _, _, steps, _, _, h, tolerance = arguments
    result = cy.run(navier_stokes.navier_stokes.compile(*arguments), backend="sim")
    expected = 0
    for step in range(1, steps + 1):
        before = navier_stokes.navier_stokes.reference(
            arguments[0].copy(), arguments[1], step - 1, *arguments[3:]
        )
        f, u = before
        change = 1.0
        while change > tolerance:
            new = u.copy()
            around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
            new[1:-1, 1:-1] = (around + h * h * f[1:-1, 1:-1]) / 4
            change, u, expected = np.max(np.abs(new - u)), new, expected + 1
    assert expected <= result.steps["iteration"] <= expected + 3 * steps
    assert result.cycles < 60 * expected


def test_a_point_source_costs_the_same_on_grids_of_any_size():
    def cycles_a_step(n):
        programs = [maxwell.maxwell.compile(*maxwell.problem(n, steps)) for steps in (10, 20)]
        less, more = (cy.run(program, backend="sim", functional=False).cycles for program in programs)
        return (more - less) / 10

    assert cycles_a_step(48) <= cycles_a_step(12) + 1


def test_five_grids_of_multigrid_reach_over_sixteen_pes():
    n = 65
    u, f = np.zeros((n, n)), RNG.random((n, n))
    program = multigrid.v_cycle.compile(u, f, 1 / (n - 1), 5)
    assert program.grid == (n, n)  # the PEs of the coarsest points are 16 hops apart
    result = cy.run(program, backend="sim")
    np.testing.assert_array_equal(result.output, multigrid.v_cycle.reference(u, f, 1 / (n - 1), 5))

"""Exact cycles: operand alignment and the skews of section 7, as E3 and E4 read them (CY-085 … CY-092)."""

import itertools

import cases
import kernels
import numpy as np
import pytest

import cyclotron as cy

SHAPES = [(1, 1, 1), (3, 3, 3), (4, 5, 3), (5, 4, 6), (2, 7, 1)]


def starts(program, result):
    """Start cycle by PE coordinates and loop variable; a computation outside the loop has index 0."""
    found = {}
    for event in result.events:
        pe = tuple(int(c) for c in np.unravel_index(event["pe"], program.grid))
        step = int(event["loops"][0]) if event["depth"] else 0
        assert found.setdefault((*pe, step), int(event["start"])) == int(event["start"])
    return found


@pytest.mark.parametrize(("n", "k", "m"), SHAPES)
def test_output_stationary_runs_point_ijk_at_i_plus_j_plus_k(n, k, m):
    program = kernels.matmul.compile(
        np.ones((n, k)), np.ones((k, m)), schedule=cases.MATMUL["output-stationary"]
    )
    result = cy.run(program, backend="sim")
    assert starts(program, result) == {p: sum(p) for p in itertools.product(range(n), range(m), range(k))}
    assert result.cycles == n + m + k - 2
    if min(n, k, m) > 1:
        assert program.notes["time"] == "i+j+k"


@pytest.mark.parametrize(("n", "k", "m"), SHAPES)
def test_weight_stationary_runs_point_ijk_at_i_plus_j_plus_2k(n, k, m):
    program = kernels.matmul.compile(
        np.ones((n, k)), np.ones((k, m)), schedule=cases.MATMUL["weight-stationary"]
    )
    result = cy.run(program, backend="sim")
    expected = {(i, kk, j): i + j + 2 * kk for i, kk, j in itertools.product(range(n), range(k), range(m))}
    assert starts(program, result) == expected


@pytest.mark.parametrize("hop", [1, 2, 3])
@pytest.mark.parametrize("gemm", [1, 2, 3])
@pytest.mark.parametrize("trsm", [0, 1, 2])
def test_solve_of_pe_i_starts_at_i_times_hop_gemm_trsm(hop, gemm, trsm):
    n = 7
    machine = cy.Machine(
        link=cy.Link(latency=hop, depth=8),
        pe=cy.PE(cycles={"multiply": gemm, "multiply_add": gemm, "subtract": 0, "divide": trsm}),
    )
    rng = np.random.default_rng(0)
    arguments = cases.unit_triangle(rng, n), cases.integers(rng, n)
    program = kernels.solve_vector.compile(*arguments, schedule=cy.Schedule().space("i"), machine=machine)
    result = cy.run(program, backend="sim")
    solves = {int(e["pe"]): int(e["start"]) for e in result.events if e["operator"] == "divide"}
    assert solves == {i: i * (hop + gemm + trsm) for i in range(n)}


@pytest.mark.parametrize(("cost", "hop"), [(1, 1), (2, 3), (3, 2)])
def test_output_stationary_with_other_costs(cost, hop):
    """h(i+j) + ck, E3, with channels deep enough not to stall."""
    machine = cy.Machine(
        link=cy.Link(latency=hop, response_latency=0, depth=8),
        pe=cy.PE(cycles={"multiply": cost, "multiply_add": cost, "matmul": cost, "matmul_add": cost}),
    )
    program = kernels.matmul.compile(
        np.ones((5, 6)), np.ones((6, 4)), schedule=cases.MATMUL["output-stationary"], machine=machine
    )
    found = starts(program, cy.run(program, backend="sim"))
    assert found == {
        (i, j, k): hop * (i + j) + cost * k for i, j, k in itertools.product(range(5), range(4), range(6))
    }


@pytest.mark.parametrize("hop", [0, 1, 2, 3, 5, 8])
@pytest.mark.parametrize("response", [0, 1, 2, 5])
@pytest.mark.parametrize("cost", [1, 2, 3, 7])
def test_full_rate_exactly_from_the_least_depth_on(hop, cost, response):
    """ceil((h + r) / c), at least 1: there each PE computes every c cycles, at any less some wait."""
    n, m, k = 5, 4, 40
    program = kernels.matmul.compile(
        cy.spec((n, k)), cy.spec((k, m)), schedule=cases.MATMUL["output-stationary"]
    )
    operators = {"multiply": cost, "multiply_add": cost, "matmul": cost, "matmul_add": cost}

    def cycles(depth):
        link = cy.Link(latency=hop, response_latency=response, depth=depth)
        retimed = program.with_machine(cy.Machine(link=link, pe=cy.PE(cycles=operators)))
        return cy.run(retimed, backend="sim", functional=False).cycles

    least = max(1, -(-(hop + response) // cost))
    full_rate = hop * (n + m - 2) + cost * k
    for depth in range(1, least):
        assert cycles(depth) > full_rate
    for depth in (least, least + 1, least + 7, 1 << 20):
        assert cycles(depth) == full_rate


def test_gemms_of_later_rows_overlap_solves_of_earlier_ones():
    """CY-106: the two spaces run concurrently."""
    rng = np.random.default_rng(0)
    program = kernels.solve_scalar.compile(
        cases.unit_triangle(rng, 6), cases.integers(rng, 6, 4), schedule=cy.Schedule().space("i")
    )
    events = cy.run(program, backend="sim").events
    solves = [e for e in events if e["operator"] == "divide"]
    gemms = [e for e in events if e["operator"].startswith("multiply")]
    assert any(
        g["pe"] > s["pe"] and g["start"] < s["end"] and s["start"] < g["end"] for g in gemms for s in solves
    )


@cy.kernel
def deviations(x, mean):
    s = cy.empty(())
    s[()] = sum(abs(x[i] - mean[i]) for i in range(x.shape[0]))
    return s


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_a_sum_that_travels_waits_for_one_addition_in_each_pe(n):
    """All PEs make their terms at once, of two operators; then a hop and an addition each."""
    program = deviations.compile(np.arange(float(n)), np.ones(n), schedule=cy.Schedule().space("i"))
    result = cy.run(program, backend="sim")
    assert result.output == np.abs(np.arange(n) - 1).sum()
    assert result.cycles == 2 + 2 * (n - 1)

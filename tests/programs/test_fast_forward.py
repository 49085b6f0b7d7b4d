"""Fast-forward: the numbers of step by step, in a time that does not grow with the steps."""

import kernels
import numpy as np
import pytest

import cyclotron as cy


def timed(program, **options):
    return cy.run(program, backend="sim", functional=False, event_limit=0, **options)


def product(n, m, k, schedule=cy.schedules.output_stationary, machine=None):
    return kernels.matmul.compile(
        cy.spec((n, k)), cy.spec((k, m)), schedule=schedule(kernels.matmul), machine=machine
    )


@pytest.mark.parametrize("steps", [10**3, 10**6, 10**9])
def test_closed_form_at_any_length(steps):
    """I + J + K - 2, and K of it busy in each PE."""
    result = timed(product(20, 30, steps))
    assert result.engine == "fast-forward"
    assert result.cycles == 20 + 30 + steps - 2
    assert result.stats["cycles_skipped"] > steps - 200
    assert (result.stats["busy"] == steps).all()
    i, j = np.indices((20, 30))
    assert (result.stats["stall_empty"] == i + j).all()
    assert not result.stats["stall_full"].any()
    assert [c["messages"] for c in result.stats["channels"]] == [20 * 29 * steps, 19 * 30 * steps]
    assert [c["queues"] for c in result.stats["channels"]] == [20 * 29, 19 * 30]
    assert [c["utilization"] for c in result.stats["channels"]] == [steps / result.cycles] * 2
    assert result.stats["words_moved"] == (20 * 29 + 19 * 30) * steps


@pytest.mark.parametrize(("hop", "cost", "response"), [(1, 1, 0), (2, 1, 1), (4, 1, 2), (3, 2, 1), (4, 3, 0)])
def test_full_rate_exactly_from_the_least_depth_on(hop, cost, response):
    """ceil((latency + response) / cost): one place less, and the link's round trip sets the pace."""
    steps = 10**7
    for depth in range(1, 8):
        machine = cy.Machine(
            link=cy.Link(latency=hop, response_latency=response, depth=depth),
            pe=cy.PE(cycles=dict.fromkeys(("multiply", "multiply_add", "matmul", "matmul_add"), cost)),
        )
        pace = max(cost * depth, hop + response) / depth
        result = timed(product(4, 5, steps, machine=machine))
        assert result.engine == "fast-forward"
        assert abs(result.cycles - pace * steps) < 100
        assert (result.cycles < cost * steps + 100) == (depth >= -(-(hop + response) // cost))


def test_weight_stationary_and_folded_arrays():
    weight = timed(product(4, 10**6, 5, cy.schedules.weight_stationary))
    assert weight.engine == "fast-forward"
    folded = kernels.matmul.compile(
        cy.spec((12, 10**5)),
        cy.spec((10**5, 12)),
        schedule=cy.schedules.output_stationary(kernels.matmul).fold(i=3, j=3),
    )
    result = timed(folded)
    assert result.engine == "fast-forward"
    general = timed(folded, engine="general")
    assert (result.cycles, general.engine) == (general.cycles, "general")


def test_both_loops_of_a_nest_are_skipped():
    """A line of PEs: each runs a row of the result after the other, and each row's steps."""
    schedule = cy.Schedule().space("j").time("i", "k")
    program = kernels.matmul.compile(cy.spec((10**4, 10**4)), cy.spec((10**4, 3)), schedule=schedule)
    result = timed(program)
    assert result.engine == "fast-forward"
    assert result.cycles - result.stats["cycles_skipped"] < 10**4


def test_pes_that_wait_for_each_other_in_turn():
    """A stencil: messages go both ways."""

    @cy.kernel
    def heat(A, n, steps):
        H = cy.empty((steps, n))
        for t in range(steps):
            for i in range(n):
                if t == 0:
                    H[t, i] = A[i]
                elif i > 0 and i < n - 1:
                    H[t, i] = H[t - 1, i - 1] + H[t - 1, i + 1]
                else:
                    H[t, i] = H[t - 1, i]
        return H

    program = heat.compile(
        cy.spec((6,)),
        6,
        10**5,
        schedule=cy.Schedule().space("i").time("t"),
        machine=cy.Machine(link=cy.Link(depth=2)),
    )
    result = timed(program)
    assert result.engine == "fast-forward"
    assert result.stats["cycles_skipped"] > 0.99 * result.cycles


def test_events_where_they_fit():
    small = cy.run(product(3, 3, 4), backend="sim", functional=False)
    assert (len(small.events), small.events_dropped) == (36, 0)
    large = cy.run(product(3, 3, 10**6), backend="sim", functional=False)
    assert (len(large.events), large.events_dropped) == (0, 9 * 10**6)


@pytest.mark.parametrize("words_per_cycle", [1, 3, 4])
def test_tiles_of_one_size_keep_links_busy(words_per_cycle):
    """Messages of four words, at a cost of four cycles each: the narrow link sets no other pace."""
    steps = 10**5
    machine = cy.Machine(link=cy.Link(words_per_cycle=words_per_cycle, depth=2))
    program = kernels.matmul.compile(
        cy.blocked(np.zeros((6, 2 * steps)), (2, 2)),
        cy.blocked(np.zeros((2 * steps, 4)), (2, 2)),
        schedule=cy.schedules.output_stationary(kernels.matmul),
        machine=machine,
    )
    result = timed(program)
    assert result.engine == "fast-forward"
    transfer = -(-4 // words_per_cycle)
    channel = result.stats["channels"][0]
    assert channel["busy_cycles"] == transfer * channel["messages"] == transfer * channel["words"] // 4
    assert abs(channel["utilization"] - transfer * steps / result.cycles) < 1e-12


def test_tiles_of_several_sizes_are_interpreted():
    blocked = kernels.matmul.compile(cy.blocked(np.ones((3, 4)), (2, 2)), cy.blocked(np.ones((4, 4)), (2, 2)))
    assert timed(blocked).engine == "general"
    assert timed(blocked).cycles == cy.run(blocked, backend="sim").cycles


def test_large_uniform_arrays_are_simulated_by_few_of_their_pes():
    result = timed(product(100, 150, 1000))
    assert result.stats["pes_skipped"] == 100 * 150 - 8 * 8
    i, j = np.indices((100, 150))
    assert (result.stats["stall_empty"] == i + j).all()
    assert (result.stats["idle"] == 99 - i + 149 - j).all()
    general = timed(product(100, 150, 1000), engine="general")
    assert general.stats["pes_skipped"] == 0
    assert general.stats["channels"] == result.stats["channels"]


def test_uniform_columns_of_a_long_triangle():
    """Millions of messages until the columns are compared, of which those of a few PEs are kept."""
    n, columns = 800, 17
    program = kernels.solve_scalar.compile(
        cy.spec((n, n)), cy.spec((n, columns)), schedule=cy.Schedule().space("i", "r")
    )
    result, general = timed(program), timed(program, engine="general")
    assert result.stats["pes_skipped"] == n * (columns - 8)
    assert result.cycles == general.cycles
    assert result.stats["channels"] == general.stats["channels"]
    for name in ("busy", "stall_empty", "stall_full", "idle"):
        np.testing.assert_array_equal(result.stats[name], general.stats[name])

"""Movements of tensors in words."""

import numpy as np
import pytest
from kernels import cholesky_scalar, matmul, prefix_sum, solve_vector

import cyclotron as cy

S = cy.spec((4, 4))


def kinds(program):
    return {motion.flow.tensor: motion.kind for motion in program.explain().motions}


def test_output_stationary():
    """CY-099, Fig. 13 left: C stays, A goes right and B goes down."""
    program = matmul.compile(S, S, schedule=cy.schedules.output_stationary(matmul))
    explanation = program.explain()
    assert kinds(program) == {"A": "stream", "B": "stream", "C": "stationary"}
    assert explanation.stationary == ("C",)
    hops = {motion.flow.tensor: motion.hops for motion in explanation.motions}
    assert hops == {"A": ((0, 1),), "B": ((1, 0),), "C": ()}
    text = str(explanation)
    line = matmul.__wrapped__.__code__.co_firstlineno + 5
    for sentence in (
        "matmul on 16 PEs, grid 4×4",
        "space: i, j, one PE for each value",
        "time: k, a loop in each PE, the first outermost",
        "C[i, j] is stationary: each PE keeps its own and adds to it along k",
        "A[i, k] streams along j: PE [i, j] receives it from PE [i, j-1], 1 hop a step; loaded where j = 0",
        "B[k, j] streams along i: PE [i, j] receives it from PE [i-1, j], 1 hop a step; loaded where i = 0",
        f"C[i, j] is stored by the statement at line {line} where k = 3",
        "time function: point (i, j, k) runs at cycle i+j+k, with unit costs",
    ):
        assert sentence in text.split("\n  ")


def test_weight_stationary():
    """CY-099, Fig. 13 middle: A stays, B and the partial results of C move."""
    schedule = cy.schedules.weight_stationary(matmul)
    explanation = schedule.explain(matmul, S, S)
    assert explanation.stationary == ("A",)
    text = str(explanation)
    assert "A[i, k] is stationary: each PE loads its own before the time loop" in text
    assert "C[i, j] streams, a partial result growing on its way, along k" in text
    assert "at cycle i+j+2k" in text


def test_pumma():
    """CY-099, Fig. 13 right: one operand is broadcast, the other streams."""
    program = matmul.compile(S, S, schedule=cy.schedules.pumma(matmul))
    assert kinds(program) == {"A": "broadcast", "B": "stream", "C": "stationary"}
    assert "A[i, k] is broadcast along j: one message reaches a whole line of PEs" in str(program.explain())


def test_reuse_in_one_pe_is_stationary():
    explanation = cy.Schedule().space("i").explain(matmul, S, S)
    assert explanation.stationary == ("C", "A")
    assert (
        "A[i, k] is stationary: each PE keeps its own and uses it again along j; loaded where j = 0"
        in str(explanation)
    )


def test_one_pe_and_no_time():
    assert "space: none, one PE does it all" in str(cy.Schedule().explain(matmul, S, S))
    assert "on 1 PE," in str(cy.Schedule().explain(matmul, S, S))
    line = cy.Schedule().space("i")
    assert "time: none" in str(line.explain(prefix_sum, cy.spec(4)))


@pytest.mark.parametrize(("kernel", "args"), [(solve_vector, (S, cy.spec(4))), (cholesky_scalar, (S,))])
def test_every_channel_is_explained(kernel, args):
    """Each link of the program is a hop of some motion, and each hop a link."""
    program = kernel.compile(*args)
    explained = {
        (f"{m.flow.name}^{m.flow.space.name}", hop) for m in program.explain().motions for hop in m.hops
    }
    links = {
        (flows.split(" ")[0], tuple(channel["offset"]))
        for channel, flows in zip(program.channels, program.channel_flows, strict=True)
        if channel["kind"] == "link"
    }
    assert explained == links


@cy.kernel(max_steps=100)
def solve_by_sweeps(A, b, x):
    while cy.max(cy.abs(A @ x - b)) > 1e-3:
        x = x + 0.05 * (b - A @ x)
    return x


def test_a_channel_of_flags_moves_no_tensor():
    """Flags that end a loop travel by channels that come after those of the dataflow's flows."""
    A = 6 * np.eye(6) + 1
    schedule = cy.Schedule().space("j", "0").reduce("j", "tree", 4)
    machine = cy.Machine((4, 4))
    program = solve_by_sweeps.compile(A, np.ones(6), np.zeros(6), schedule=schedule, machine=machine)
    *_, flags = program.channels
    assert program.channel_flows[-1] == flags["name"]
    assert all("^" in flows for flows in program.channel_flows[:-1])
    assert len(program.channel_flows) == len(program.channels)
    assert "streams along" in str(program.explain())
    assert [one["depth"] for one in program.with_depths({flags["name"]: 7}).channels] == [
        *(one["depth"] for one in program.channels[:-1]),
        7,
    ]


def test_hexagonal_array():
    """All three move over one link each, whatever the placement's forms are."""
    machine = cy.Machine(grid=(7, 7), topology="hexagonal")
    explanation = cy.schedules.hexagonal(matmul).explain(matmul, S, S, machine=machine)
    assert explanation.stationary == ()
    assert {m.flow.tensor: m.hops for m in explanation.motions} == {
        "A": ((0, 1),),
        "B": ((1, 0),),
        "C": ((-1, -1),),
    }
    text = str(explanation)
    assert "C[i, j] streams, a partial result growing on its way, along i-k, j-k" in text
    assert "2 hops" not in text


def test_folded_and_rotated_grids_keep_the_kernels_elements():
    folded = cy.Schedule().space("i", "j").fold(i=cy.block(2)).explain(matmul, S, S)
    assert "C[i, j] is stationary" in str(folded)
    assert "grid 2×4" in str(folded)
    rotated = cy.schedules.cannon(matmul).explain(matmul, S, S)
    assert "A[i, k] streams along j: PE [i, j] receives it from PE [i, j+1], 1 hop a step" in str(rotated)


def test_explanation_in_a_notebook():
    text = matmul.compile(S, S).explain()._repr_html_()
    assert text.startswith("<b>matmul on 16 PEs")
    assert "<li>C[i, j] is stationary" in text

"""Programs that hop along a tree: channels whose sender is a multiple of the receiver."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))

from tree_reduction import tree_sums

ENGINES = ("auto", "general", "fast-forward")


@cy.kernel
def tree_sum(A):
    """Sums of subtrees, of a binary heap whose leaves are A."""
    n = A.shape[0]
    S = cy.empty((2 * n - 1,))
    for p in range(2 * n - 2, -1, -1):
        if p >= n - 1:
            S[p] = A[p - n + 1]
        else:
            S[p] = S[2 * p + 1] + S[2 * p + 2]
    return S


@cy.kernel
def numbered_from_one(A):
    n = A.shape[0]
    S = cy.empty((2 * n,))
    for p in range(2 * n - 1, -1, -1):
        if p == 0:
            S[p] = A[0]
        elif p >= n:
            S[p] = A[p - n]
        else:
            S[p] = S[2 * p] + S[2 * p + 1]
    return S


def on_a_tree(leaves, **fields):
    return tree_sum.compile(
        np.arange(1.0, leaves + 1),
        schedule=cy.Schedule().space("-p"),
        machine=cy.machines.tree(leaves, **fields),
    )


@pytest.mark.parametrize("leaves", [1, 2, 4, 8, 32])
@pytest.mark.parametrize("latency", [1, 5])
def test_a_sum_takes_a_hop_and_an_addition_a_level(leaves, latency):
    program = on_a_tree(leaves, link=cy.Link(latency=latency, depth=1))
    levels = int(math.log2(leaves))
    result = cy.run(program, backend="sim")
    assert np.array_equal(result.output, tree_sum.reference(np.arange(1.0, leaves + 1)))
    assert result.output[0] == leaves * (leaves + 1) / 2
    assert result.cycles == levels * (latency + 1)
    for engine in ENGINES:
        assert cy.run(program, backend="sim", functional=False, engine=engine).cycles == result.cycles
    assert cy.prove(program)


@pytest.mark.parametrize("leaves", [3, 6, 11])
def test_trees_that_are_not_full(leaves, tmp_path):
    program = on_a_tree(leaves)
    cy.check(program)
    program.save(tmp_path / "tree.cyc")
    loaded = cy.load(tmp_path / "tree.cyc")
    assert loaded.core == program.core
    if leaves == 3:
        return  # each operand of the two additions comes over a hop of its own
    senders = {channel["name"].rpartition(" from ")[2]: channel for channel in loaded.channels}
    for text, offset in (("(2(-p)+1)", [-1]), ("(2(-p)+2)", [-2])):
        assert (senders[text]["scale"], senders[text]["offset"]) == ([2], offset)
    assert "PE [-p] receives it from PE [2(-p)+2]" in str(program.explain())
    assert "[2*(-p)+2]_S.b   receive" in str(program)


def test_sums_follow_each_other_up_the_tree():
    """At full rate once the tree is filled: an addition for each column, and a level more for each hop."""
    A = np.arange(8.0 * 20).reshape(8, 20)
    program = tree_sums.compile(
        A, schedule=cy.Schedule().space("-p").time("k"), machine=cy.machines.tree(8, link=cy.Link(depth=2))
    )
    result = cy.run(program, backend="sim")
    assert np.array_equal(result.output, tree_sums.reference(A))
    assert result.cycles == 3 * 2 + 20 - 1
    to_the_left = result.messages["receiver"] == 1
    assert set(result.messages["sender"][to_the_left]) == {3, 4}
    cy.check(program)
    assert cy.prove(program)


def test_a_heap_numbered_from_one():
    """On link maps of one's own: PE 0 stands apart, and PE 1 is the root."""
    up = [cy.LinkMap(f"(p) -> (p // 2) if p > 1 and p % 2 == {side}") for side in (0, 1)]
    A = np.arange(6.0)
    program = numbered_from_one.compile(
        A, schedule=cy.Schedule().space("-p"), machine=cy.Machine(grid=(12,), topology=up)
    )
    cy.check(program)
    assert cy.run(program, backend="sim").output[1] == A.sum()


def test_a_machine_without_such_links_is_refused_or_hands_values_on(golden_refusal):
    def compiled(machine=None):
        return lambda: tree_sum.compile(cy.spec((8,)), schedule=cy.Schedule().space("-p"), machine=machine)

    on_a_line = cy.run(compiled()(), np.arange(8.0), backend="sim")
    assert np.array_equal(on_a_line.output, tree_sum.reference(np.arange(8.0)))
    half = cy.Machine(grid=(15,), topology=cy.machines.tree(8).link_maps[0])
    golden_refusal("tree-with-half-of-its-links", cy.LegalityError, "CYC220", compiled(half))
    with pytest.raises(cy.ShapeError, match="`leaves` is 0"):
        cy.machines.tree(0)

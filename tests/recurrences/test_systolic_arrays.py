"""All systolic arrays of a kernel."""

import itertools

import numpy as np
import pytest
from test_dependences import convolution, matmul, solve

import cyclotron as cy

A, B = np.arange(9.0).reshape(3, 3), np.arange(9.0, 18.0).reshape(3, 3)


def test_six_arrays_of_matmul():
    """AS-023: three one-dimensional and three two-dimensional, each compiled and equal to NumPy."""
    arrays = cy.systolic_arrays(matmul, A, B)
    spaces = [schedule.space_indices for schedule in arrays]
    assert spaces == [("i",), ("j",), ("k",), ("i", "j"), ("i", "k"), ("j", "k")]
    assert not arrays.rejected
    for schedule in arrays:
        assert isinstance(schedule, cy.Schedule)
        program = matmul.compile(A, B, schedule=schedule)
        assert program.verify()
        np.testing.assert_array_equal(cy.run(program, backend="sim").output, A @ B)


def test_table_of_arrays():
    arrays = cy.systolic_arrays(matmul, A, B, simulate=True)
    assert len(arrays[:2]) == 2
    lines = str(arrays).split("\n")
    assert lines[0].split() == ["array", "space", "time", "PEs", "stationary", "cycles"]
    assert lines[5].split() == ["3", "i,", "j", "k", "9", "(3×3)", "C", "7"]
    assert [array.stationary for array in arrays.arrays][3:] == [("C",), ("A",), ("B",)]
    assert "<td" in arrays._repr_html_()


def test_messages_go_to_neighbours_only():
    """AS-002: every channel of every array joins neighbours."""
    for kernel, args in (
        (matmul, (A, B)),
        (solve, (cy.spec((4, 4)),) * 2),
        (convolution, (cy.spec(7), cy.spec(3))),
    ):
        for array in cy.systolic_arrays(kernel, *args).arrays:
            for channel in array.program.channels:
                assert channel["kind"] == "link"
                assert sum(map(abs, channel["offset"])) == 1


@cy.kernel
def far_back(A):
    P = cy.empty_like(A)
    for i in range(A.shape[0]):
        P[i] = A[i] if i < 9 else P[i - 9] + A[i]
    return P


def test_an_illegal_choice_says_why():
    one_way = cy.Machine(topology=(cy.LinkMap("(i) -> (i + 1)"),))
    arrays = cy.systolic_arrays(far_back, cy.spec(24), machine=one_way)
    assert list(arrays) == []
    assert "no link leads there" in arrays.rejected["i",]
    assert "not legal: space i: " in str(arrays)
    assert "not legal, because" in arrays._repr_html_()


def test_a_machine_that_is_too_small_rejects():
    arrays = cy.systolic_arrays(matmul, A, B, machine=cy.Machine(grid=(3,)))
    assert ("i",) in [schedule.space_indices for schedule in arrays]
    assert ("i", "j") in arrays.rejected


@pytest.fixture(scope="module")
def result():
    program = matmul.compile(A, B, schedule=cy.Schedule().space("i", "j"))
    return cy.run(program, backend="sim")


def test_each_pe_computes_one_element(result):
    """AS-001, AS-003: a 3×3 array, each PE makes one element of C, and they equal NumPy's."""
    assert result.grid == (3, 3)
    np.testing.assert_array_equal(result.output, A @ B)
    counts = np.bincount(result.events["pe"], minlength=9)
    assert counts.tolist() == [3] * 9  # three multiply-adds, one element


def test_operands_are_loaded_at_the_boundary_only(result):
    """AS-004, AS-007: A at j = 0 and B at i = 0; 18 loads serve 54 uses, the other 36 are messages."""
    dataflow = result.program.dataflow
    loads = dataflow.rules.of("Inject")
    points = {rule.flow.name: dataflow.rule_points(rule) for rule in loads}
    assert all(j == 0 for _, j, _ in points["A"])
    assert all(i == 0 for i, _, _ in points["B"])
    loaded = sum(map(len, points.values()))
    messages = sum(channel["messages"] for channel in result.stats["channels"])
    assert (loaded, messages, loaded + messages) == (18, 36, 2 * 27)


def test_feeding_is_skewed(result):
    """AS-005: PE (i, j) uses A[i, k] and B[k, j] at cycle i + j + k; at t = 0 only the corner works."""
    table = {}
    for event in result.events:
        i, j = divmod(int(event["pe"]), 3)
        k = int(event["loops"][0]) if event["depth"] else 0
        table.setdefault(int(event["start"]), set()).add((i, j, k))
    first = min(table)
    expected = {}
    for i, j, k in itertools.product(range(3), repeat=3):
        expected.setdefault(first + i + j + k, set()).add((i, j, k))
    assert table == expected
    assert table[first] == {(0, 0, 0)}
    assert table[first + 1] == {(0, 0, 1), (0, 1, 0), (1, 0, 0)}


def test_results_stay_and_are_stored_at_the_end(result):
    """AS-006: C is stationary and leaves after the last k."""
    program = result.program
    assert program.explain().stationary == ("C",)
    (store,) = program.dataflow.rules.of("Export")
    assert store.domain == "k = 2"
    assert not [channel for channel in program.channels if channel["name"].startswith("C^")]


def test_space_and_time_loops_of_the_program(result):
    """AS-022: with space (i, j) and time k, each PE runs a loop over k and no other."""
    for item in result.program.classes:
        loops = [line.split()[1] for line in str(item).split("\n") if line.strip().startswith("for ")]
        assert loops == ["k"]

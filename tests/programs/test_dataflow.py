"""The dataflow as data: its log, its points, and what happens at each."""

import numpy as np
import pytest
from kernels import cholesky_scalar, matmul, solve_vector

import cyclotron as cy

SQUARE = cy.spec((4, 4))


def triangular(n=5):
    return solve_vector.compile(cy.spec((n, n)), cy.spec((n,))).dataflow


def test_log_of_the_matmul_derivation():
    """CY-069: section 8's rules made the lines of Fig. 4, each with its source line."""
    dataflow = matmul.compile(SQUARE, SQUARE).dataflow
    assert [(rule.origin, rule.statement, rule.domain) for rule in dataflow.rules] == [
        ("Inject", "(i, j, k)_A^mul ← A[i, k]", "j = 0"),
        ("Propagate", "(i, j, k)_A^mul ← (i, j-1, k)_A^mul", "j ≥ 1"),
        ("Inject", "(i, j, k)_B^mul ← B[k, j]", "i = 0"),
        ("Propagate", "(i, j, k)_B^mul ← (i-1, j, k)_B^mul", "i ≥ 1"),
        ("LowerSum", "(i, j, k)_C^mul ← (i, j, k)_A^mul · (i, j, k)_B^mul", "k = 0"),
        ("LowerSum", "(i, j, k)_C^mul ← (i, j, k-1)_C^mul + (i, j, k)_A^mul · (i, j, k)_B^mul", "k ≥ 1"),
        ("Export", "C[i, j] ← (i, j, k)_C^mul", "k = 3"),
    ]
    line = "C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))"
    for rule in dataflow.rules:
        assert rule.source_line.startswith("kernels.py:")
        assert rule.source_line.endswith(line)


def test_log_prints_as_a_table():
    rules = triangular().rules
    lines = str(rules).split("\n")
    assert lines[0].split() == ["rule", "line", "where", "source"]
    assert len(lines) == 2 + len(rules)
    assert {rule.origin for rule in rules.of("InnerSend", "OuterSend")} == {"InnerSend", "OuterSend"}
    assert len(rules[1:3]) == 2
    for rule in rules:
        assert " ".join(str(rule).split()) in " ".join(str(triangular()).split())
    assert "<table>" in rules._repr_html_()


def test_a_parsed_dataflow_names_lines_of_its_text():
    dataflow = cy.Dataflow.parse(str(triangular()))
    assert dataflow == triangular()
    assert dataflow != 3
    lines = str(dataflow).split("\n")
    for rule in dataflow.rules:
        name, number = rule.source_line.split(":")
        assert name == "<dataflow>"
        assert rule.statement in lines[int(number) - 1]


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_nodes_of_the_triangular_solve(n):
    """CY-100: n(n-1)/2 multiplications and n divisions, of tiles or of scalars."""
    dataflow = triangular(n)
    counts = {space.name: len(dataflow.points(space)) for space in dataflow.spaces}
    assert counts.get("mul", 0) == n * (n - 1) // 2
    assert counts["div"] == n


def test_an_inner_node_of_the_triangular_solve():
    """CY-101: X_j from the north, X_i from the west; X_j to the south, X_i + L_ij X_j to the east."""
    node = triangular().node(3, 1)
    assert node.spaces == ("mul",)
    assert set(node.receives) == {("xb", (-1, 0)), ("xa", (0, -1))}
    assert set(node.sends) == {("xb", (1, 0)), ("xa", (0, 1))}
    assert node.loads == ("(i, j)_L^mul ← L[i, j]",)
    assert "receive xb from (2, 1)" in str(node)


def test_a_diagonal_node_of_the_triangular_solve():
    """CY-102: X_i from the west, the solved one to the south."""
    node = triangular().node(2, 2)
    assert node.spaces == ("div",)
    assert node.receives == (("xa", (0, -1)),)
    assert node.sends == (("x", (1, 0)),)
    assert node.stores == ("x[i] ← (i, i)_x^div",)
    last = triangular().node(4, 4)
    assert last.sends == ()


def test_a_point_outside_does_nothing():
    node = triangular().node(0, 3)
    assert str(node) == "(0, 3): no operation"


def test_every_receive_has_its_send():
    dataflow = cholesky_scalar.compile(cy.spec((4, 4))).dataflow
    least, greatest = dataflow.bounds
    sends, receives = set(), set()
    for point in np.ndindex(*(b + 1 for b in greatest)):
        node = dataflow.node(*map(int, point))
        sends |= {(point, tuple(np.add(point, step).tolist())) for _, step in node.sends}
        receives |= {(tuple(np.add(point, step).tolist()), point) for _, step in node.receives}
    assert least == (0, 0, 0)
    assert sends == receives
    assert sends


def test_spaces_and_flows():
    dataflow = triangular()
    assert [str(space) for space in dataflow.spaces] == [
        "(i, j)^mul    i ≤ 4, j ≥ 0, j < i",
        "(i, i)^div    0 ≤ i ≤ 4",
    ]
    assert "(i, j)_L^mul carries L[i, j]" in [str(flow) for flow in dataflow.flows]
    assert dataflow.points("mul", (0, 0), (2, 2)) == [(1, 0), (2, 0), (2, 1)]


def test_an_unknown_space_names_those_that_exist():
    with pytest.raises(cy.ShapeError, match="no space `gemm`") as caught:
        triangular().points("gemm")
    assert caught.value.code == "CYC240"
    assert "mul, div" in caught.value.help


def test_a_point_of_another_rank_is_refused():
    with pytest.raises(cy.ShapeError, match="a point has 3 coordinates, `solve_vector` has 2") as caught:
        triangular().node(1, 2, 3)
    assert caught.value.code == "CYC241"

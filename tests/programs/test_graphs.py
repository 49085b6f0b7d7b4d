"""Graphs of kernels: what they say, how they are drawn, and that they run to what Python computes.

MA-088 … MA-094.
"""

from __future__ import annotations

import io
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import array_kernels
import cases
import kernels
import numpy as np
import pytest
import test_corpus
import test_polybench

import cyclotron as cy

SVG = "{http://www.w3.org/2000/svg}"


@cy.kernel
def combined(x, y, w):
    """The paper's Fig. 5: an addition that the compiler names, and the multiplication that assigns."""
    z = (x + y) * w
    return z


@cy.kernel
def running_sum(LA, GA, limit):
    """The paper's Listing 1."""
    GS = cy.zeros((1,), dtype="float32")
    for gs in GA:
        GS += gs
        if GS[0] > limit:
            break
        LA[1:4, 3:5, 1:2] += LA[1:4, 3:5, 8:9]
    total = cy.sum(LA)
    return LA, total


@cy.kernel(max_steps=3)
def halved(x):
    while x[0] > 1:
        x = x / 2
    return x


@cy.kernel
def branches(A):
    """Conditions on indices: in statements, and in expressions whose other branch would read outside."""
    X = cy.empty_like(A)
    n = A.shape[0]
    for i in range(n):
        X[i] = A[i - 1] + 1 if i > 0 else A[i]
        if i % 2 == 0:
            X[i] = X[i] * 3
    return X


@cy.kernel
def triangle(L):
    s = cy.zeros((L.shape[0],))
    for i in range(L.shape[0]):
        for j in range(i, -1, -1):
            s[i] += L[i, j] / 2
    return s


@cy.kernel
def cast(x):
    y = cy.where(x > 1, 1, 2) * x
    z = (x.astype("float64") / 3).astype("float32")
    return y, z


def results(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def equal(kernel: cy.Kernel, *arguments: Any) -> cy.Graph:
    """Check that a graph runs to what the kernel's own body computes, to the bit."""
    graph = kernel.graph(*arguments)
    expected = results(kernel.reference(*arguments))
    for found, right in zip(graph.evaluate().values(), expected, strict=True):
        assert found.dtype == np.asarray(right).dtype
        np.testing.assert_array_equal(found, right)
    return graph


def distinct() -> list[cases.Case]:
    """One case for each kernel and arguments, whose schedule does not matter here."""
    found = {}
    for case in cases.all_cases():
        sizes = tuple(str(getattr(value, "shape", value)) for value in case.arguments)
        found[case.kernel.name, isinstance(case.arguments[0], cy.Blocked), sizes] = case
    return list(found.values())


@pytest.mark.parametrize("case", distinct(), ids=lambda case: case.name)
def test_graphs_of_kernels_run(case: cases.Case) -> None:
    if case.exact:
        equal(case.kernel, *case.arguments)
    else:
        (output,) = case.kernel.graph(*case.arguments).evaluate().values()
        assert cases.residual_ratio(case, output) < cases.THRESHOLD


@pytest.mark.parametrize("name", test_corpus.ENTRIES)
def test_graphs_of_the_corpus_run(name: str) -> None:
    entry = test_corpus.ENTRIES[name]
    for size in entry.sizes:
        values = test_corpus.arguments(entry, size)
        found = tuple(entry.kernel.graph(*values).evaluate().values())
        expected = entry.kernel.reference(*values)
        test_corpus.agree(
            found, tuple(expected.values()) if isinstance(expected, dict) else expected, entry.tolerance
        )


@pytest.mark.parametrize("name", test_polybench.KERNELS)
def test_graphs_of_polybench_run(name: str) -> None:
    kernel, arguments = test_polybench.KERNELS[name], test_polybench.ARGUMENTS[name]
    expected = results(kernel.reference(*arguments))
    for found, right in zip(kernel.graph(*arguments).evaluate().values(), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12)


def test_the_combined_operation_of_the_paper(golden: Callable[[str, str], None]) -> None:
    graph = equal(combined, *np.arange(12.0).reshape(3, 4))
    kinds = [(node.kind, node.op, node.address) for node in graph]
    assert kinds[3:] == [("temporary", "add", "tmp3"), ("operation", "multiply", "z")]
    assert [(edge.source, edge.address) for edge in graph[4].edges] == [(3, "tmp3"), (2, "w")]
    golden("graphs/combined.dot.txt", graph.to_dot())


def test_a_loop_is_a_graph_in_the_graph(golden: Callable[[str, str], None]) -> None:
    rng = np.random.default_rng(0)
    LA = rng.integers(0, 9, (10, 10, 10)).astype("float32")
    GA = rng.random(10).astype("float32")
    graph = equal(running_sum, LA, GA, 2.0)
    golden("graphs/running_sum.txt", f"{graph}\n")
    loop = next(node for node in graph if node.kind == "loop")
    assert loop.body is not None
    assert {node.address for node in loop.body.nodes if node.kind == "transfer"} == {
        "LA",
        "GA",
        "GS",
        "whether_the_loop_at_line_39_goes_on",
    }
    assert running_sum.compile(LA, GA, 2.0).graph.evaluate()["total"] == graph.evaluate()["total"]


@pytest.mark.parametrize(
    "graph",
    [
        array_kernels.heat.graph(cy.spec((6, 7)), 3),
        array_kernels.red_black.graph(cy.spec((9, 8)), cy.spec((9, 8)), 2),
        running_sum.graph(cy.spec((9, 9, 9), "float32"), cy.spec((4,), "float32"), 1.0),
        kernels.matmul.graph(cy.spec((3, 4)), cy.spec((4, 2))),
    ],
    ids=lambda graph: graph.name,
)
def test_every_node_and_edge_is_drawn_once_in_the_order_of_execution(graph: cy.Graph) -> None:
    nodes = list(graph)
    assert [node.id for node in nodes] == list(range(len(graph)))
    edges = [(edge.source, node.id) for node in nodes for edge in node.edges]
    assert all(source < target for source, target in edges)
    dot = graph.to_dot()
    assert sorted(map(int, re.findall(r"^ *N(\d+) \[", dot, re.MULTILINE))) == [node.id for node in nodes]
    drawn = re.findall(r"^ *N(\d+) -> N(\d+) \[label", dot, re.MULTILINE)
    assert sorted((int(a), int(b)) for a, b in drawn) == sorted(edges)
    assert dot.count("{") == dot.count("}") == 1 + sum(node.kind == "loop" for node in nodes)
    picture = ElementTree.fromstring(graph.to_svg())
    texts = [text.text or "" for text in picture.iter(f"{SVG}text")]
    assert sum(bool(re.match(r"N: \d+", text)) for text in texts) == len(nodes)
    updates = sum(node.updates is not None for node in nodes)
    assert len(list(picture.iter(f"{SVG}path"))) == len(edges) + updates


def test_a_graph_is_a_png_too() -> None:
    """Each ellipse of the SVG has its colour at its ends, and no text is white."""
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    graph = array_kernels.red_black.graph(cy.spec((9, 8)), cy.spec((9, 8)), 2)
    drawn = ElementTree.fromstring(graph.to_svg())
    with image.open(io.BytesIO(graph._repr_png_() or b"")) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    assert pixels.shape[:2] == (int(drawn.attrib["height"]), int(drawn.attrib["width"]))
    blue = np.array([0x28, 0x50, 0xC8])
    for shape in drawn.iter(f"{SVG}ellipse"):
        x, y, rx = (float(shape.attrib[key]) for key in ("cx", "cy", "rx"))
        for at in (x - rx, x + rx):
            around = pixels[int(y) - 2 : int(y) + 3, int(at) - 2 : int(at) + 3].reshape(-1, 3)
            assert abs(around - blue).sum(axis=1).min() < 120
    for text in drawn.iter(f"{SVG}text"):
        x, y = int(float(text.attrib["x"])), int(float(text.attrib["y"]))
        assert pixels[y - 7 : y + 1, x - 6 : x + 7].min() < 140, text.text


def test_a_graph_without_matplotlib_has_no_png(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = array_kernels.red_black.graph(cy.spec((9, 8)), cy.spec((9, 8)), 2)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert graph._repr_png_() is None


def test_boxes_do_not_overlap() -> None:
    graph = array_kernels.red_black.graph(cy.spec((9, 8)), cy.spec((9, 8)), 2)
    picture = ElementTree.fromstring(graph.to_svg())
    boxes = []
    for shape in picture.iter(f"{SVG}ellipse"):
        x, y, rx, ry = (float(shape.attrib[key]) for key in ("cx", "cy", "rx", "ry"))
        boxes.append((x - rx, y - ry, x + rx, y + ry))
    for shape in picture.iter(f"{SVG}polygon"):
        corners = [tuple(map(float, corner.split(","))) for corner in shape.attrib["points"].split()]
        xs, ys = zip(*corners, strict=True)
        boxes.append((min(xs), min(ys), max(xs), max(ys)))
    assert len(boxes) == 16
    for number, one in enumerate(boxes):
        for other in boxes[:number]:
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, (one, other)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "complex64", "complex128"])
def test_small_sizes_of_every_dtype(n: int, dtype: str) -> None:
    x = np.arange(n).astype(dtype)
    equal(combined, x, x + 1, x + 2)
    if n:
        equal(branches, x)
    u = np.arange(9 * n).reshape(n, 9).astype(dtype)
    for steps in (0, 2):
        equal(array_kernels.heat, np.pad(u, 1), steps)


def test_loops_that_count_down_and_triangles() -> None:
    equal(triangle, np.arange(25.0).reshape(5, 5))


def test_numbers_take_the_dtype_of_their_neighbours() -> None:
    equal(cast, np.arange(4, dtype="float32"))


def test_arrays_are_given_by_name_and_left_alone() -> None:
    u = np.arange(20.0).reshape(4, 5) ** 2
    graph = array_kernels.heat.graph(cy.spec((4, 5)), 2)
    before = u.copy()
    np.testing.assert_array_equal(graph.evaluate(u=u)["u"], array_kernels.heat.reference(u, 2))
    np.testing.assert_array_equal(u, before)


def test_what_graphs_refuse(golden_refusal: Callable[..., None]) -> None:
    graph = array_kernels.heat.graph(cy.spec((4, 5)), 2)
    golden_refusal("graph-without-an-array", cy.ShapeError, "CYC710", graph.evaluate)
    golden_refusal(
        "graph-of-another-shape", cy.ShapeError, "CYC710", lambda: graph.evaluate(u=np.ones((5, 4)))
    )
    golden_refusal(
        "graph-of-another-dtype",
        cy.ShapeError,
        "CYC710",
        lambda: graph.evaluate(u=np.ones((4, 5), "float32")),
    )
    golden_refusal("graph-of-no-such-input", cy.ShapeError, "CYC710", lambda: graph.evaluate(v=1))
    (loop,) = [node for node in graph if node.body is not None]
    assert loop.body is not None
    golden_refusal("graph-of-a-loop-body", cy.ExecutionError, "CYC710", loop.body.evaluate)
    endless = halved.graph(np.full(2, 1e6))
    golden_refusal("graph-at-its-most-steps", cy.ExecutionError, "CYC719", endless.evaluate)
    negative = cy.blocked(-np.eye(4), (2, 2))
    golden_refusal(
        "graph-of-no-factor", cy.ExecutionError, "CYC701", kernels.cholesky.graph(negative).evaluate
    )
    np.testing.assert_array_equal(halved.graph(np.full(2, 8.0)).evaluate()["x_out"], [1, 1])


def test_a_loaded_program_has_no_graph(tmp_path: Any) -> None:
    program = combined.compile(*np.ones((3, 4)))
    program.save(tmp_path / "combined.cyc")
    with pytest.raises(cy.ProgramError, match="CYC620"):
        _ = cy.load(tmp_path / "combined.cyc").graph


def test_large_graphs_are_text_in_notebooks() -> None:
    @cy.kernel
    def long(x):
        for c in range_of(400):
            x = x + c
        return x

    def range_of(n: int) -> list[int]:
        return list(range(n))

    assert long.graph(np.ones(2))._repr_html_().startswith("<pre>")
    assert combined.graph(*np.ones((3, 4)))._repr_html_().startswith("<img")

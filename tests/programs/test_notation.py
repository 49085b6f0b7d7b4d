"""LaTeX and HTML of recurrences, dataflow and PE programs."""

import re

import numpy as np
import pytest
from kernels import cholesky, cholesky_scalar, matmul, prefix_sum, solve, solve_right, solve_scalar

import cyclotron as cy
from cyclotron.support.latex import aligned, to_latex, words

TILES = cy.blocked(np.eye(6), (2, 2))
CASES = {
    "matmul": (matmul, (cy.spec((3, 4)), cy.spec((4, 2)))),
    "solve": (solve, (TILES, TILES)),
    "solve_scalar": (solve_scalar, (cy.spec((4, 4)), cy.spec((4, 2)))),
    "solve_right": (solve_right, (TILES, TILES)),
    "prefix_sum": (prefix_sum, (cy.spec(5),)),
    "cholesky": (cholesky, (TILES,)),
    "cholesky_scalar": (cholesky_scalar, (cy.spec((4, 4)),)),
}


def cells(latex):
    lines = latex.split("\n")
    assert lines[0] == lines[-1] == "$$"
    columns = re.fullmatch(r"\\begin\{array\}\{(l+)\}", lines[1]).group(1)
    assert lines[-2] == r"\end{array}"
    rows = [line.removesuffix(r" \\").split(" & ") for line in lines[2:-2]]
    assert all(len(row) == len(columns) for row in rows)
    return [cell for row in rows for cell in row if cell.strip()]


def objects(name):
    kernel, args = CASES[name]
    program = kernel.compile(*args)
    return [program.recurrences, program.dataflow, *program.classes]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_latex_is_valid(name):
    """Every cell is read by matplotlib's TeX parser, which knows no arrays and no display style."""
    mathtext = pytest.importorskip("matplotlib.mathtext").MathTextParser("agg")
    for item in objects(name):
        found = cells(item._repr_latex_())
        assert found
        for cell in found:
            mathtext.parse(f"${cell.replace(chr(92) + 'displaystyle', '')}$")
            assert not re.search(r"[←→↦Σ·≤≥ᵀ]", cell)


@pytest.mark.parametrize("name", CASES)
def test_html_escapes_and_closes(name):
    for item in objects(name):
        text = item._repr_html_()
        for tag in ("table", "tr", "td", "pre", "span", "p"):
            assert len(re.findall(rf"<{tag}\b", text)) == text.count(f"</{tag}>")
        assert "<=" not in text


def test_recurrences_look_like_the_paper():
    latex = matmul.recurrences(*CASES["matmul"][1])._repr_latex_()
    assert r"C_{ij} & = \displaystyle \sum_{0 \leq k \leq 3} (A_{ik} \cdot B_{kj})" in latex


def test_dataflow_looks_like_figure_4():
    latex = matmul.compile(cy.spec((3, 3)), cy.spec((3, 3))).dataflow._repr_latex_()
    assert r"(i,\, j,\, k)_{A}^{\mathrm{mul}} & \leftarrow A_{ik} & \quad j = 0" in latex
    assert r"& \leftarrow (i,\, j-1,\, k)_{A}^{\mathrm{mul}} & \quad j \geq 1" in latex


def test_lettered_flows_look_like_figure_6():
    latex = solve_scalar.compile(*CASES["solve_scalar"][1]).dataflow._repr_latex_()
    assert r"(i,\, r,\, j)_{X_{b}}^{\mathrm{mul}} & \leftarrow (i-1,\, r,\, j)_{X}^{\mathrm{div}}" in latex


def test_classes_look_like_figure_14():
    corner = matmul.compile(*CASES["matmul"][1]).classes[0]
    assert r"\quad [i,\, j]_{A} \rightarrow [i,\, j+1]_{A}" in corner._repr_latex_()
    html = corner._repr_html_()
    assert '<span style="color:#2850c8">  [i, j]_A ← A[i, 0]   load</span>' in html
    assert '<span style="color:#149646">  C[i, j] ← [i, j]_C   store</span>' in html


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("A[i, k]", "A_{ik}"),
        ("A[i, j-1]", r"A_{i,\, j-1}"),
        ("acc_1[i]", r"\mathit{acc\_1}_{i}"),
        ("(i)_A^mulᵀ @ (i)_B^mul", r"{(i)_{A}^{\mathrm{mul}}}^{T} \, (i)_{B}^{\mathrm{mul}}"),
        ("sqrt(a - b)", r"\sqrt{a - b}"),
        ("Σ_{0 <= k < n} x[k]", r"\sum_{0 \leq k < n} x_{k}"),
        ("max_{k >= 0} x[k]", r"\max_{k \geq 0} x_{k}"),
        ("maximum(a, b)", r"\operatorname{maximum}(a,\, b)"),
        ("f[lower](a)", r"\operatorname{f}_{\mathit{lower}}(a)"),
        ("i <= 3 and j = 0 or (i) mod 2 = 0", r"i \leq 3,\ j = 0 \ \vee\ (i) \ \mathrm{mod}\ 2 = 0"),
        ("i' - 1", "i' - 1"),
        ("x[]", "x"),
        ("1.5e-3 · a", r"1.5e-3 \cdot a"),
        (
            "[i]_u@36_2 ← [i]_A.a @ u@36[i]",
            r"[i]_{\mathit{u@36\_2}} \leftarrow [i]_{\mathit{A.a}} \, \mathit{u@36}_{i}",
        ),
    ],
)
def test_notation(text, latex):
    assert to_latex(text) == latex


def test_words_and_empty_tables():
    assert words("load a_b") == r"\mathrm{load\ a\_b}"
    assert words("") == ""
    assert aligned([]) == "$$\n\\begin{array}{l}\n\n\\end{array}\n$$"

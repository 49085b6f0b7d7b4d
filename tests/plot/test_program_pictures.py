"""Pictures of programs: what is drawn of the dataflow, and what is left out of large ones."""

import builtins
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))

from kernels import cholesky_scalar, matmul, prefix_sum, solve_scalar, solve_vector
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

import cyclotron as cy
from cyclotron.plot import array, iteration_space, node
from cyclotron.support.errors import BackendUnavailable


def square(n):
    return cy.spec((n, n))


PROGRAMS = {
    "matmul": lambda: matmul.compile(square(3), square(3)),
    "weights": lambda: matmul.compile(square(9), square(9), schedule=cy.schedules.weight_stationary(matmul)),
    "pumma": lambda: matmul.compile(square(3), square(3), schedule=cy.schedules.pumma(matmul)),
    "summa": lambda: matmul.compile(square(3), square(3), schedule=cy.schedules.summa(matmul)),
    "one": lambda: matmul.compile(square(2), square(2), schedule=cy.Schedule()),
    "hexagonal": lambda: matmul.compile(
        square(4),
        square(4),
        schedule=cy.schedules.hexagonal(matmul),
        machine=cy.Machine(grid=(7, 7), topology="hexagonal"),
    ),
    "cannon": lambda: matmul.compile(square(4), square(4), schedule=cy.schedules.cannon(matmul)),
    "folded": lambda: matmul.compile(
        square(4), square(4), schedule=cy.Schedule().space("i", "j").fold(i=cy.block(2))
    ),
    "line": lambda: matmul.compile(square(3), square(3), schedule=cy.Schedule().space("k")),
    "solve": lambda: solve_vector.compile(square(5), cy.spec(5)),
    "solve many": lambda: solve_scalar.compile(square(3), square(3)),
    "cholesky": lambda: cholesky_scalar.compile(square(5)),
    "prefix sum": lambda: prefix_sum.compile(cy.spec(20)),
}


def words(figure):
    return "\n".join(t.get_text() for t in figure.findobj(lambda a: hasattr(a, "get_text")) if t.get_text())


def count(figure, kind):
    return len([patch for patch in figure.axes[0].patches if type(patch) is kind])


def overlaps(figure):
    """Texts in the picture and its legend whose boxes touch."""
    renderer = figure.canvas.get_renderer()
    figure.draw(renderer)
    ax = figure.axes[0]
    legend = ax.get_legend()
    texts = [*ax.texts, ax.title, ax._left_title, *(legend.get_texts() if legend else [])]
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in texts if t.get_text()]
    return [(a, b) for n, (a, one) in enumerate(boxes) for b, two in boxes[:n] if one.overlaps(two)]


def on_canvas(figure):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    return figure


@pytest.mark.parametrize("draw", [array, iteration_space])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_can_be_drawn_without_overlapping_texts(draw, name, tmp_path):
    path = tmp_path / "picture.png"
    figure = draw(PROGRAMS[name](), path=path)
    assert isinstance(figure, Figure)
    assert path.stat().st_size > 5000
    assert not overlaps(on_canvas(figure))
    assert max(figure.get_size_inches()) < 14


def test_the_triangular_solve_as_in_figure_7():
    """CY-100: ten round points, five square ones on the diagonal, and the moves between them."""
    program = PROGRAMS["solve"]()
    figure = program.plot.iteration_space()
    assert count(figure, Circle) == 10
    assert count(figure, Rectangle) == 5
    # x down a column: 4+3+2+1; sums along a row: 6 inside, 4 to the diagonal; loads of L and b; stores.
    assert count(figure, FancyArrowPatch) == 10 + 6 + 4 + 15 + 5 + 5
    text = words(figure)
    assert "mul at (i, j)" in text
    assert "div at (i, i)" in text
    assert "between two spaces" in text


def test_an_inner_point_as_in_figure_4():
    """CY-099: 27 points, three arrows into each that is not on a side."""
    figure = PROGRAMS["matmul"]().plot.iteration_space()
    assert count(figure, Circle) == 27
    assert count(figure, FancyArrowPatch) == 3 * 18 + 9 + 9 + 9  # moves, loads of A and B, stores of C


@pytest.mark.parametrize(
    ("name", "point", "labels"),
    [
        ("matmul", (1, 1, 1), ["(i,\\, j-1,\\, k)_{A}", "(i+1,\\, j,\\, k)_{B}", "(i,\\, j,\\, k+1)_{C}"]),
        ("solve", (3, 1), ["(i-1,\\, j)_{x_{b}}", "(i,\\, j+1)_{x_{a}}"]),
        ("solve", (2, 2), ["(i,\\, j-1)_{x_{a}}", "(i+1,\\, j)_{x}"]),
        ("cholesky", (3, 4, 1), ["(j-1,\\, i,\\, k)_{L_{b}}", "(j,\\, i,\\, k+1)_{L_{a}}"]),
    ],
)
def test_one_point_as_in_figures_4_and_8(name, point, labels, tmp_path):
    """CY-101, CY-102: the neighbours it receives from and sends to, and its formulas."""
    program = PROGRAMS[name]()
    figure = program.plot.node(*point, path=tmp_path / "node.png")
    text = words(figure)
    for label in labels:
        assert f"${label}$" in text
    found = program.dataflow.node(*point)
    assert count(figure, FancyArrowPatch) == len(found.receives) + len(found.sends)
    assert not overlaps(on_canvas(figure))


@cy.kernel
def two_steps(A, B):
    T = cy.empty_like(A)
    Y = cy.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            T[i, j] = A[i, j] * B[i]
            Y[i, j] = T[i, j] + B[i]
    return Y


def test_points_of_two_spaces_at_one_place_stand_apart():
    figure = two_steps.compile(square(3), cy.spec(3)).plot.iteration_space()
    circles = [patch for patch in figure.axes[0].patches if type(patch) is Circle]
    assert len(circles) == 18
    for n, one in enumerate(circles):
        for two in circles[:n]:
            gap = sum((a - b) ** 2 for a, b in zip(one.center, two.center, strict=True)) ** 0.5
            assert gap > one.radius + two.radius
    assert not overlaps(on_canvas(figure))


def test_points_of_a_stencil_are_large_and_their_spaces_have_names():
    @cy.kernel
    def heat(u, steps):
        for t in range(steps):
            v = u.copy()
            v[1:-1] = 0.25 * u[:-2] + 0.5 * u[1:-1] + 0.25 * u[2:]
            u = v
        return u

    ax = heat.compile(cy.spec((10,)), 4).plot.iteration_space().axes[0]
    assert min(circle.radius for circle in ax.patches if isinstance(circle, Circle)) > 0.1
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(set(labels)) == len(labels)


def test_large_spaces_are_a_corner_and_say_so():
    figure = matmul.compile(square(3000), square(3000)).plot.iteration_space()
    assert count(figure, Circle) == 27
    assert "the first 3 of each index" in words(figure)
    figure = matmul.compile(square(3000), square(3000)).plot.array()
    assert count(figure, Rectangle) == 16
    assert "matmul on 3000×3000 PEs" in words(figure)
    assert "the first 4 of each index" in words(figure)


def test_small_ones_are_whole():
    assert "the first" not in words(PROGRAMS["matmul"]().plot.iteration_space())
    assert "the first" not in words(PROGRAMS["matmul"]().plot.array())


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("matmul", ["C is stationary", "A streams along j", "B streams along i"]),
        ("weights", ["A is stationary (prefetch)", "B streams along i", "C streams along k"]),
        ("pumma", ["C is stationary", "A is broadcast along j", "B streams along i"]),
    ],
)
def test_the_array_says_what_moves_as_in_figure_13(name, lines):
    """CY-099: one line of the legend for each operand."""
    text = words(PROGRAMS[name]().explain().plot())
    for line in lines:
        assert line in text


def test_arrows_of_the_output_stationary_array():
    """CY-099: A right, B down between neighbours; fed from the west and the north."""
    figure = PROGRAMS["matmul"]().plot.array()
    assert count(figure, Rectangle) == 9
    assert count(figure, FancyArrowPatch) == 6 + 6 + 3 + 3


def test_links_round_a_torus_leave_one_side_and_enter_the_other():
    figure = PROGRAMS["cannon"]().plot.array()
    # Inner links of A and B, both stubs of the 8 links that close rings, and a load of each in every PE.
    assert count(figure, FancyArrowPatch) == 2 * 12 + 2 * 8 + 2 * 16


def test_diagonal_links_of_the_hexagonal_array():
    """Nine diagonals of C between the 16 PEs of the corner, up and left."""
    figure = PROGRAMS["hexagonal"]().plot.array()
    diagonal = 0
    for patch in figure.axes[0].patches:
        if type(patch) is FancyArrowPatch:
            (x, y), (to_x, to_y) = patch._posA_posB
            diagonal += abs((to_x - x) + (to_y - y)) < 1e-9 and to_x < x - 0.1
    assert diagonal == 9


def test_a_pe_that_is_not_used_is_not_drawn():
    program = solve_scalar.compile(square(3), square(3), schedule=cy.Schedule().space("i", "j"))
    used = sum(item.pe_count for item in program.classes)
    assert used < 9
    assert count(program.plot.array(), Rectangle) == used


def test_a_given_axes_is_drawn_into():
    for draw in (array, iteration_space, lambda program, ax: node(program, 1, 1, 1, ax=ax)):
        figure = Figure()
        ax = figure.add_subplot()
        assert draw(PROGRAMS["matmul"](), ax=ax) is figure
        assert ax.patches


@cy.kernel
def attention(Q, K):
    S = cy.empty((Q.shape[0], Q.shape[1], K.shape[1]))
    for b in range(Q.shape[0]):
        for i in range(Q.shape[1]):
            for j in range(K.shape[1]):
                S[b, i, j] = sum(Q[b, i, d] * K[b, j, d] for d in range(Q.shape[2]))
    return S


def test_more_dimensions_than_paper_has_are_refused(golden_refusal):
    shape = cy.spec((2, 2, 2))
    program = attention.compile(shape, shape, schedule=cy.Schedule().space("b", "i", "j"))
    golden_refusal("picture-of-four-indices", cy.ShapeError, "CYC735", program.plot.iteration_space)
    with pytest.raises(cy.ShapeError, match="has 4 indices, and a picture shows 1 to 3"):
        program.plot.node(0, 0, 0, 0)
    with pytest.raises(cy.ShapeError, match="has 3 dimensions, a picture shows 1 or 2") as caught:
        program.plot.array()
    assert caught.value.code == "CYC735"


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    program = PROGRAMS["matmul"]()
    monkeypatch.setattr(builtins, "__import__", refuse)
    for draw in (array, iteration_space, lambda program: node(program, 1, 1, 1)):
        with pytest.raises(BackendUnavailable, match="pip install matplotlib"):
            draw(program)


def test_the_plots_say_what_there_is():
    assert repr(PROGRAMS["matmul"]().plot) == "ProgramPlots: iteration_space(), node(i, j, ...), array()"

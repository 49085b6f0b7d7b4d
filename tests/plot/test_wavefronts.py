"""Pictures of PEs over time: wavefronts, films of them, activity and stalls."""

import base64
import builtins
import json
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image
from test_plot import texts
from test_program_pictures import on_canvas, overlaps
from wavefront import wavefront as simulated

import cyclotron as cy
from cyclotron.plot import Plots, activity, animation, stalls, wavefront
from cyclotron.plot._animation import _film
from cyclotron.plot._operators import COLORS, IDLE, ranked

FIRST, SECOND = (color.lower() for color in COLORS[:2])  # multiply_add, divide


def colors(figure):
    """The colour of each cell of a wavefront."""
    image = np.asarray(figure.axes[0].images[0].get_array())
    return [[to_hex(cell) for cell in row] for row in image]


def test_cells_have_the_colours_of_their_operators():
    """PE (i, j) multiplies from cycle i + j to i + j + 2, then divides once."""
    figure = wavefront(simulated((2, 3), 4), 3)
    assert colors(figure) == [
        [SECOND, FIRST, FIRST],
        [FIRST, FIRST, FIRST],
    ]
    figure = wavefront(simulated((2, 3), 4), 1)
    assert colors(figure) == [[FIRST, FIRST, IDLE], [FIRST, IDLE, IDLE]]
    words = texts(figure)
    assert "cycle 1 of 7: 3 of 6 PEs compute, 50.0 %" in words
    assert {"multiply_add", "divide", "idle"} <= set(words.splitlines())


def test_a_line_is_one_row():
    assert colors(wavefront(simulated((4,), 3), 2)) == [[SECOND, FIRST, FIRST, IDLE]]


def test_an_operation_without_cycles_is_no_activity():
    result = simulated((2,), 3)
    result.events["end"] = result.events["start"]
    result.stats["busy"][:] = 0
    assert colors(wavefront(result, 1)) == [[IDLE, IDLE]]


def test_large_grids_are_means_of_colours():
    figure = wavefront(simulated((600, 30), 5), 0)
    image = np.asarray(figure.axes[0].images[0].get_array())
    assert image.shape == (300, 30, 3)
    assert "means over 2×1 PEs" in texts(figure)


def test_the_axes_given_are_drawn_into():
    figure = Figure()
    assert wavefront(simulated((2, 2), 3), 1, ax=figure.add_subplot()) is figure
    assert figure.axes[0].images


def test_missing_events_are_told():
    result = simulated((2, 2), 3)
    result.events = result.events[:5]
    result.events_dropped = 7
    for draw in (lambda: wavefront(result, 1), lambda: activity(result), lambda: animation(result, "a.gif")):
        with pytest.raises(cy.ExecutionError, match="event_limit=12 to keep them all") as caught:
            draw()
        assert caught.value.code == "CYC717"


@pytest.mark.parametrize("cycle", [-1, 5])
def test_other_cycles_are_refused(cycle):
    with pytest.raises(cy.ExecutionError, match="take one from 0 to 4"):
        wavefront(simulated((2, 2), 3), cycle)


def test_three_dimensions_are_refused(tmp_path):
    result = simulated((2, 2, 2), 3)
    for draw in (lambda: wavefront(result, 0), lambda: animation(result, tmp_path / "a.gif")):
        with pytest.raises(cy.ShapeError, match=r"has 3 dimensions.*\n.*plot.activity") as caught:
            draw()
        assert caught.value.code == "CYC735"


def shown(image):
    """The cells of a picture of a 1×2 array: the pixels left and right of the middle of the axes."""
    pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
    known = {name: np.array([int(name[n : n + 2], 16) for n in (1, 3, 5)]) for name in (FIRST, SECOND)}
    return {name: int((abs(pixels - color).max(axis=1) < 4).sum()) for name, color in known.items()}


def test_a_gif_has_a_frame_a_cycle(tmp_path):
    path = tmp_path / "film.gif"
    Plots(simulated((2,), 3)).animation(path, frames_per_second=5)
    with Image.open(path) as film:
        assert (film.n_frames, film.info["duration"], film.info["loop"]) == (4, 200, 0)
        areas = []
        for frame in range(film.n_frames):
            film.seek(frame)
            areas.append(shown(film))
    # The first PE multiplies, both do, the first divides, the second does; the legend is always there.
    key = areas[3][FIRST]
    cell = areas[0][FIRST] - key
    assert cell > 10_000
    found = [[round((area[name] - key) / cell) for name in (FIRST, SECOND)] for area in areas]
    assert found == [[1, 0], [2, 0], [1, 1], [0, 1]]


def test_nothing_is_left_of_the_frame_before():
    result = simulated((2, 3), 4)
    *_, last = _film(result, np.arange(result.cycles))
    (alone,) = _film(result, np.array([result.cycles - 1]))
    np.testing.assert_array_equal(np.asarray(last.convert("RGB")), np.asarray(alone.convert("RGB")))


def test_long_runs_are_sampled_from_the_first_to_the_last_cycle(tmp_path):
    path = tmp_path / "film.html"
    animation(simulated((2,), 300), path, frames=4, frames_per_second=20)
    page = path.read_text(encoding="utf-8")
    pictures = json.loads(re.search(r"const pictures = (\[.*\]);", page).group(1))
    assert len(pictures) == 4
    assert all(base64.b64decode(picture).startswith(b"\x89PNG") for picture in pictures)
    assert "setInterval(next, 50)" in page
    assert "matmul on 2 PEs" in page


def test_a_page_needs_no_network(tmp_path):
    path = tmp_path / "film.html"
    animation(simulated((2,), 3), path, frames=2)
    page = re.sub(r"const pictures = \[.*\];", "", path.read_text(encoding="utf-8"))
    assert "http" not in page
    assert "<link" not in page
    assert "src=" not in page


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("film.mp4", {}, "`film.mp4`"),
        ("film", {}, "one of: .gif, .html"),
        ("film.gif", {"frames": 0}, "0 frames"),
        ("film.gif", {"frames_per_second": 0}, "0 a second"),
    ],
)
def test_other_films_are_refused(tmp_path, name, options, words):
    with pytest.raises(cy.ExecutionError, match=re.escape(words)) as caught:
        animation(simulated((2,), 3), tmp_path / name, **options)
    assert caught.value.code == "CYC735"
    assert not list(tmp_path.iterdir())


def heights(figure):
    """The tops of the stacked areas, from the lowest."""
    return [patch.get_data().values for patch in figure.axes[0].patches]


def test_activity_is_the_number_of_pes_in_each_cycle():
    """Three PEs, one cycle after another: an addition, two products, a division."""
    result = simulated((3,), 4)
    result.events["operator"][::4] = "add"
    figure = activity(result)
    multiplying, with_adding, with_dividing = heights(figure)
    np.testing.assert_allclose(multiplying, [0, 1, 2, 2, 1, 0])
    np.testing.assert_allclose(with_adding, [1, 2, 3, 2, 1, 0])
    np.testing.assert_allclose(with_dividing, [1, 2, 3, 3, 2, 1])
    assert "6 cycles, on average 2.0 of 3 PEs compute" in texts(figure)


def test_activity_of_a_long_run_is_in_bins():
    result = simulated((3,), 6000)
    top = heights(activity(result))[-1]
    assert len(top) == 400
    assert top.mean() * result.cycles == pytest.approx(result.stats["busy"].sum())


def test_stalls_add_up_and_say_their_shares():
    """6 PEs for 12 cycles: 7 of multiplying, 1 of dividing, 1 of waiting for space."""
    result = simulated((2, 3), 8)
    assert result.cycles == 12
    figure = stalls(result)
    bar, channels = figure.axes
    widths = [patch.get_width() for patch in bar.patches]
    np.testing.assert_allclose(widths, np.array([42, 6, 9, 6, 9]) / 72)
    labels = [text.get_text() for text in bar.get_legend().get_texts()]
    assert labels == [
        "multiply_add, 58.3 %",
        "divide, 8.3 %",
        "waiting for data, 12.5 %",
        "waiting for space, 8.3 %",
        "idle, 12.5 %",
    ]
    np.testing.assert_allclose([patch.get_width() for patch in channels.patches], np.arange(14, 2, -1) / 40)
    assert [label.get_text() for label in channels.get_yticklabels()][:2] == ["A.j+14", "A.j+13"]
    assert "14 messages, at most 1 in a queue" in texts(figure)
    assert "the busiest 12 of 14" in texts(figure)


@pytest.mark.parametrize("grid", [(1, 1), (9, 1), (1, 9), (3,), (40, 40)])
def test_titles_and_legends_fit(grid):
    """With twelve operators and a long name, no texts overlap and none is cut off, in films too."""
    result = simulated(grid, 24, kernel="a_kernel_with_a_long_name")
    result.events["operator"] = [f"operator_{n % 12}" for n in range(len(result.events))]
    operators = np.unique(result.events["operator"], return_counts=True)
    result.stats["busy_by_operator"] = dict(zip(*operators, strict=True))
    for figure in (wavefront(result, 5), activity(result), stalls(result)):
        assert not overlaps(on_canvas(figure))
    figure = on_canvas(wavefront(result, result.cycles // 2))
    figure.draw_without_rendering()
    ax = figure.axes[0]
    for text in (ax._left_title, *ax.texts, *ax.get_legend().get_texts()):
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0
        assert box.y1 <= figure.bbox.y1


def test_the_plots_say_what_there_is():
    named = set(re.findall(r"(\w+)\(", repr(Plots(simulated((2,), 3)))))
    assert named == {name for name in vars(Plots) if not name.startswith("_")}


def test_many_operators_share_the_last_colour():
    labels, numbers = ranked({f"op{n}": 20 - n for n in range(12)})
    assert labels == [*(f"op{n}" for n in range(8)), "4 others"]
    assert [numbers[f"op{n}"] for n in range(12)] == [*range(8), 8, 8, 8, 8]
    assert ranked(dict.fromkeys("abcdefghi", 1))[0] == list("abcdefghi")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch, tmp_path):
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith(("matplotlib", "PIL")):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    result = simulated((2, 2), 3)
    for draw in (lambda: wavefront(result, 0), lambda: animation(result, tmp_path / "a.gif")):
        with pytest.raises(cy.BackendUnavailable, match="pip install matplotlib"):
            draw()

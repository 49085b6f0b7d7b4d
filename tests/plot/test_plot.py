"""Pictures: the numbers they are drawn from, their labels, and every shape of grid."""

import builtins
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure
from wavefront import wavefront

import cyclotron as cy
from cyclotron.plot import Plots, activity, occupancy, stalls, timeline, utilization
from cyclotron.plot._activity import busy_in_bins
from cyclotron.plot._common import percent
from cyclotron.support.errors import BackendUnavailable
from cyclotron.support.svg import shrink

PICTURES = (utilization, timeline, occupancy, stalls, activity)
GRIDS = [(1, 1), (5,), (100,), (3, 4), (1, 9), (16, 16), (2, 3, 4), (5, 2, 4, 3), (600, 30)]


def texts(figure):
    return "\n".join(
        text.get_text()
        for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))
        if text.get_text()
    )


@pytest.mark.parametrize("draw", PICTURES)
@pytest.mark.parametrize("grid", GRIDS)
def test_every_grid_can_be_drawn(draw, grid, tmp_path):
    path = tmp_path / "picture.png"
    figure = draw(wavefront(grid, 8), path=path)
    assert isinstance(figure, Figure)
    assert path.stat().st_size > 1000
    assert "×".join(map(str, grid)) in texts(figure)


@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_the_suffix_chooses_the_file_type(tmp_path, suffix):
    path = tmp_path / f"picture.{suffix}"
    utilization(wavefront((2, 2), 3), path=path)
    assert path.read_bytes()[:5] in (b"<?xml", b"%PDF-")


def test_utilization_draws_the_shares_and_says_the_mean():
    result = wavefront((3, 4), 6)
    result.utilization = np.arange(12).reshape(3, 4) / 12
    figure = utilization(result)
    image = figure.axes[0].images[0]
    np.testing.assert_array_equal(image.get_array(), result.utilization)
    assert image.get_clim() == (0, 1)
    words = texts(figure)
    assert f"{result.cycles} cycles, mean utilisation 45.8 %" in words
    assert figure.axes[0].get_xlabel() == "j"
    assert figure.axes[0].get_ylabel() == "i"


def test_ticks_are_grid_coordinates():
    ax = utilization(wavefront((3, 4), 6)).axes[0]
    low, high = sorted(ax.get_ylim())
    shown = [tick for tick in ax.get_yticks() if low <= tick <= high]
    assert shown == [0, 1, 2]


def test_three_dimensions_are_slices():
    figure = utilization(wavefront((2, 3, 4), 5))
    maps = [ax for ax in figure.axes if ax.images and ax.get_title()]
    assert [ax.get_title() for ax in maps] == ["i = 0", "i = 1"]


def test_big_grids_are_averaged_and_say_so():
    figure = utilization(wavefront((600, 30), 5))
    assert figure.axes[0].images[0].get_array().shape == (300, 30)
    assert "means over 2×1 PEs" in texts(figure)


def test_timeline_has_one_bar_an_event_and_names_operators():
    result = wavefront((2, 3), 8)
    figure = timeline(result)
    ax = figure.axes[0]
    bars = {collection.get_label(): len(collection.get_paths()) for collection in ax.collections}
    assert bars == {"multiply_add": 42, "divide": 6}
    assert ax.get_xlim() == (0, result.cycles)


def test_timeline_of_many_pes_counts_the_busy_ones():
    result = wavefront((100,), 10)
    ax = timeline(result).axes[0]
    area = sum(np.sum(patch.get_data().values - patch.get_data().baseline) for patch in ax.patches)
    assert area == pytest.approx(result.stats["busy"].sum())
    assert "PEs computing, of 100" in texts(ax.figure)


def test_timeline_of_chosen_pes_and_cycles():
    result = wavefront((20, 30), 5)
    assert "a row each for 64 PEs at most, of more: pes=[...]" in texts(timeline(result))
    ax = timeline(result, pes=[(0, 1), 32, (0, 1)], cycles=(2, 5)).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0, 1", "1, 2"]
    assert ax.get_xlim() == (2, 5)
    drawn = sum(len(bars.get_paths()) for bars in ax.collections)
    chosen = result.events[np.isin(result.events["pe"], [1, 32])]
    assert drawn == np.count_nonzero((chosen["start"] < 5) & (chosen["end"] >= 2))
    for wrong in ((20, 0), 600, (1,)):
        with pytest.raises(cy.ShapeError, match="there is no PE") as caught:
            timeline(result, pes=[wrong])
        assert caught.value.code == "CYC735"


def test_a_uniform_map_says_so():
    result = wavefront((3, 3), 5)
    assert "each PE computes" in texts(utilization(result))
    result.utilization[0, 0] = 0
    assert "mean utilisation" in texts(utilization(result))


def test_timeline_without_events_and_with_dropped_ones():
    assert "no events" in texts(timeline(wavefront((2, 2), 3, events=False)))
    result = wavefront((2, 2), 3)
    result.events_dropped = 1234
    assert "1,234 more not recorded" in texts(timeline(result))


def test_timeline_shows_operations_that_cost_nothing():
    result = wavefront((2,), 3)
    result.events["end"] = result.events["start"]
    ax = timeline(result).axes[0]
    widths = [np.ptp(path.vertices[:, 0]) for group in ax.collections for path in group.get_paths()]
    assert min(widths) > 0


def test_occupancy_shares_add_up():
    result = wavefront((2, 3), 8)
    ax = occupancy(result).axes[0]
    heights = np.zeros(6)
    for bars in ax.containers:
        heights += [bar.get_height() for bar in bars]
    np.testing.assert_allclose(heights, 1)
    words = texts(ax.figure)
    for name in ("computing", "waiting for data", "waiting for space", "idle"):
        assert name in words


def test_a_given_axes_is_drawn_into():
    for draw in PICTURES:
        for grid in ((2, 2), (2, 2, 2), (20, 20)):
            figure = Figure()
            ax = figure.add_subplot()
            assert draw(wavefront(grid, 4), ax=ax) is figure
            assert ax.has_data()


def test_figures_show_in_notebooks_without_pyplot():
    figure = Plots(wavefront((2, 2), 4)).utilization()
    assert figure._repr_png_().startswith(b"\x89PNG")
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


def test_no_cycles_at_all():
    result = wavefront((2, 2), 3, events=False)
    result.cycles = 0
    result.utilization = np.zeros((2, 2))
    nothing = {key: np.zeros((2, 2), np.int64) for key in ("busy", "stall_empty", "stall_full", "idle")}
    result.stats = {**nothing, "busy_by_operator": {}, "channels": []}
    for draw in PICTURES:
        draw(result)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    for draw in PICTURES:
        with pytest.raises(BackendUnavailable, match="pip install matplotlib") as caught:
            draw(wavefront((2, 2), 3))
        assert caught.value.code == "CYC722"


def test_shrink_averages_ragged_blocks():
    values, blocks = shrink(np.arange(5.0), most=2)
    assert blocks == (3,)
    np.testing.assert_allclose(values, [1.0, 3.5])


def test_busy_in_bins_is_exact():
    edges = np.array([0.0, 2.0, 4.0, 10.0])
    busy = busy_in_bins(np.array([0, 1]), np.array([3, 5]), edges)
    np.testing.assert_allclose(busy, [1.5, 1.5, 1 / 6])


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), (1, "100 %"), (0.364, "36.4 %"), (0.9999, "> 99.9 %"), (0.001, "0.1 %")]
)
def test_percent_never_rounds_up_to_all(share, text):
    assert percent(share) == text


@cy.kernel
def scaled(x):
    return 2 * x


@pytest.mark.parametrize(
    "picture", ["utilization", "occupancy", "stalls", "activity", "critical_path", "timeline"]
)
def test_the_name_of_a_file_is_no_axes(picture):
    result = cy.run(scaled.compile(np.ones((3, 3))), backend="sim")
    with pytest.raises(cy.ShapeError, match=r"drawn into 'map\.png', which is no axes") as refused:
        getattr(result.plot, picture)("map.png")
    assert refused.value.code == "CYC735"
    assert "path=" in refused.value.help

"""Rooflines: peaks, bandwidths and intensities that can be worked out by hand, and how they are drawn."""

import math
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))

import kernels

import cyclotron as cy
from cyclotron.plot._roofline import roofline_of


def product(n, k, m, *, recipe=cy.schedules.output_stationary, tile=None, dtype="float64", **machine):
    shapes = (n, k), (k, m)
    operands = [cy.spec(shape, dtype) if tile is None else blocks(shape, tile, dtype) for shape in shapes]
    schedule = recipe(kernels.matmul)
    program = kernels.matmul.compile(*operands, schedule=schedule, machine=cy.Machine(**machine))
    return cy.run(program, backend="sim", functional=False, event_limit=0)


def blocks(shape, tile, dtype):
    import numpy as np

    return cy.blocked(np.ones(shape, dtype), (tile, tile))


def test_the_numbers_of_an_output_stationary_product():
    """n m PEs of 2 flops a cycle; each stores; n (m - 1) + m (n - 1) links carry k words each."""
    n, k, m = 4, 50, 6
    line = roofline_of(product(n, k, m, dtype="float32"))
    assert line.peak == 2 * n * m
    assert line.flops == n * m * (2 * k - 1)
    assert line.performance == line.flops / (n + m + k - 2)
    memory, links = line.roofs
    assert memory.bandwidth == 4 * n * m
    assert memory.moved == 4 * (n * k + k * m + n * m)
    hops = n * (m - 1) + m * (n - 1)
    assert links.bandwidth == 4 * hops
    assert links.moved == 4 * hops * k
    assert line.intensity(links) == line.flops / links.moved


def test_wider_links_raise_the_roofs():
    narrow, wide = (roofline_of(product(3, 8, 3, link=cy.Link(words_per_cycle=w))) for w in (1, 3))
    assert [roof.bandwidth for roof in wide.roofs] == [3 * roof.bandwidth for roof in narrow.roofs]
    assert wide.peak == narrow.peak


PEAKS = {
    "flops a cycle": (cy.PE(flops_per_cycle=32), 32),
    "a matrix unit": (cy.PE(matrix=cy.Unit(shape=(4, 4, 8), cycles=2)), 128),
    "cycles by name": (cy.PE(cycles={"matmul": 10, "matmul_add": 5}), 2 * 2**3 / 5),
}


@pytest.mark.parametrize("name", PEAKS)
def test_the_peak_is_that_of_the_unit(name):
    pe, peak = PEAKS[name]
    assert roofline_of(product(4, 6, 4, tile=2, pe=pe)).peak == 4 * peak


@pytest.mark.parametrize(("unit", "peak"), [("vector", 2 * 8 / 3), ("scalar", 2 / 3)])
def test_the_peak_of_elementwise_operators_is_that_of_their_unit(unit, peak):
    shape = (8,) if unit == "vector" else ()
    line = roofline_of(product(2, 6, 2, pe=cy.PE(**{unit: cy.Unit(shape=shape, cycles=3)})))
    assert line.peak == pytest.approx(4 * peak)


def test_operators_that_take_no_time_have_no_peak():
    free = cy.PE(cycles={"multiply": 0, "multiply_add": 0})
    result = product(2, 6, 2, pe=free)
    assert math.isinf(roofline_of(result).peak)
    assert "no peak" in texts(result.plot.roofline())


def texts(figure):
    return "\n".join(text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text")))


def lines(figure):
    """The drawn lines by their entries in the legend."""
    (ax,) = figure.axes
    return dict(zip(ax.get_legend_handles_labels()[1], ax.get_legend_handles_labels()[0], strict=True))


def test_the_run_stands_below_its_roofs(tmp_path):
    result = product(4, 50, 6)
    figure = result.plot.roofline(path=tmp_path / "roofline.png")
    assert (tmp_path / "roofline.png").stat().st_size > 1000
    line = roofline_of(result)
    found = lines(figure)
    points = [handle for handle in found.values() if len(handle.get_xdata()) == 1]
    assert [(p.get_xdata()[0], p.get_ydata()[0]) for p in points] == [
        (line.intensity(roof), line.performance) for roof in line.roofs
    ]
    roofs = [handle for handle in found.values() if len(handle.get_xdata()) == 2]
    for drawn, roof in zip(roofs, line.roofs, strict=True):
        assert drawn.get_ydata() == pytest.approx(drawn.get_xdata() * roof.bandwidth)
        assert drawn.get_ydata()[-1] == pytest.approx(line.peak)
    assert (figure.axes[0].get_xscale(), figure.axes[0].get_yscale()) == ("log", "log")
    assert "peak: 48 flops a cycle" in texts(figure)


def test_runs_on_one_machine_share_their_roofs():
    shallow, deep = product(4, 10, 4), product(4, 90, 4)
    figure = shallow.plot.roofline(deep, labels=["10 steps", "90 steps"])
    found = lines(figure)
    assert sum(len(handle.get_xdata()) == 1 for handle in found.values()) == 4
    assert sum(len(handle.get_xdata()) == 2 for handle in found.values()) == 2
    assert all(any(label in name for name in found) for label in ("10 steps", "90 steps"))
    other = shallow.plot.roofline(product(5, 10, 5))
    assert sum(len(handle.get_xdata()) == 2 for handle in lines(other).values()) == 4

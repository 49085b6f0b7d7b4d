"""Critical paths that can be worked out by hand, as values, as tables and as pictures."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import kernels
import numpy as np
import pytest

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))

import critical_path as example


def product(n, k, m, recipe=cy.schedules.output_stationary, *, functional=False, tile=None, **machine):
    A, B = np.ones((n, k)), np.ones((k, m))
    operands = (A, B) if tile is None else (cy.blocked(A, tile), cy.blocked(B, tile))
    program = kernels.matmul.compile(
        *operands, schedule=recipe(kernels.matmul), machine=cy.Machine(**machine) if machine else None
    )
    return cy.run(program, backend="sim", functional=functional)


@pytest.mark.parametrize(("n", "k", "m"), [(1, 1, 1), (3, 4, 5), (6, 2, 3)])
def test_an_output_stationary_product_hops_to_its_last_pe_and_computes_there(n, k, m):
    """The wavefront reaches the corner after n + m - 2 hops, wherever else it waits for k computations."""
    path = product(n, k, m).critical_path()
    assert path.cycles == n + m + k - 2
    assert path.by_kind == {kind: c for kind, c in (("compute", k), ("data", n + m - 2)) if c}
    assert path.steps[-1].pe == n * m - 1
    assert {step.line for step in path.steps} == {"kernels.py:11"}


def test_a_shallow_channel_is_on_the_path_and_a_deeper_one_is_shorter():
    slow = cy.Link(latency=2, response_latency=3, depth=1)
    shallow = product(3, 9, 3, link=slow).critical_path()
    assert shallow.by_kind["capacity"] > 0
    assert "cy.Link(depth=...)" in str(shallow)
    deep = product(3, 9, 3, link=cy.Link(latency=2, response_latency=3, depth=9)).critical_path()
    assert "capacity" not in deep.by_kind
    assert deep.cycles < shallow.cycles


def test_a_narrow_link_is_on_the_path_and_a_wider_one_is_shorter():
    free = cy.PE(cycles={"matmul": 1, "matmul_add": 1})
    narrow = product(4, 24, 4, tile=(2, 2), pe=free, link=cy.Link(depth=9)).critical_path()
    assert narrow.by_kind["bandwidth"] > narrow.cycles / 2
    wide = product(4, 24, 4, tile=(2, 2), pe=free, link=cy.Link(depth=9, words_per_cycle=4)).critical_path()
    assert "bandwidth" not in wide.by_kind
    assert wide.cycles < narrow.cycles


def test_each_change_of_the_example_is_what_the_path_before_suggests():
    results = [example.simulate(machine) for machine in example.MACHINES.values()]
    cycles = [result.cycles for result in results]
    assert cycles == sorted(cycles, reverse=True)
    narrow, shallow, deep = map(example.shares, results)
    assert max(narrow, key=narrow.get) == "data"
    assert shallow["capacity"] > narrow["capacity"]
    assert max(deep, key=deep.get) == "compute"
    assert "capacity" not in deep


def test_broadcasts_are_named():
    path = product(3, 5, 4, cy.schedules.summa).critical_path()
    assert set(path.by_kind) == {"compute", "broadcast"}


def test_numbers_do_not_matter():
    times, numbers = (product(3, 4, 5, functional=functional).critical_path() for functional in (False, True))
    assert times.steps == numbers.steps


def test_a_run_without_cycles_has_no_steps():
    path = product(1, 3, 1, pe=cy.PE(cycles={"multiply": 0, "multiply_add": 0})).critical_path()
    assert path.cycles == 0
    assert path.by_kind == {} or set(path.by_kind.values()) == {0}
    assert "0 cycles" in str(path)


def test_the_table_tells_what_the_path_goes_through():
    path = product(3, 4, 5).critical_path()
    assert (
        str(path)
        == """\
critical path of matmul on 3×5: 10 cycles, 10 steps, 7 PEs

kind     through       line           steps  cycles  share
-------  ------------  -------------  -----  ------  -----
data     A along j     kernels.py:11  4      4       40.0%
compute  multiply_add  kernels.py:11  3      3       30.0%
data     B along i     kernels.py:11  2      2       20.0%
compute  multiply      kernels.py:11  1      1       10.0%

compute: an operator computes; shorter by fewer cycles of the operator: cy.PE(cycles=...), a wider unit
data: a message travels; shorter by a lower latency or more words a cycle: cy.Link"""
    )
    assert path.by_name == {"A along j": 4, "multiply_add": 3, "B along i": 2, "multiply": 1}
    assert path.by_pe.tolist() == [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 5]]
    table = ET.fromstring(path._repr_html_())
    assert [cell.text for cell in table.iter("td")][:3] == ["data", "A along j", "kernels.py:11"]
    assert [item.text.split(":")[0] for item in table.iter("li")] == ["compute", "data"]


def test_the_picture_draws_every_step(tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib.collections import LineCollection

    result = product(3, 4, 5)
    figure = result.plot.critical_path(path=tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 1000
    (ax,) = figure.axes
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    drawn = sorted(tuple(map(tuple, segment)) for c in lines for segment in c.get_segments())
    path = result.critical_path()
    rows = sorted({pe for step in path.steps for pe in (step.source, step.pe)})
    expected = [((s.start, rows.index(s.source)), (s.end, rows.index(s.pe))) for s in path.steps]
    assert drawn == sorted(expected)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["data: 6, 60.0 %", "compute: 4, 40.0 %"]

"""Orders of reductions in `cy.map`: those that kernels leave open are searched, and no default is faster."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import exhaustive_mapping as exhaustive
import mapped_kernels as mapped
import numpy as np
import pytest
import reducing_kernels as kernels
from mapped_kernels import Case
from reducing_kernels import some, triangle

import cyclotron as cy
from cyclotron.mapper.evaluate import Measured, evaluate
from cyclotron.mapper.orders import needed, orders
from cyclotron.mapper.space import Partial, space_of

GRID = cy.Machine(grid=(8, 8))
KERNELS = {
    "dot": (kernels.dot, some(256), some(256)),
    "dot, by a line": (kernels.dot, some(1000), some(1000)),
    "total": (kernels.total, some(64)),
    "total of rows": (kernels.total, some(32, 32)),
    "length": (kernels.length, some(200)),
    "matrix and vector": (kernels.product, some(32, 32), some(32)),
    "few rows and a vector": (kernels.product, some(8, 128), some(128)),
    "product": (kernels.product, some(4, 64), some(64, 4)),
    "batch of products": (kernels.product, some(4, 8, 8), some(4, 8, 8)),
    "gram": (kernels.gram, some(32, 8)),
    "column sums": (kernels.column_sums, some(32, 16)),
    "row maxima": (kernels.row_maxima, some(16, 32)),
    "softmax": (kernels.softmax, some(128)),
    "softmax of rows": (kernels.softmax_of_rows, some(16, 32)),
    "layer norm": (kernels.layer_norm, some(8, 32)),
    "attention": (kernels.attention, some(8, 4), some(16, 4), some(16, 4)),
    "attention in sums": (mapped.attention, some(8, 4), some(8, 4), some(8, 4)),
    "dot in terms": (kernels.dot_of_terms, some(64), some(64)),
    "filter": (kernels.filtered, some(71), some(8)),
    "channels": (kernels.filtered_channels, some(3, 18), some(4, 3, 3)),
    "convolution": (mapped.conv2d, some(18, 18), some(3, 3)),
    "prefix": (kernels.prefix, some(64)),
    "prefix of sums": (kernels.prefix_of_sums, some(32)),
    "solve": (mapped.trsm, triangle(16).T, some(16, 8)),
    "solve back": (kernels.solve_back, triangle(24), some(24)),
    "solve rows back": (kernels.solve_rows_back, triangle(16), some(16, 8)),
    "factor": (mapped.cholesky, some(8, 8) @ some(8, 8).T + 99 * np.eye(8)),
    "decompose": (kernels.decompose, triangle(8) + triangle(8).T),
    "tensor": (mapped.mttkrp, some(8, 6, 6), some(6, 8), some(6, 8)),
    "stencil": (mapped.jacobi, some(32), 8),
    "stencil of rows": (kernels.relax, some(8, 8), 4),
    "alignment": (kernels.align, some(24, 24)),
    "polynomial": (kernels.polynomial, some(40), some(8)),
    "distances": (kernels.distances, some(32)),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", KERNELS)
def test_no_default_is_faster(name):
    """The best computes what NumPy does, and takes no longer than what is compiled for without a schedule."""
    kernel, *args = KERNELS[name]
    found = cy.map(kernel, *args, machine=GRID, candidates=5, time_limit=None)
    usual = cy.run(kernel.compile(*args, machine=GRID), backend="sim", functional=False)
    print(f"{name}: default {usual.cycles}, best {found[0].cycles}, at least {found.bound}")
    assert found.bound <= found[0].cycles <= usual.cycles
    result = cy.run(found.best, backend="sim")
    assert result.cycles == found[0].cycles
    expected = kernel.reference(*args)
    for own, other in zip(
        result.outputs.values(), expected if isinstance(expected, tuple) else (expected,), strict=True
    ):
        np.testing.assert_allclose(own, other, rtol=1e-12)


@pytest.mark.parametrize(("name", "most"), [("dot, by a line", 60), ("few rows and a vector", 25)])
def test_orders_that_the_default_does_not_try(name, most):
    """Trees of small radixes on folded dimensions: it takes 79 and 31 cycles."""
    kernel, *args = KERNELS[name]
    found = cy.map(kernel, *args, machine=GRID, candidates=40, time_limit=None)
    assert found[0].cycles <= most
    assert found[0].schedule.reorders_reductions
    assert eval(repr(found[0].schedule), {"cy": cy}) == found[0].schedule


@pytest.mark.parametrize("name", ["dot in terms", "solve rows back", "prefix of sums", "attention in sums"])
def test_sums_of_terms_keep_their_order(name):
    """The compiler may re-associate none of them, and neither may a mapping."""
    kernel, *args = KERNELS[name]
    system = kernel.recurrences(*args).core
    assert orders(system, GRID, cy.Schedule()) == [cy.Schedule()]
    found = cy.map(kernel, *args, machine=GRID, candidates=8, time_limit=None, top=8)
    assert not any(one.schedule.reorders_reductions for one in found)


def test_sums_of_whole_numbers_have_any_order():
    x, y = np.arange(64), np.arange(64)
    found = cy.map(kernels.dot_of_terms, x, y, machine=GRID, candidates=10, time_limit=None)
    assert found[0].schedule.reorders_reductions
    assert found[0].cycles < 32
    assert cy.run(found.best, backend="sim").output == x @ y


@pytest.mark.parametrize(
    "fix", [cy.Schedule().inwards("i"), cy.Schedule().reduce("i", radix=4), cy.Schedule().descending("i")]
)
def test_an_order_that_is_fixed_stays(fix):
    found = cy.map(kernels.total, some(8), machine=GRID, fix=fix, candidates=12, time_limit=None)
    verbs = "inward_indices", "descending_indices", "reductions", "reassociations"
    for one in found:
        assert all(getattr(one.schedule, verb) == getattr(fix, verb) for verb in verbs)


def in_orders(index: str, schedules: Iterator[cy.Schedule]) -> Iterator[cy.Schedule]:
    """Each with its reductions in each order over PEs, by the verbs' own documentation."""
    for schedule in schedules:
        yield schedule
        yield schedule.descending(index)
        if index in schedule.space_indices:
            yield schedule.inwards(index)
            for radix in (2, 4):
                yield schedule.reduce(index, radix=radix)
                yield schedule.inwards(index).reduce(index, radix=radix)
    for parts, space in itertools.product((2, 3, 4), [("b", index), (index, "b"), ("b", "0"), ("0", "b")]):
        for verb in ("", "inwards", "reduce"):
            schedule = cy.Schedule().reassociate(index, parts, into="b").space(*space)
            yield getattr(schedule, verb)("b") if verb else schedule


SMALL = cy.Machine(grid=(2, 2), link=cy.Link(depth=1 << 20), pe=cy.PE(memory=1 << 20))
UNEVEN = cy.Machine(
    grid=(2, 3),
    link=cy.Link(latency=2, depth=1 << 20),
    pe=cy.PE(memory=1 << 20, cycles={"multiply_add": 3, "multiply": 2, "add": 2}),
)
ENUMERATED = {
    "dot": (Case(kernels.dot, (some(12), some(12)), {"i": 12}, ("x", "y")), "i", 1),
    "total": (Case(kernels.total, (some(9),), {"i": 9}, ("x",)), "i", 1),
    "product": (Case(kernels.product, (some(3, 8), some(8)), {"i": 3, "j": 8}, ("A", "x")), "j", 7),
    "maxima": (Case(kernels.row_maxima, (some(3, 7),), {"i": 3, "j": 7}, ("A",)), "j", 3),
}


@pytest.mark.parametrize("machine", [SMALL, UNEVEN], ids=["even", "uneven"])
@pytest.mark.parametrize("name", ENUMERATED)
def test_no_order_is_better(name, machine):
    """By brute force, each n-th mapping where there are many."""
    case, index, every = ENUMERATED[name]
    own = in_orders(index, exhaustive.schedules(case.extents, case.tensors, machine.grid))
    cycles = [
        exhaustive.cycles(case.kernel, case.args, schedule, machine)
        for schedule in itertools.islice(own, 0, None, every)
    ]
    true = min(one for one in cycles if one is not None)
    found = cy.map(case.kernel, *case.args, machine=machine, candidates=150, time_limit=None)
    assert found.bound <= true
    assert found[0].cycles <= 1.02 * true


@pytest.mark.parametrize("machine", [SMALL, UNEVEN, GRID], ids=["even", "uneven", "8x8"])
@pytest.mark.parametrize("name", ["dot", "total", "product", "maxima", "rows", "norm"])
def test_no_bound_is_above_a_mapping_in_another_order(name, machine):
    """From the order alone to all choices: each bound on the way is below what the mapping takes."""
    others = {
        "rows": (kernels.softmax_of_rows, some(4, 6)),
        "norm": (kernels.layer_norm, some(3, 8)),
    }
    kernel, *args = others.get(name) or (ENUMERATED[name][0].kernel, *ENUMERATED[name][0].args)
    system, dice = kernel.recurrences(*args).core, random.Random(f"{name} {machine}")
    plain = space_of(system, machine, cy.Schedule())
    checked = 0
    for order in orders(system, machine, cy.Schedule()):
        try:
            space = space_of(system, machine, order, needed(cy.Schedule(), order))
        except cy.ScheduleError:  # not a range that is the same everywhere
            continue
        for _ in range(4):
            path = [Partial()]
            while not space.is_leaf(path[-1]) and (next := list(space.children(path[-1]))):
                path.append(dice.choice(next))
            if not space.is_leaf(path[-1]):  # a tree that is another one
                continue
            found = evaluate(system, space.schedule(path[-1]), machine)
            if isinstance(found, Measured):
                bounds = [plain.work, *(space.proven(partial) for partial in path)]
                assert max(bounds) <= found.cycles, (found.schedule, bounds)
                checked += 1
    assert checked > 5


def test_trees_that_are_the_same_are_tried_once():
    """Of radixes that join all PEs at once, the least one."""
    kernel, *args = KERNELS["product"]
    system = kernel.recurrences(*args).core
    for radix, pes, is_tried in [(8, 8, True), (8, 5, True), (8, 4, False), (4, 4, True), (64, 8, False)]:
        space = space_of(system, GRID, cy.Schedule().reduce("k", radix=radix), {"k"})
        placed = Partial(("i", "k"), (None, cy.block(pes)))
        assert bool(list(space.children(placed))) is is_tried


def test_parts_of_sums_are_not_moved():
    """No schedule names them: what the compiler makes of one sum is its own."""
    kernel, *args = KERNELS["total"]
    space = space_of(kernel.recurrences(*args).core, GRID, cy.Schedule().inwards("i"))
    assert [operand.name for operand in space.operands] == ["x"]


def test_the_longest_chain_of_blocks_from_both_ends():
    """By hand: of five blocks each adds twice; they are joined in turn, or by threes and twos, and these."""
    system = kernels.total.recurrences(some(15)).core
    fix = cy.Schedule().reassociate("i", 5, into="b")
    for order, additions in [(fix, 2 + 4), (fix.inwards("b"), 2 + 2 + 1)]:
        assert space_of(system, UNEVEN, order).bounds.chain == 2 * additions


def test_the_first_term_has_a_place_too():
    """A sum of 9 has 8 additions: on 8 PEs two terms share one, and no bound counts on 8."""
    system = kernels.total.recurrences(some(9)).core
    found = evaluate(system, cy.Schedule().space("i", "0"), GRID)
    space = space_of(system, GRID, cy.Schedule())
    assert isinstance(found, Measured)
    assert found.pes == 5
    (placed,) = (one for one in space.children(Partial(("i", "0"))) if one.shares == (cy.block(5),))
    assert placed.shares[0] is not None
    assert space.proven(Partial(("i", "0"), (cy.block(8), None), rotation=("", ()))) <= found.cycles

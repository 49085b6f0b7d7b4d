"""Chains, two phases and trees of partial results along lines of PEs (MA-042, MA-043)."""

import math
from functools import reduce

import numpy as np
import pytest

import cyclotron as cy

LINE = cy.Schedule().space("i")
GRID = cy.Schedule().space("i", "j")
SIZES = [1, 2, 3, 5, 16, 17]
ALGORITHMS = [("two_phase", 2), ("tree", 2), ("tree", 3), ("tree", 100)]


@cy.kernel
def total(x):
    return cy.sum(x)


@cy.kernel
def steps(x, y, n):
    """A product in a loop, of which all PEs use the result."""
    for t in range(n):
        s = cy.sum(x * y)
        x = x + s
    return x


@cy.kernel
def others(x):
    return cy.max(x), cy.min(x), cy.any(x > 3), cy.all(x > 3), cy.dot(x, x)


@cy.kernel
def spread(x, n):
    for t in range(n):
        s = cy.sum(x * x)
        x = x - s
    return x


def radix_of(algorithm, radix, blocks):
    return max(math.isqrt(blocks - 1) + 1, 2) if algorithm == "two_phase" else radix


def joined(terms, radix):
    """Blocks of that many, counted from the end, each from its first to its last; then their results."""
    while len(terms) > 1:
        blocks = [terms[max(end - radix, 0) : end] for end in range(len(terms), 0, -radix)][::-1]
        terms = [reduce(lambda sum, term: sum + term, block) for block in blocks]
    return terms[0]


def summed(terms, algorithm="tree", radix=2):
    terms = list(terms)
    return joined(terms, radix_of(algorithm, radix, len(terms)))


def from_the_middle(terms, algorithm="tree", radix=2):
    """Both halves to where they meet."""
    terms = list(terms)
    middle = (len(terms) - 1) // 2 + 1
    lower = summed(terms[:middle], algorithm, radix)
    return lower + summed(terms[middle:][::-1], algorithm, radix) if len(terms) > 1 else lower


def data(*shape, dtype="float64"):
    values = np.random.default_rng(sum(shape)).random(shape) * 8
    if dtype == "complex128":
        return values + 1j * values[::-1]
    return (values > 4) if dtype == "bool" else values.astype(dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("algorithm", "radix"), ALGORITHMS, ids=str)
def test_sums_in_the_order_that_is_stated(n, algorithm, radix):
    x, y = data(n), data(n)[::-1].copy()
    expected = x
    for _ in range(3):
        expected = expected + summed(expected * y, algorithm, radix)
    for machine in (None, cy.Machine(link=cy.Link(depth=1)), cy.Machine(link=cy.Link(depth=2, latency=3))):
        program = steps.compile(x, y, 3, schedule=LINE.reduce("i", algorithm, radix), machine=machine)
        assert cy.prove(program).ok
        for backend in ("sim", "local"):
            assert np.array_equal(cy.run(program, backend=backend).output, expected)
    assert program.grid == (n,)


@pytest.mark.parametrize("n", [2, 5, 17])
def test_the_same_on_ranks(n):
    x, y = data(n), data(n)
    program = steps.compile(x, y, 2, schedule=LINE.reduce("i"))
    expected = cy.run(program, backend="local").output
    assert np.array_equal(cy.run(program, backend="mpi", ranks=2).output, expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("algorithm", "radix"), ALGORITHMS[:3], ids=str)
def test_from_both_ends_to_the_middle(n, algorithm, radix):
    x, y = data(n), data(n)
    expected = x
    for _ in range(2):
        expected = expected + from_the_middle(expected * y, algorithm, radix)
    program = steps.compile(x, y, 2, schedule=LINE.inwards("i").reduce("i", algorithm, radix))
    assert np.array_equal(cy.run(program, backend="sim").output, expected)
    assert cy.prove(program).ok


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64", "complex128", "bool"])
@pytest.mark.parametrize("n", [1, 4, 17])
def test_dtypes(dtype, n):
    x = data(n, dtype=dtype)
    program = total.compile(x, schedule=LINE.reduce("i", "tree", 3))
    result = cy.run(program, backend="sim").output
    terms = x.astype(int) if dtype == "bool" else x
    assert result.dtype == total.reference(x).dtype
    assert result == summed(terms, radix=3)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_other_reductions(n, dtype):
    x = (np.arange(n) * 7 % 5).astype(dtype)
    for algorithm in ("tree", "two_phase"):
        program = others.compile(x, schedule=LINE.reduce("i", algorithm))
        assert cy.prove(program).ok
        for output, expected in zip(
            cy.run(program, backend="sim").outputs.values(), others.reference(x), strict=True
        ):
            np.testing.assert_array_equal(output, expected, strict=True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(4, 4), (5, 7), (1, 6), (7, 1), (1, 1), (2, 3)], ids=str)
@pytest.mark.parametrize(("algorithm", "radix"), ALGORITHMS[:2], ids=str)
def test_planes(shape, algorithm, radix):
    """Rows, then a column of their sums; or columns first; or to the middle."""
    x = data(*shape)

    def after(sum_of, transposed=False):
        result = x
        for _ in range(2):
            terms = (result * result).T if transposed else result * result
            result = result - sum_of([sum_of(line, algorithm, radix) for line in terms], algorithm, radix)
        return result

    both = GRID.reduce("i", algorithm, radix).reduce("j", algorithm, radix)
    for schedule, expected in (
        (both, after(summed)),
        (both.stages("i", "j"), after(summed, transposed=True)),
        (both.inwards("i", "j"), after(from_the_middle)),
    ):
        program = spread.compile(x, 2, schedule=schedule)
        assert program.grid == shape
        assert np.array_equal(cy.run(program, backend="sim").output, expected)
        assert cy.prove(program).ok


def hops_and_operations(n, radix):
    """A hop for each PE on the way, and at each level an operation for each further member of a block."""
    members, operations = n, 0
    while members > 1:
        operations += min(radix, members) - 1
        members = -(-members // radix)
    return n - 1 + operations


@pytest.mark.parametrize(("n", "radix"), [(16, 2), (64, 2), (256, 2), (64, 4), (256, 16), (27, 3)])
def test_cycles_are_hops_and_the_operations_of_each_level(n, radix):
    """With a hop a cycle and an operation a cycle; a chain does both at each PE."""
    shape = cy.spec((n,))
    cycles = cy.run(
        total.compile(shape, schedule=LINE.reduce("i", "tree", radix)), backend="sim", functional=False
    ).cycles
    assert cycles == hops_and_operations(n, radix)
    chain = cy.run(total.compile(shape, schedule=LINE), backend="sim", functional=False).cycles
    assert chain == 2 * (n - 1)


@cy.kernel
def squares(x):
    return cy.sum(x * x)


@cy.kernel
def distance(x):
    return cy.sum(cy.abs(x - 3))


@cy.kernel
def farthest(x):
    return cy.max(cy.abs(x - 3) * x)


@pytest.mark.parametrize(("kernel", "before"), [(squares, 1), (distance, 2), (farthest, 3)])
@pytest.mark.parametrize(("algorithm", "radix"), [("tree", 2), ("tree", 4), ("two_phase", 16)])
def test_terms_are_computed_while_pes_wait_for_results(kernel, before, algorithm, radix):
    """The PE farthest away computes its term first; no other operator is on the way."""
    x = data(256)
    program = kernel.compile(x, schedule=LINE.reduce("i", algorithm, radix))
    result = cy.run(program, backend="sim")
    assert result.cycles == hops_and_operations(256, radix) + before
    np.testing.assert_allclose(result.output, kernel.reference(x), rtol=1e-13)


@pytest.mark.parametrize("n", [64, 256, 1024])
def test_kinds_of_pes_grow_like_the_levels(n):
    program = steps.compile(cy.spec((n,)), cy.spec((n,)), 2, schedule=LINE.reduce("i"))
    assert len(program.classes) <= 3 * math.log2(n) + 2


@cy.kernel
def lower_triangle(A):
    y = cy.empty((A.shape[0],))
    for i in range(A.shape[0]):
        y[i] = sum(A[i, k] for k in range(i + 1))
    return y


@pytest.mark.parametrize(
    ("kernel", "schedule", "message", "help"),
    [
        (
            lower_triangle,
            cy.Schedule().space("k").reduce("k"),
            "0 to 3 that are not the same",
            "leave reduce",
        ),
        (total, LINE.reduce("z"), "`z` in a tree, over which", "it reduces over: i, j"),
        (total, cy.Schedule().space("i").reduce("j"), "`j`, which is not space", 'space("j")'),
    ],
    ids=["range", "unknown", "time"],
)
def test_refusals(kernel, schedule, message, help):
    with pytest.raises(cy.ScheduleError) as refused:
        kernel.compile(data(4, 4), schedule=schedule)
    assert refused.value.code == "CYC318"
    assert message in str(refused.value)
    assert help in refused.value.help


def test_says_so(tmp_path):
    x = data(9)
    schedule = LINE.reduce("i", "tree", 3)
    program = total.compile(x, schedule=schedule)
    assert "reductions over i are done in a tree of radix 3" in str(program.explain())
    assert "in a tree of radix 3" in " ".join(program.verify())
    (terms,) = (found for found in cy.prove(program).properties if found.name == "terms")
    assert "i in a tree of radix 3" in terms.text
    program.save(tmp_path / "sum.cyc")
    assert cy.run(cy.load(tmp_path / "sum.cyc"), x, backend="sim").output == summed(x, radix=3)


@pytest.mark.parametrize(
    "schedule",
    [LINE.reduce("i"), LINE.reduce("i", "tree", 4), LINE.inwards("i").reduce("i", "two_phase")],
    ids=str,
)
def test_schedules_round_trip(schedule, tmp_path):
    schedule.save(tmp_path / "schedule.toml")
    assert cy.Schedule.load(tmp_path / "schedule.toml") == schedule
    assert cy.Schedule.from_dict(schedule.to_dict()) == schedule
    assert cy.Schedule.from_core(schedule.to_core()) == schedule
    assert eval(repr(schedule), {"cy": cy}) == schedule
    assert schedule.reduce("i", "chain") == dataclass_without_reductions(schedule)


def dataclass_without_reductions(schedule):
    return cy.Schedule(space_indices=schedule.space_indices, inward_indices=schedule.inward_indices)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: LINE.reduce("i", "heap"), "CYC301"),
        (lambda: LINE.reduce("i", "tree", 1), "CYC301"),
        (lambda: LINE.reduce("i", "tree", True), "CYC301"),
        (lambda: LINE.reduce("i", "tree", 2**40), "CYC301"),
        (lambda: LINE.reduce("2 i"), "CYC301"),
        (lambda: cy.Schedule.from_dict({"reduce": {"i": 3}}), "CYC301"),
        (lambda: cy.Schedule.from_dict({"reduce": ["i"]}), "CYC301"),
        (lambda: cy.Schedule(reductions=(*LINE.reduce("i").reductions,) * 2), "CYC303"),
        (lambda: cy.Schedule(reductions=("i",)), "CYC301"),
    ],
    ids=["algorithm", "radix", "bool", "large", "name", "entry", "table", "twice", "type"],
)
def test_wrong_requests(make, code):
    with pytest.raises(cy.ScheduleError) as refused:
        make()
    assert refused.value.code == code


@pytest.mark.parametrize(("n", "pes"), [(16, 4), (17, 4), (10, 4), (64, 8), (3, 4), (5, 1)])
def test_terms_of_a_pe_are_joined_first(n, pes):
    """More elements than PEs: sums within each PE, then of these; values are exact here."""
    x = np.arange(n) % 5.0
    for schedule, machine in (
        (LINE.reduce("i"), cy.Machine(grid=(pes,))),
        (LINE.fold(i=pes).reduce("i", "two_phase"), None),
    ):
        program = steps.compile(x, x, 3, schedule=schedule, machine=machine)
        assert math.prod(program.grid) <= pes
        for backend in ("sim", "local"):
            assert np.array_equal(cy.run(program, backend=backend).output, steps.reference(x, x, 3))
        assert cy.prove(program).ok


def of_pes(terms, pes):
    """The terms of each PE, as folds share them out."""
    share = -(-len(terms) // pes)
    return [terms[first : first + share] for first in range(0, len(terms), share)]


@pytest.mark.parametrize(("n", "pes"), [(64, 8), (63, 8), (57, 8), (10, 4), (17, 4), (9, 8), (100, 3)])
@pytest.mark.parametrize(("algorithm", "radix"), ALGORITHMS, ids=str)
def test_folded_terms_are_summed_in_the_order_that_is_stated(n, pes, algorithm, radix):
    """Each PE's own in their order, then what the PEs have; the last one may have fewer."""
    terms = data(n)
    program = total.compile(terms, schedule=LINE.fold(i=pes).reduce("i", algorithm, radix))
    assert program.grid == (len(of_pes(terms, pes)),)
    expected = summed([joined(list(own), n) for own in of_pes(terms, pes)], algorithm, radix)
    for backend in ("sim", "local"):
        assert cy.run(program, backend=backend).output == expected
    assert cy.prove(program).ok


@pytest.mark.parametrize(("n", "pes"), [(64, 8), (57, 8), (17, 4), (9, 8)])
@pytest.mark.parametrize("radix", [2, 8])
def test_folded_terms_from_both_ends(n, pes, radix):
    terms = data(n)
    schedule = LINE.fold(i=pes).inwards("i").reduce("i", "tree", radix)
    program = total.compile(terms, schedule=schedule)
    share, middle = -(-n // pes), (n - 1) // 2 + 1
    halves = [[], []]
    for first in range(0, n, share):
        for half, (low, high) in zip(halves, ((0, middle), (middle, n)), strict=True):
            own = terms[max(first, low) : min(first + share, high)]
            half += [joined(list(own), n)] if len(own) else []
    expected = joined(halves[0], radix) + joined(halves[1][::-1], radix)
    assert cy.run(program, backend="sim").output == expected
    assert cy.prove(program).ok


@cy.kernel
def parts_of(x, y):
    """Reductions over other ranges of one index, and of terms that differ along it."""
    low, high = cy.sum(x[3:] * y[3:]), cy.sum(x[:5])
    shifted = cy.max(x[2:-1] - y[3:])
    return low - high, shifted, x * low


@pytest.mark.sampled(6)
@pytest.mark.parametrize("n", [8, 9, 13, 16, 21, 40])
@pytest.mark.parametrize("pes", [2, 3, 4, 7])
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_ranges_that_start_within_a_share(n, pes, dtype):
    """Whole numbers: exact in any order."""
    x, y = (np.arange(n) * 7 % 11).astype(dtype), (np.arange(n) * 5 % 13).astype(dtype)
    program = parts_of.compile(x, y, schedule=LINE.fold(i=pes).reduce("i", "tree", 3))
    expected = ((x[3:] * y[3:]).sum() - x[:5].sum(), (x[2:-1] - y[3:]).max(), x * (x[3:] * y[3:]).sum())
    for backend in ("sim", "local"):
        for output, wanted in zip(cy.run(program, backend=backend).outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(output, wanted)
    assert cy.prove(program).ok


@cy.kernel
def squares(x):
    return cy.sum(x * x)


@pytest.mark.parametrize(("n", "pes"), [(1000, 8), (100, 8), (64, 4)])
def test_pes_add_as_they_multiply_and_hand_on_once(n, pes):
    """A multiply-add a term, then a hop and an addition a PE, two more if the last share is shorter."""
    schedule = LINE.fold(i=pes).reduce("i", "tree", pes)
    program = squares.compile(cy.spec((n,)), schedule=schedule)
    cycles = cy.run(program, backend="sim", functional=False).cycles
    assert cycles <= -(-n // pes) + 2 * pes + 2


@cy.kernel(max_steps=100)
def settled(u, tolerance):
    change = cy.max(cy.abs(u))
    while change > tolerance:
        new = u.copy()
        new[1:-1] = (u[:-2] + u[2:]) / 2
        change = cy.max(cy.abs(new - u))
        u = new
    return u


@pytest.mark.parametrize("schedule", [LINE.reduce("i"), LINE.inwards("i").reduce("i", "two_phase")], ids=str)
def test_loops_that_end_by_a_total(schedule):
    u = np.zeros(12)
    u[-1] = 1.0
    program = settled.compile(u, 1e-2, schedule=schedule)
    for backend in ("sim", "local"):
        assert np.array_equal(cy.run(program, backend=backend).output, settled.reference(u, 1e-2))


def test_pes_with_few_channels():
    x = data(33)
    schedule = LINE.inwards("i").reduce("i")
    machine = cy.Machine(pe=cy.PE(channels=8))
    program = steps.compile(x, x, 2, schedule=schedule, machine=machine)
    assert np.array_equal(
        cy.run(program, backend="sim").output,
        cy.run(steps.compile(x, x, 2, schedule=schedule), backend="sim").output,
    )


def test_a_chain_in_a_table_is_no_reduction():
    data = {"space": ["i"], "reduce": {"i": "chain"}}
    assert cy.Schedule.from_dict(data) == cy.Schedule().space("i").reduce("i", "chain")
    assert cy.Schedule().reduce("i", "two_phase", radix=1) == cy.Schedule().reduce("i", "two_phase")

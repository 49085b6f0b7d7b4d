"""Inputs that live in given PEs, and operands that come in panels."""

import kernels
import numpy as np
import pytest

import cyclotron as cy

S = cy.Schedule()
IJ = S.space("i", "j").time("k")
BROADCAST = IJ.broadcast("A", along="j").broadcast("B", along="i")


@cy.kernel
def matvec(A, x):
    n, m = A.shape
    y = cy.empty((n,), dtype=A.dtype)
    for i in range(n):
        y[i] = sum(A[i, j] * x[j] for j in range(m))
    return y


@cy.kernel
def square(A):
    n = A.shape[0]
    C = cy.empty_like(A)
    for i in range(n):
        for j in range(n):
            C[i, j] = sum(A[i, k] * A[k, j] for k in range(n))
    return C


@cy.kernel
def mirrored(A, x):
    """Reads the vector from its end."""
    n, m = A.shape
    y = cy.empty((n,), dtype=A.dtype)
    for i in range(n):
        y[i] = sum(A[i, j] * x[m - 1 - j] for j in range(m))
    return y


def integers(*shape):
    return np.random.default_rng(5).integers(-9, 9, shape).astype(float)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "schedule",
    [
        IJ.place("A", "i", "k"),
        IJ.place("A", "i", "k").place("B", "k", "j"),
        IJ.place("A", "i", 0).place("B", 0, "j"),
        IJ.place("A", "i", "-k"),
        BROADCAST.place("A", "i", "k"),
        cy.schedules.summa(kernels.matmul, distributed=True),
        cy.schedules.summa(kernels.matmul, panels=2, distributed=True),
        cy.schedules.pumma(kernels.matmul).place("B", "k", "j"),
    ],
    ids=str,
)
def test_product_of_resident_matrices(n, schedule):
    program = kernels.matmul.compile(integers(n, n), integers(n, n), schedule=schedule)
    cy.check(program, backends=("sim", "local"))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 4, 4), (7, 7, 7), (4, 6, 5), (6, 4, 5)])
@pytest.mark.parametrize(
    "folds",
    [
        {"i": cy.cyclic(2), "j": cy.cyclic(2)},
        {"i": 2, "j": 2},
        {"i": cy.cyclic(2), "j": cy.cyclic(3)},
        {"i": 1, "j": cy.cyclic(3)},
    ],
    ids=str,
)
def test_product_of_matrices_that_lie_folded(shape, folds):
    """A PE's points need values of points behind them: all are sent before any is used."""
    n, inner, m = shape
    A, B = integers(n, inner), integers(inner, m)
    schedule = cy.schedules.summa(kernels.matmul, distributed=True).fold(**folds)
    program = kernels.matmul.compile(A, B, schedule=schedule)
    cy.check(program, backends=("sim", "local"))
    assert len(program.channels) <= 2


def test_tiles_that_lie_folded():
    tiles = [cy.blocked(integers(10, 10), (3, 3)), cy.blocked(integers(10, 8), (3, 2))]
    schedule = cy.schedules.summa(kernels.matmul, distributed=True)
    program = kernels.matmul.compile(*tiles, schedule=schedule.fold(i=cy.cyclic(2), j=cy.cyclic(2)))
    cy.check(program, backends=("sim", "local"))


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (1, 4)])
@pytest.mark.parametrize(
    "schedule",
    [
        S.space("i").place("x", "j"),
        S.space("i").place("x", 0),
        S.space("i").place("A", "i").broadcast("x").place("x", "j"),
        S.space("j").place("A", "j"),
        S.space("j").place("x", "j"),
    ],
    ids=str,
)
def test_product_with_a_distributed_vector(shape, schedule):
    program = matvec.compile(integers(*shape), integers(shape[1]), schedule=schedule)
    cy.check(program, backends=("sim", "local"))


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
@pytest.mark.parametrize("place", ["j", "-j", 1], ids=str)
def test_a_vector_read_from_its_end(shape, place):
    program = mirrored.compile(integers(*shape), integers(shape[1]), schedule=S.space("i").place("x", place))
    cy.check(program, backends=("sim", "local"))


def test_each_pe_holds_its_own_elements_only():
    program = kernels.matmul.compile(
        cy.spec((64, 64)), cy.spec((64, 64)), schedule=cy.schedules.summa(kernels.matmul, distributed=True)
    )
    assert program.memory_bytes < 200
    assert len(program.classes) == 1


def test_what_is_placed_is_there_before_the_run():
    schedules = S.space("i"), S.space("i").place("A", "i")
    fed, resident = (
        matvec.compile(cy.spec((4, 24)), cy.spec((24,)), schedule=s).memory_bytes for s in schedules
    )
    assert fed < 24 * 8 <= resident


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", [(2, 3, 2), (4, 4, 4), (3, 7, 2), (1, 5, 1)])
@pytest.mark.parametrize("panels", [1, 2, 3, 7, 9])
def test_panels(shape, panels):
    n, inner, m = shape
    A, B = integers(n, inner), integers(inner, m)
    for recipe in (cy.schedules.summa, cy.schedules.pumma, cy.schedules.output_stationary):
        schedule = recipe(kernels.matmul).panels("k", panels)
        cy.check(kernels.matmul.compile(A, B, schedule=schedule), backends=("sim", "local"))


def test_fewer_panels_take_more_memory():
    peaks = [
        kernels.matmul.compile(
            cy.spec((4, 24)), cy.spec((24, 4)), schedule=cy.schedules.summa(kernels.matmul, panels=panels)
        ).memory_bytes
        for panels in (1, 2, 6, 24)
    ]
    assert peaks == sorted(peaks, reverse=True)
    assert peaks[0] >= 2 * 24 * 8 > peaks[-1]


def test_panels_of_tiles():
    tiles = [cy.blocked(integers(8, 12), (2, 3)), cy.blocked(integers(12, 6), (3, 2))]
    program = kernels.matmul.compile(*tiles, schedule=cy.schedules.summa(kernels.matmul, panels=2))
    cy.check(program, backends=("sim", "local"))


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (IJ.place("A", 0, 0), "differ in `i`"),
        (IJ.place("A", "i", "j"), "`j` is none of its subscripts"),
        (IJ.place("A", "i"), "the grid has 2 dimensions"),
        (IJ.place("C", "i", "j"), "computed by the kernel"),
        (IJ.place("A", "i", "k").prefetch("A"), "prefetched"),
        (S.space("i+j", "j").place("A", "i", "k"), "space is not plain indices"),
    ],
    ids=lambda value: str(value),
)
def test_places_that_cannot_be(schedule, words):
    with pytest.raises(cy.CyclotronError) as caught:
        kernels.matmul.compile(integers(3, 3), integers(3, 3), schedule=schedule)
    assert words in str(caught.value)


def test_what_lives_far_away_passes_the_pes_between():
    program = kernels.matmul.compile(integers(4, 4), integers(4, 4), schedule=IJ.place("A", "k", "i"))
    cy.check(program, backends=("sim", "local"))


def test_a_tensor_read_in_two_ways_has_no_one_place():
    with pytest.raises(cy.ScheduleError, match="read by different subscripts"):
        square.compile(integers(3, 3), schedule=IJ.place("A", "i", "k"))

"""Reductions from both ends of the grid to its middle (MA-017, MA-037 to MA-039, MA-043)."""

import kernels
import numpy as np
import pytest
from test_reassociate import running_maximum

import cyclotron as cy

GRID = cy.Schedule().space("i", "j").time("t")


@cy.kernel
def dots(p, q, steps):
    """Sums that all PEs need before they go on."""
    s = cy.zeros((steps + 1,), dtype=p.dtype)
    for t in range(steps):
        s[t + 1] = cy.sum(p * q)
        p = p - s[t + 1] * q
    return p, s


@cy.kernel
def extremes(p, steps):
    spread = cy.zeros((steps,))
    large = cy.zeros((steps,), dtype=bool)
    for t in range(steps):
        spread[t] = cy.max(cy.abs(p)) - cy.min(p)
        large[t] = cy.any(p > 3)
        p = p - spread[t]
    return p, spread, large


@cy.kernel
def by_axis(A):
    return cy.sum(A, axis=1), cy.sum(A, axis=0), cy.max(A)


@cy.kernel
def parts_of_rows(A):
    """Ranges on one side of the middle, on the other, across it, and of each row's own length."""
    n, m = A.shape
    s = cy.empty((n, 4))
    for i in range(n):
        s[i, 0] = sum(A[i, k] for k in range(m // 3))
        s[i, 1] = sum(A[i, k] for k in range(m - m // 3, m))
        s[i, 2] = sum(A[i, k] for k in range(1, m))
        s[i, 3] = sum(A[i, k] for k in range(i, m))
    return s


def integers(*shape, dtype=float, seed=0):
    values = np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)
    return values + 1j * values[::-1] if np.iscomplexobj(values) else values


def equals_numpy(kernel, *arguments, schedule):
    """Compile, prove and run: sums of integers are exact, so outputs are those of the kernel as Python."""
    program = kernel.compile(*arguments, schedule=schedule)
    assert cy.prove(program).ok
    expected = kernel.reference(*arguments)
    for backend in ("sim", "local"):
        outputs = list(cy.run(program, backend=backend).outputs.values())
        for output, array in zip(
            outputs, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            np.testing.assert_array_equal(output, array, strict=True)
    return program


@pytest.mark.parametrize("inwards", [("i", "j"), ("i",), ("j",)], ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 1), (2, 2), (3, 4), (7, 5)], ids=str)
def test_sums_over_the_grid(shape, inwards):
    equals_numpy(dots, integers(*shape), integers(*shape, seed=1), 3, schedule=GRID.inwards(*inwards))


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex128"])
def test_dtypes(dtype):
    p, q = integers(4, 5, dtype=dtype), integers(4, 5, dtype=dtype, seed=1)
    equals_numpy(dots, p, q, 2, schedule=GRID.inwards("i", "j"))


def test_columns_in_the_memory_of_each_pe():
    schedule = cy.Schedule().space("i", "j").time("t", "k").inwards("i", "j")
    program = equals_numpy(dots, integers(3, 4, 3), integers(3, 4, 3, seed=1), 2, schedule=schedule)
    assert program.grid == (3, 4)


@pytest.mark.parametrize("shape", [(1, 4), (5, 6)], ids=str)
def test_other_reductions(shape):
    equals_numpy(extremes, integers(*shape), 3, schedule=GRID.inwards("i", "j"))
    for dtype in ("float64", "float32", "int32"):
        schedule = cy.Schedule().space("i", "j").inwards("i", "j")
        equals_numpy(by_axis, integers(*shape, dtype=dtype), schedule=schedule)


@pytest.mark.parametrize("shape", [(1, 3), (4, 6), (7, 7)], ids=str)
def test_ranges_beside_the_middle_and_of_several_lengths(shape):
    equals_numpy(parts_of_rows, integers(*shape), schedule=cy.Schedule().space("i", "k").inwards("k"))


@cy.kernel
def total(A):
    return cy.sum(A)


def test_the_order_is_the_one_that_is_stated():
    A = np.random.default_rng(3).random((9, 10))
    program = total.compile(A, schedule=cy.Schedule().space("i", "j").inwards("i", "j"))

    def inwards(terms):
        """Up to the middle, then from the end back to it."""
        middle = (len(terms) - 1) // 2 + 1
        lower, upper = terms[0], terms[-1]
        for term in terms[1:middle]:
            lower = lower + term
        for term in terms[middle:-1][::-1]:
            upper = upper + term
        return lower + upper

    expected = inwards([inwards(list(row)) for row in A])
    assert np.add.accumulate(A.ravel())[-1] != expected  # the order makes a difference here
    for backend in ("sim", "local"):
        assert cy.run(program, backend=backend).output == expected
    assert "descending" in str(program.recurrences)
    assert "from both ends to the middle" in " ".join(program.verify())
    (terms,) = (found for found in cy.prove(program).properties if found.name == "terms")
    assert "i inwards, j inwards" in terms.text


def test_totals_take_half_the_way():
    """Along lines of n PEs: to the middle, an addition and a hop a PE, and back, a hop a PE."""

    def step(schedule, n):
        shape = cy.spec((n, n))
        cycles = [
            cy.run(
                dots.compile(shape, shape, steps, schedule=schedule), backend="sim", functional=False
            ).cycles
            for steps in (2, 3)
        ]
        return cycles[1] - cycles[0]

    for schedule, cycles in ((GRID, 6), (GRID.inwards("i", "j"), 3)):
        assert step(schedule, 24) - step(schedule, 16) == 8 * cycles


def test_says_so():
    schedule = GRID.inwards("i", "j")
    lines = str(dots.compile(integers(3, 3), integers(3, 3), 2, schedule=schedule).explain())
    assert "reductions over j are done from both ends to the middle" in lines


@pytest.mark.parametrize(
    ("kernel", "arguments", "schedule", "message", "help"),
    [
        (kernels.matmul, 2, cy.Schedule().space("i").inwards("i"), "`i`, over which", "it reduces over: k"),
        (kernels.matmul, 2, cy.Schedule().space("i", "j").inwards("k"), "`k`, which is not space", "space("),
        (kernels.matmul, 2, cy.Schedule().space("i").inwards("z"), "`z`, over which", "it reduces over: k"),
    ],
    ids=["no-reduction", "time", "unknown"],
)
def test_refusals(kernel, arguments, schedule, message, help):
    with pytest.raises(cy.ScheduleError) as caught:
        kernel.compile(*(integers(3, 3) for _ in range(arguments)), schedule=schedule)
    assert caught.value.code == "CYC318"
    assert message in str(caught.value)
    assert help in caught.value.help


def test_refuses_a_maximum_that_is_not_everywhere_on_both_sides():
    with pytest.raises(cy.ScheduleError, match="on both sides of k = 2 at some points only"):
        running_maximum.compile(integers(6), schedule=cy.Schedule().space("k").inwards("k"))


@cy.kernel
def products(A, x):
    y = cy.empty((A.shape[0],))
    for i in range(A.shape[0]):
        y[i] = sum(A[i, k] * x[k] for k in range(A.shape[1]))
    return y


@pytest.mark.parametrize("fold", [cy.block(2), cy.cyclic(2)], ids=str)
def test_a_folded_index_is_reduced_inwards_in_blocks(fold):
    """The last terms come first, and a PE takes its own in order."""
    A, x = integers(4, 7), integers(7, seed=1)
    columns = cy.Schedule().space("i", "k").inwards("k")
    with pytest.raises(cy.LegalityError) as refusal:
        products.compile(A, x, schedule=columns.fold(k=fold))
    assert refusal.value.code == "CYC221"
    assert 'reassociate("k", 2, into="block")' in refusal.value.help
    blocks = cy.Schedule().reassociate("k", 2, into="block").space("i", "block").inwards("block")
    assert equals_numpy(products, A, x, schedule=blocks).grid == (4, 2)
    equals_numpy(products, A, x, schedule=columns.fold(i=fold))

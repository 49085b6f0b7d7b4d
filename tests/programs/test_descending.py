"""Reductions from the last term to the first, as schedules have them: values, orders, programs, refusals."""

import kernels
import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def row_sums(A):
    y = cy.zeros(A.shape[0], dtype=A.dtype)
    for i in range(A.shape[0]):
        y[i] = sum(A[i, j] for j in range(A.shape[1]))
    return y


@cy.kernel
def triangle_sums(A):
    y = cy.zeros(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = sum(A[i, j] for j in range(i, A.shape[1]))
    return y


@cy.kernel
def greatest(A):
    y = cy.zeros(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = max(A[i, j] for j in range(A.shape[1]))
    return y


@cy.kernel
def total(A):
    return cy.sum(A)


def added(terms):
    """Their sum, one after the other."""
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


GRIDS = {
    "one PE": cy.Schedule().descending("j"),
    "rows": cy.Schedule().space("i").descending("j"),
    "line": cy.Schedule().space("j").descending("j"),
    "grid": cy.Schedule().space("i", "j").descending("j"),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex128"])
@pytest.mark.parametrize("schedule", GRIDS.values(), ids=GRIDS)
def test_the_order_is_the_one_that_is_stated(schedule, dtype):
    rng = np.random.default_rng(3)
    A = (rng.random((4, 9)) * 1000 - 500).astype(dtype)
    program = row_sums.compile(A, schedule=schedule)
    expected = np.array([added(row[::-1]) for row in A], dtype)
    ascending = np.array([added(row) for row in A], dtype)
    assert np.issubdtype(dtype, np.integer) or (expected != ascending).any()
    for backend in ("sim", "local"):
        output = cy.run(program, backend=backend).output
        assert output.dtype == A.dtype
        assert (output == expected).all(), backend
    (terms,) = (found for found in cy.prove(program).properties if found.name == "terms")
    assert "j descending" in terms.text
    assert "from the last term to the first" in " ".join(program.verify())


def test_ranges_that_vary_and_other_reductions():
    A = np.random.default_rng(4).random((6, 8))
    schedule = cy.Schedule().space("i", "j").descending("j")
    output = cy.run(triangle_sums.compile(A, schedule=schedule), backend="sim").output
    assert (output == [added(A[i, i:][::-1]) for i in range(6)]).all()
    assert (cy.run(greatest.compile(A, schedule=schedule), backend="sim").output == A.max(axis=1)).all()


def test_each_of_nested_reductions_by_itself():
    A = np.random.default_rng(5).random((5, 7))
    rows = [added(row) for row in A]
    for names, expected in {
        ("i",): added(rows[::-1]),
        ("j",): added([added(row[::-1]) for row in A]),
        ("i", "j"): added([added(row[::-1]) for row in A][::-1]),
    }.items():
        program = total.compile(A, schedule=cy.Schedule().space("i", "j").descending(*names))
        assert cy.run(program, backend="sim").output == expected, names


def test_the_total_is_made_at_the_first_term():
    """The PE at the low end stores the result, where it is the one at the high end in ascending order."""
    A = cy.spec((1, 6))
    line = cy.Schedule().space("j")
    for schedule, end in ((line, "j = 5"), (line.descending("j"), "j = 0")):
        text = str(row_sums.compile(A, schedule=schedule).dataflow)
        (store,) = (text_line for text_line in text.splitlines() if "[Export]" in text_line)
        assert end in store, text


@pytest.mark.parametrize("fold", [cy.block(2), cy.cyclic(2)], ids=str)
def test_a_folded_index_is_reduced_in_blocks(fold):
    """The last terms come first, and a PE takes its own in order."""
    A = np.random.default_rng(6).integers(-9, 9, (3, 6)).astype(float)
    grid = cy.Schedule().space("i", "j").descending("j")
    with pytest.raises(cy.LegalityError) as refusal:
        row_sums.compile(A, schedule=grid.fold(j=fold))
    assert refusal.value.code == "CYC221"
    assert 'with "block" in space and descending("block")' in refusal.value.help
    blocks = cy.Schedule().reassociate("j", 2, into="block").space("i", "block").descending("block")
    program = row_sums.compile(A, schedule=blocks)
    assert program.grid == (3, 2)
    assert (cy.run(program, backend="sim").output == A.sum(axis=1)).all()
    assert (
        cy.run(row_sums.compile(A, schedule=grid.fold(i=fold)), backend="sim").output == A.sum(axis=1)
    ).all()


def test_an_index_without_a_reduction_is_refused():
    with pytest.raises(cy.ScheduleError, match=r"`z` in descending order, over which") as caught:
        kernels.matmul.compile(cy.spec((2, 2)), cy.spec((2, 2)), schedule=cy.Schedule().descending("z"))
    assert caught.value.code == "CYC318"
    assert caught.value.help == "it reduces over: k"

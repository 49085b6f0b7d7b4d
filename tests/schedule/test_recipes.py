"""The recipes: from a kernel's text to the schedule of the literature."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def product(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def accumulated(A, B):
    C = cy.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]
    return C


@cy.kernel
def transposed(X, Y):
    Z = cy.empty((X.shape[1], Y.shape[0]))
    for row in range(X.shape[1]):
        for col in range(Y.shape[0]):
            Z[row, col] = sum(X[t, row] * Y[col, t] for t in range(X.shape[0]))
    return Z


@cy.kernel
def swapped(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(B[k, j] * A[i, k] for k in range(A.shape[1]))
    return C


@cy.kernel
def matvec(A, x):
    y = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = sum(A[i, k] * x[k] for k in range(A.shape[1]))
    return y


@cy.kernel
def gram(A):
    C = cy.empty((A.shape[0], A.shape[0]))
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            C[i, j] = sum(A[i, k] * A[j, k] for k in range(A.shape[1]))
    return C


@cy.kernel
def copy(A):
    B = cy.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j]
    return B


SPACE = cy.Schedule().space
FUNCTIONS = ["output_stationary", "weight_stationary", "input_stationary", "summa", "pumma"]


@pytest.mark.parametrize("kernel", [product, accumulated])
def test_recipes_of_a_product(kernel):
    recipes = cy.schedules
    grid = SPACE("i", "j").time("k")
    assert recipes.output_stationary(kernel) == grid.stream("A", along="j").stream("B", along="i")
    assert recipes.summa(kernel) == grid.broadcast("A", along="j").broadcast("B", along="i")
    assert recipes.pumma(kernel) == grid.broadcast("A", along="j").stream("B", along="i")
    assert recipes.pumma(kernel, broadcast="B") == grid.stream("A", along="j").broadcast("B", along="i")
    assert recipes.weight_stationary(kernel) == SPACE("i", "k").time("j").prefetch("A").stream("B", along="i")
    assert recipes.input_stationary(kernel) == SPACE("j", "k").time("i").prefetch("B").stream("A", along="j")


def test_layers():
    planes = cy.Schedule().reassociate("k", parts=3, into="l").space("i", "j", "l").time("k")
    layers = cy.schedules.matmul_25d(product, layers=3)
    assert layers == planes.stream("A", along="j").stream("B", along="i")
    left, right = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5) - 7
    program = product.compile(left, right, schedule=layers)
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, left @ right)
    with pytest.raises(cy.ScheduleError) as caught:
        cy.schedules.matmul_25d(matvec, layers=3)
    assert caught.value.code == "CYC304"
    with pytest.raises(cy.ScheduleError) as caught:
        cy.schedules.matmul_25d(product, layers=0)
    assert caught.value.code == "CYC301"


@cy.kernel
def named_as_a_layer(l, B):
    C = cy.empty((l.shape[0], B.shape[1]))
    for i in range(l.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(l[i, k] * B[k, j] for k in range(l.shape[1]))
    return C


def test_the_index_of_layers_has_a_name_of_its_own():
    (blocks,) = cy.schedules.matmul_25d(named_as_a_layer, layers=2).reassociations
    assert blocks.into == "layer"


def test_operands_may_be_transposed_and_named_freely():
    grid = SPACE("row", "col").time("t")
    assert cy.schedules.output_stationary(transposed) == grid.stream("X", along="col").stream(
        "Y", along="row"
    )
    resident = SPACE("row", "t").time("col").prefetch("X").stream("Y", along="row")
    assert cy.schedules.weight_stationary(transposed) == resident


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_order_of_factors_does_not_matter(name):
    recipe = getattr(cy.schedules, name)
    assert recipe(swapped) == recipe(product)


def test_output_stationary_takes_any_single_reduction():
    assert cy.schedules.output_stationary(matvec) == SPACE("i").time("k").stream("x", along="i")
    # A is read by row and by column: its direction is left to the compiler.
    assert cy.schedules.output_stationary(gram) == SPACE("i", "j").time("k").stream("A")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels_that_do_not_fit_are_named(name):
    with pytest.raises(cy.ScheduleError, match="`copy` does not fit") as caught:
        getattr(cy.schedules, name)(copy)
    assert caught.value.code == "CYC304"


@pytest.mark.parametrize("kernel", [matvec, gram])
@pytest.mark.parametrize("name", FUNCTIONS[1:])
def test_products_need_two_matrices(kernel, name):
    with pytest.raises(cy.ScheduleError, match="computed from A") as caught:
        getattr(cy.schedules, name)(kernel)
    assert caught.value.code == "CYC304"


def test_pumma_broadcasts_an_operand():
    with pytest.raises(cy.ScheduleError, match="`X` is no operand") as caught:
        cy.schedules.pumma(product, broadcast="X")
    assert caught.value.code == "CYC304"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_recipes_compile_and_compute_the_product(name):
    left, right = np.arange(12.0).reshape(3, 4), np.arange(20.0).reshape(4, 5) - 7
    program = product.compile(left, right, schedule=getattr(cy.schedules, name)(product))
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, left @ right)


def test_the_unit_array_takes_the_textbook_number_of_cycles():
    for size in (1, 2, 5):
        matrix = np.eye(size)
        schedule = cy.schedules.output_stationary(product)
        program = product.compile(matrix, matrix, schedule=schedule, machine=cy.machines.unit())
        assert cy.run(program, backend="sim").cycles == 3 * size - 2


@cy.kernel
def of_arrays(A, B):
    return A @ B


@cy.kernel
def of_a_transpose(A, B):
    C = np.matmul(A.T, B)
    return C


@pytest.mark.parametrize("kernel", [of_arrays, of_a_transpose], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("recipe", sorted(set(cy.schedules.__all__) - {"hexagonal"}))
def test_recipes_take_products_of_whole_arrays(kernel, recipe):
    more = (2,) if recipe == "matmul_25d" else ()
    schedule = getattr(cy.schedules, recipe)(kernel, *more)
    A, B = np.arange(16.0).reshape(4, 4), np.arange(16.0).reshape(4, 4) - 3
    result = cy.run(kernel.compile(A, B, schedule=schedule), backend="sim")
    np.testing.assert_array_equal(result.output, kernel.reference(A, B))

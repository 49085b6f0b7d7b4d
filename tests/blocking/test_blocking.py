"""Kernels on scalars in tiles: NumPy's numbers, the same classes for all shapes and bits on all backends."""

import ast
import re
import zipfile

import numpy as np
import pytest
from loading import kernel_of
from mutations import plain
from texts import TEXTS, VARIANTS, arguments

import cyclotron as cy

ONE = cy.Schedule()
KERNELS = {name: kernel_of(text) for name, text in TEXTS.items()}

# LAPACK's names for what each class of tiles takes; the last of a class is what makes the tile.
OPERATORS = {
    "matmul": [("C", ["gemm"])],
    "matmul_transposed": [("C", ["gemm"])],
    "gemm": [("D", ["gemm"])],
    "trsm_lower": [("X", ["gemm", "trsm"])],
    "trsm_upper": [("X", ["gemm", "trsm"])],
    "trsm_lower_transposed": [("X", ["gemm", "trsm"])],
    "trsm_right": [("X", ["gemm", "trsm"])],
    "trsm_unit": [("X", ["gemm", "trsm"])],
    "trsm_right_looking": [("X", ["gemm", "trsm"])],
    "cholesky": [("L", []), ("L", ["gemm", "trsm"]), ("L", ["syrk", "potrf"])],
    "cholesky_right_looking": [("L", []), ("L", ["gemm", "trsm"]), ("L", ["syrk", "potrf"])],
    "lu": [
        ("L", []),
        ("L", ["gemm", "getrf"]),
        ("L", ["gemm", "trsm"]),
        ("U", []),
        ("U", ["gemm", "getrf"]),
        ("U", ["gemm", "trsm"]),
    ],
    "ldl": [
        ("D", ["gemm", "sytrf", "row_sum"]),
        ("L", []),
        ("L", ["gemm", "sytrf"]),
        ("L", ["gemm", "trsm"]),
    ],
    "syrk": [("C", []), ("C", ["gemm"]), ("C", ["syrk"])],
    "trmm": [("C", ["gemm"])],
    "lu_in_place": [("F", ["gemm", "getrf"]), ("F", ["gemm", "trsm"]), ("F", ["gemm", "trsm"])],
}


@pytest.mark.parametrize("tile", [1, 2, 3, 5])
@pytest.mark.parametrize("name", TEXTS)
def test_blocked_kernels_are_what_numpy_has(name, tile):
    for n, m in ((1, 2), (2, 1), (5, 3), (6, 6), (7, 12), (12, 4)):
        given, expected = arguments(name, n, m, seed=n)
        program = KERNELS[name].compile(*given, schedule=ONE, tile=tile)
        results = cy.run(program).outputs.values()
        for result, wanted in zip(
            results, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-11, err_msg=f"{n}, {m}")


@pytest.mark.parametrize("name", OPERATORS)
def test_classes_have_the_operators_of_lapack(name):
    given, _ = arguments(name, 12, 12)
    classes = KERNELS[name].block(*given, tile=4).classes
    assert sorted((c.tensor, list(c.operators)) for c in classes) == sorted(OPERATORS[name])


def test_sums_from_the_diagonal_back_have_the_same_classes():
    def classes(text):
        return {
            (c.tiles, c.operators, c.equation)
            for c in kernel_of(text).block(cy.spec((14, 14)), tile=4).classes
        }

    assert classes(VARIANTS["cholesky_from_the_diagonal_back"]) == classes(TEXTS["cholesky"])


@pytest.mark.parametrize("name", TEXTS)
def test_the_number_of_classes_does_not_depend_on_the_shapes(name):
    def classes(n, m):
        shapes = [cy.spec(a.shape) for a in arguments(name, n, m)[0]]
        return sorted((c.tensor, c.operators) for c in KERNELS[name].block(*shapes, tile=4).classes)

    assert classes(16, 16) == classes(40, 52) == classes(45, 33)


@pytest.mark.parametrize("name", ["matmul", "trsm_lower", "cholesky", "lu", "ldl"])
def test_backends_agree_bit_for_bit(name):
    given, _ = arguments(name, 11, 7)
    program = KERNELS[name].compile(*given, tile=4)
    local = cy.run(program, backend="local").outputs
    others = [cy.run(program, backend="sim"), *(cy.run(program, backend="mpi", ranks=r) for r in (2, 3))]
    for other in others:
        for tensor, values in local.items():
            np.testing.assert_array_equal(other.outputs[tensor], values)


def test_lengths_by_name_and_as_fits():
    kernel = KERNELS["matmul"]
    shapes = cy.spec((96, 70)), cy.spec((70, 33))
    assert kernel.block(*shapes, tile={"i": 8, "k": 5}).tiles == {"i": 8, "j": 33, "k": 5}
    assert kernel.block(*shapes, tile="auto").tiles == {"i": 64, "j": 33, "k": 64}
    assert KERNELS["trsm_lower"].block(cy.spec((8, 8)), cy.spec((8, 4)), tile={"r": 2, "i": 4}).tiles == {
        "i": 4,
        "j": 4,
        "r": 2,
    }


def test_without_tile_the_bits_are_those_of_the_scalars():
    given, _ = arguments("matmul", 9, 9)
    kernel = KERNELS["matmul"]
    np.testing.assert_array_equal(cy.run(kernel.compile(*given)).output, kernel(*given))


def test_explanations_are_in_the_names_of_the_kernel():
    given, _ = arguments("cholesky", 12, 12)
    text = KERNELS["cholesky"].block(*given, tile=4).explain()
    for part in ("share tiles of 4", "potrf", "L where"):
        assert part in text


def test_what_matches_nothing_is_refused_and_explained():
    kernel = kernel_of("""
def kernel(A):
    n = A.shape[0]
    x = cy.empty(n)
    for i in range(n):
        x[i] = A[i, i] + 2 * sum(x[j] * x[j] for j in range(i))
    return x
""")
    blocking = kernel.block(cy.spec((8, 8)), tile=4)
    assert not blocking.complete
    assert "computed from its own elements" in blocking.explain()
    with pytest.raises(cy.LegalityError, match="CYC231"):
        kernel.compile(cy.spec((8, 8)), tile=4)


@pytest.mark.parametrize("tile", [0, -3, 2.5, True, "large", {"i": 0}, {3: 4}])
def test_lengths_that_are_none_are_refused(tile):
    with pytest.raises(cy.ShapeError, match="CYC232"):
        KERNELS["matmul"].block(cy.spec((8, 8)), cy.spec((8, 8)), tile=tile)


def test_a_number_is_added_to_all_elements_of_a_tile():
    kernel = kernel_of("""
def kernel(A, x):
    y = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        y[i] = 1.0 - sum(A[i, k] * x[k] for k in range(A.shape[1]))
    return y
""")
    given, expected = arguments("matvec", 5, 7)
    result = cy.run(kernel.compile(*given, schedule=ONE, tile=2)).output
    np.testing.assert_allclose(result, 1 - expected)


@pytest.mark.parametrize("tile", [1, 2, 3])
def test_tiles_of_zeros_are_in_no_product(tile):
    kernel = kernel_of("""
def kernel(A, B):
    n = A.shape[0]
    L = cy.zeros_like(A)
    C = cy.empty_like(A)
    for i in range(n):
        for j in range(i + 1):
            L[i, j] = sum(A[i, k] * B[k, j] for k in range(n))
    for i in range(n):
        for j in range(n):
            C[i, j] = sum(L[i, k] * L[j, k] for k in range(n))
    return C
""")
    random = np.random.default_rng(0)
    for n in (2, 5, 6):
        a, b = random.random((2, n, n))
        lower = np.tril(a @ b)
        np.testing.assert_allclose(
            cy.run(kernel.compile(a, b, schedule=ONE, tile=tile)).output, lower @ lower.T
        )


@pytest.mark.parametrize("tile", [1, 2, 3])
def test_operators_have_tiles_where_elements_are_one_number(tile):
    solve = kernel_of("""
def kernel(L, B):
    X = cy.empty_like(B)
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            X[i, r] = 3.0 - sum(L[i, j] * X[j, r] for j in range(i))
    return X
""")
    product = kernel_of("""
def kernel(A, B):
    X = cy.empty_like(B)
    Y = cy.empty_like(B)
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            X[i, r] = 3.0 + sum(A[i, j] * B[j, r] for j in range(i))
    for i in range(B.shape[0]):
        for r in range(B.shape[1]):
            Y[i, r] = sum(A[i, j] * X[j, r] for j in range(B.shape[0]))
    return Y
""")
    random = np.random.default_rng(0)
    for n, m in ((2, 5), (5, 2), (6, 6)):
        a, b = random.random((n, n)), random.random((n, m))
        below = np.tril(a, -1)
        for kernel, wanted in (
            (solve, np.linalg.solve(below + np.eye(n), np.full((n, m), 3.0))),
            (product, a @ (3 + below @ b)),
        ):
            result = cy.run(kernel.compile(a, b, schedule=ONE, tile=tile)).output
            np.testing.assert_allclose(result, wanted, rtol=1e-9)


@pytest.mark.parametrize(
    "term", ["A[i, j] / x[i]", "x[i] / A[i, j]", "1.0 / A[i, j]", "A[i, j] * x[i] / A[i, i]", "x[i] / x[j]"]
)
@pytest.mark.parametrize("rest", ["", " / x[j]", " + 1.0 / x[j]"])
def test_sums_of_quotients_are_no_solves(term, rest):
    text = f"""
def kernel(A, x):
    y = cy.empty(A.shape[1])
    for j in range(A.shape[1]):
        y[j] = sum({term} for i in range(A.shape[0])){rest}
    return y
"""
    kernel, random = kernel_of(text), np.random.default_rng(0)
    given = random.random((5, 5)) + 1, random.random(5) + 1
    for tile in (1, 2, 5):
        result = cy.run(kernel.compile(*given, schedule=ONE, tile=tile)).output
        np.testing.assert_allclose(result, *plain(text, *given), rtol=1e-12)


def test_arrays_that_go_on_after_the_loops_end_are_refused_where_they_end_inside_of_a_tile():
    kernel, random = KERNELS["matmul"], np.random.default_rng(0)
    a, b = random.random((5, 8)), random.random((10, 5))
    np.testing.assert_allclose(cy.run(kernel.compile(a, b, schedule=ONE, tile=4)).output, a @ b[:8])
    assert "has 10 places along an axis" in kernel.block(a, b, tile=3).explain()
    with pytest.raises(cy.LegalityError, match="CYC231"):
        kernel.compile(a, b, schedule=ONE, tile=3)


def test_a_solve_with_a_longer_matrix_is_refused_where_its_tiles_are_longer():
    kernel, random = KERNELS["trsm_lower"], np.random.default_rng(0)
    matrix, b = random.random((7, 7)) + 7 * np.eye(7), random.random((4, 3))
    expected = np.linalg.solve(np.tril(matrix)[:4, :4], b)
    np.testing.assert_allclose(cy.run(kernel.compile(matrix, b, schedule=ONE, tile=2)).output, expected)
    with pytest.raises(cy.LegalityError, match="CYC231"):
        kernel.compile(matrix, b, schedule=ONE, tile=3)


def test_bundles_of_failing_cases_have_the_lengths_of_tiles(tmp_path):
    given, _ = arguments("matmul", 6, 6)
    program = KERNELS["matmul"].compile(*given, schedule=ONE, tile={"i": 2, "k": 3})
    for act in (lambda: None, lambda: cy.run(program)):
        act()
        cy.save_repro(tmp_path / "case.zip")
        text = zipfile.ZipFile(tmp_path / "case.zip").read("repro.py").decode()
        (tile,) = re.findall(r"^    tile=(.*),$", text, re.MULTILINE)
        lengths = ast.literal_eval(tile)
        assert (lengths["i"], lengths["k"]) == (2, 3)

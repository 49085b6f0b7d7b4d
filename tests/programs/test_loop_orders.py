"""One PE runs a recurrence as imperative loops, in any order of them that respects the dependences."""

import itertools

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
def forward(L, B):
    n, m = B.shape
    X = cy.empty_like(B)
    for i in range(n):
        for r in range(m):
            X[i, r] = B[i, r] - sum(L[i, k] * X[k, r] for k in range(i))
    return X


@cy.kernel
def skewed(A):
    """Needs the row before, one column further right."""
    n, m = A.shape
    X = cy.empty_like(A)
    for i in range(n):
        for j in range(m):
            X[i, j] = A[i, j] + X[i - 1, j + 1] if i > 0 and j < m - 1 else A[i, j]
    return X


@cy.kernel
def eliminate(A):
    """The superscript of the k-th step of Gaussian elimination is a subscript more."""
    n = A.shape[0]
    S = cy.empty((n, n, n))
    for k in range(n):
        for i in range(k, n):
            for j in range(k, n):
                if k == 0:
                    S[k, i, j] = A[i, j]
                else:
                    S[k, i, j] = S[k - 1, i, j] - S[k - 1, i, k - 1] * S[k - 1, k - 1, j]
        for i in range(n):
            for j in range(n):
                if i < k or j < k:
                    S[k, i, j] = S[k - 1, i, j]
    return S


def integers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-3, 4, shape).astype(float)


@pytest.mark.parametrize("order", list(itertools.permutations("ijk")), ids="".join)
def test_orders_of_a_product(order: tuple[str, ...]) -> None:
    """CY-012 CY-013: ijk, jki and the others compute the same."""
    A, B = integers(3, 4), integers(4, 2)
    program = product.compile(A, B, schedule=cy.Schedule().time(*order))
    assert [c.pe_count for c in program.classes] == [1]
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, backend=backend).output, A @ B)


@pytest.mark.parametrize("order", list(itertools.permutations("irk")), ids="".join)
def test_orders_of_a_recurrence(order: tuple[str, ...]) -> None:
    """CY-012: a triangular solve by rows and by columns."""
    L, B = np.tril(integers(4, 4), -1), integers(4, 3)
    program = forward.compile(L, B, schedule=cy.Schedule().time(*order))
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, forward.reference(L, B))


def test_order_against_a_dependence() -> None:
    """CY-014: by columns the element on the right would come too late."""
    A = integers(3, 4)
    program = skewed.compile(A, schedule=cy.Schedule().time("i", "j"))
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, skewed.reference(A))
    with pytest.raises(cy.LegalityError, match="does not come before") as caught:
        skewed.compile(A, schedule=cy.Schedule().time("j", "i"))
    assert caught.value.code == "CYC221"


def test_superscripts() -> None:
    """CY-008: a tensor of a step is a tensor with one more axis."""
    A = np.tril(np.ones((4, 4))) @ np.triu(integers(4, 4))
    program = eliminate.compile(A, schedule=cy.Schedule())
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, eliminate.reference(A))

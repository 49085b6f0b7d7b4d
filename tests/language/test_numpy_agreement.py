"""Functions by NumPy's names where a slip would be silent: second operands, dtypes, copies, divisors of 0."""

import warnings

import numpy as np
import pytest

import cyclotron as cy

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(3, 6))
SINGULAR = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 5.0, 1.0]])


CASES = [
    (lambda np, x: np.cov(x[0], x[1]), X),
    (lambda np, x: np.cov(x, x[::-1], False), X.T),
    (lambda np, x: np.cov(x, x[:1], bias=True), X),
    (lambda np, x: np.corrcoef(x[0], x[1]), X),
    (lambda np, x: np.cov(x), X.astype("float32")),
    (lambda np, x: np.corrcoef(x), X.astype("float32")),
    (lambda np, x: np.vdot(x, x), X > 0),
    (lambda np, x: np.histogram(x, 3)[0], np.full(4, 2.5)),
    (lambda np, x: np.histogram(x, 3)[1], np.full(4, 2.5)),
    (lambda np, x: np.histogram(x, 2, range=(1, 1))[0], X),
    (lambda np, x: np.var(x, axis=0, ddof=4), X),
    (lambda np, x: np.std(x, ddof=1), np.zeros(0)),
    (lambda np, x: np.cov(x, ddof=8), X),
    (lambda np, x: np.linalg.det(x), SINGULAR),
    (lambda np, x: np.linalg.det(x), np.zeros((2, 2))),
    (lambda np, x: np.linalg.det(x), X[:, :3].astype("float32")),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", range(len(CASES)))
def test_as_numpy(case):
    function, x = CASES[case]

    @cy.kernel
    def f(x):
        return function(cy, x)

    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        expected = function(np, x)
    found = f(x)
    for one, other in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, expected)), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, rtol=1e-4 if one.dtype == "float32" else 1e-9)


@cy.kernel
def too_many_weights(x):
    return cy.average(x[:, :1], axis=1, weights=cy.array([1.0, 2.0, 3.0]))


def test_what_would_be_something_else_is_refused():
    with pytest.raises(cy.ShapeError, match="CYC122"):
        too_many_weights(X)


@cy.kernel
def ravelled(x):
    y = x.copy()
    every, back, column = cy.ravel(y[0, ::2]), y[1, ::-1].ravel(), cy.ravel(y[:, 0])
    y[:, 0] = 9
    return every, back, column, y


def test_ravel_copies_what_does_not_lie_side_by_side():
    """Of a row it is a view; of elements with others between them NumPy makes a new array."""
    for found, expected in zip(ravelled(X), (X[0, ::2], X[1, ::-1], X[:, 0]), strict=False):
        np.testing.assert_array_equal(found, expected)


@cy.kernel
def ravelled_row(x):
    y = x.copy()
    row = cy.ravel(y[1, 1:4])
    row[...] = 5
    return y


def test_ravel_is_a_view_of_a_row():
    expected = X.copy()
    expected[1, 1:4] = 5
    np.testing.assert_array_equal(ravelled_row(X), expected)


@cy.kernel
def dtype_as_third(x):
    return cy.sum(x, 0, "float32"), cy.mean(x, 1, np.float32)


def test_third_argument_of_sums_is_the_dtype():
    for found, right in zip(
        dtype_as_third(X), (np.sum(X, 0, "float32"), np.mean(X, 1, np.float32)), strict=True
    ):
        assert found.dtype == right.dtype
        np.testing.assert_allclose(found, right, rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "words"), [(cy.std, "no dtype True"), (cy.argmax, "arguments"), (cy.max, "out=")]
)
def test_what_numpy_takes_for_other_things_is_refused(function, words):
    @cy.kernel
    def of_three(x):
        return function(x, 0, True)

    with pytest.raises(cy.CyclotronError, match=words):
        of_three(X)


@cy.kernel
def sorted_complex(x):
    return cy.sort(x + 1j)


@cy.kernel
def gradient_of_truths(x):
    return cy.gradient(x > 0)


@cy.kernel
def gradient_at_places(x):
    return cy.gradient(x[0], [0.0, 1.0, 3.0])


@cy.kernel
def histogram_by_edges(x):
    return cy.histogram(x, bins=[0, 1, 2])


@pytest.mark.parametrize(
    ("kernel", "code", "words"),
    [
        (sorted_complex, "CYC121", "complex"),
        (gradient_of_truths, "CYC121", "bool"),
        (gradient_at_places, "CYC122", "places"),
        (histogram_by_edges, "CYC122", "edges"),
    ],
)
def test_refusals_say_what_is_missing(kernel, code, words):
    with pytest.raises(cy.ShapeError, match=words) as caught:
        kernel(X)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "matrix",
    [
        [[1e200, 1], [1, 1e200]],
        [[1e-200, 1e-200], [1e-200, 3e-200]],
        [[1e155, 0], [1e155, 1]],
        [[0.0, 0], [0, 1]],
        [[1.0, 2], [0, 3], [0, 4]],
    ],
)
def test_qr_of_numbers_whose_squares_are_none(matrix):
    A = np.array(matrix)
    found, expected = cy.kernel(both_factors)(A), np.linalg.qr(A)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12, atol=1e-15 * abs(A).max())


def both_factors(A):
    q, r = cy.linalg.qr(A)
    return q, r

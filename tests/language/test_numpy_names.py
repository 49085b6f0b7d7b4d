"""Functions of NumPy that are composed of others, in kernels by both names: values and dtypes."""

import numpy as np
import pytest

import cyclotron as cy

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(3, 4))
CUBE = RANDOM.normal(size=(3, 2, 3))
SQUARE = RANDOM.normal(size=(5, 5)) * (1 - np.eye(5)[0] * np.eye(5)[:, :1]) + 0.0  # its first pivot is 0
PLACES = np.array([0, 2, -1])
NUMBERS = np.array([[3, 1, 2], [2, 2, -7]])
WITH_NAN = np.array([2.0, np.nan, -1.0, np.inf, np.nan, 0.0, -np.inf])

CASES = [
    (lambda np, x: np.tile(x, (2, 3)), X),
    (lambda np, x: np.stack([x, x + 1], axis=-1), X),
    (lambda np, x: np.dstack([x, x]), X),
    (lambda np, x: np.insert(x, -1, 9, axis=1), X),
    (lambda np, x: np.delete(x, [0, 2], axis=1), X),
    (lambda np, x: np.append(x, x[:1], axis=0), X),
    (lambda np, x: np.array_split(x, 3, axis=1)[0], X),
    (lambda np, x: x.reshape(2, 6, order="F"), X),
    (lambda np, x: x.reshape(2, -1, 1, 3)[1], X),
    (lambda np, x: np.squeeze(x[:, None, :1]), X),
    (lambda np, x: np.moveaxis(x, 0, -1), CUBE),
    (lambda np, x: np.resize(x, (3, 5)), X),
    (lambda np, x: np.broadcast_to(x[0], (2, 4)), X),
    (lambda np, x: np.array([[x[0, 0], 1], [2.5, x[1, 1]]]), X),
    (lambda np, x: x + np.linspace(0, 1, 4, dtype=np.float32), X),
    (lambda np, x: x[0] + np.linspace(-1, 3, 4, endpoint=False), X),
    (lambda np, x: np.meshgrid(x[0], x[:, 0])[1], X),
    (lambda np, x: np.meshgrid(x[0], x[:, 0], indexing="ij")[0], X),
    (lambda np, x: np.diag(x[0], -1), X),
    (lambda np, x: x + np.identity(5), SQUARE),
    (lambda np, x: x * np.mgrid[0:3, 0:4][1], X),
    (lambda np, x: np.r_[x[0], 0, 1:3], X),
    (lambda np, x: np.c_[x, x[:, 0]], X),
    (lambda np, x: np.roll(x, 5), X),
    (lambda np, x: np.roll(x, -3), CUBE),
    (lambda np, x: np.roll(x, (7, 2)), CUBE),
    (lambda np, x: np.tan(x * (1e3 + 3e307j)), X),
    (lambda np, x: x[0] + any(x[0, k] > 0 for k in range(0)), X),
    (lambda np, x: np.sort(x), WITH_NAN),
    (lambda np, x: np.sort(x, axis=0), X),
    (lambda np, x: np.sort(x, axis=None), NUMBERS),
    (lambda np, x: np.sort(x > 0), X),
    (lambda np, x: np.argsort(x, axis=1, kind="stable") if np is not cy else np.argsort(x, axis=1), NUMBERS),
    (lambda np, x: np.median(x, axis=1), X),
    (lambda np, x: np.median(x), WITH_NAN),
    (lambda np, x: np.inner(x, x), X),
    (lambda np, x: np.vdot(x + 1j, x), X),
    (lambda np, x: np.kron(x, x[:2]), X),
    (lambda np, x: np.kron(x[0], x), X),
    (lambda np, x: np.kron(x[:0], x), X),
    (lambda np, x: np.resize(x[:0], (2, 3)), X),
    (lambda np, x: np.cross(x[:, :3], x[::-1, :3]), X),
    (lambda np, x: np.ptp(x, axis=0), X),
    (lambda np, x: np.average(x, axis=0, weights=np.arange(3.0)), X),
    (lambda np, x: np.nanmax(x), WITH_NAN),
    (lambda np, x: np.nansum(x[:3]), WITH_NAN),
    (lambda np, x: np.count_nonzero(x > 0, axis=1), X),
    (lambda np, x: np.cov(x), X),
    (lambda np, x: np.gradient(x, 0.5, axis=1), X),
    (lambda np, x: np.trapezoid(x, dx=0.5, axis=0), X),
    (lambda np, x: np.interp(x[0], np.array([-1.0, 0, 0.5, 2]), np.array([3.0, 1, 2, 0])), X),
    (lambda np, x: np.linalg.solve(x, x[0]), SQUARE),
    (lambda np, x: np.linalg.inv(x), SQUARE),
    (lambda np, x: np.linalg.det(x), SQUARE),
    (lambda np, x: np.linalg.qr(x)[1], SQUARE),
    (lambda np, x: np.linalg.cholesky(x @ x.T), SQUARE),
    (lambda np, x: np.power(x, 2), NUMBERS),
]
OF_CYCLOTRON = {"argsort", "array", "c_", "r_", "solve", "inv", "det", "qr"}  # or are slow twice


def text_of(case):
    """The expression of a case."""
    names = case[0].__code__.co_names
    return "-".join(name for name in names if name not in ("cy", "float32"))


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("case", CASES, ids=text_of)
def test_as_numpy(case):
    expression, x = case
    if "trapezoid" in text_of(case) and not hasattr(np, "trapezoid"):
        pytest.skip("NumPy has it under another name")
    expected = np.asarray(expression(np, x))

    @cy.kernel
    def by_numpy(x):
        return expression(np, x)

    @cy.kernel
    def by_cyclotron(x):
        return expression(cy, x)

    for kernel in (by_cyclotron, by_numpy)[: 1 if OF_CYCLOTRON & set(text_of(case).split("-")) else 2]:
        found = cy.run(kernel.compile(x), backend="sim").output
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@cy.kernel
def places(x, i, j):
    return x[i], x[:, i - 1], x[j, 0, i], x[0, :, j], x[i, :, j], x[[2, 0]]


def test_arrays_as_subscripts():
    x, i, j = CUBE, np.array([[0, 1], [2, -1]]), np.array([1, -1])
    i = i.astype("int32")
    for found, expected in zip(places(x, i, j), places.reference(x, i, j), strict=True):
        np.testing.assert_array_equal(found, expected)


ROWS = np.array([True, False, True])


@cy.kernel
def by_a_mask_of_the_host(x):
    return x[ROWS], x[:, [False, True]]


def test_masks_of_the_host_are_places():
    for found, expected in zip(by_a_mask_of_the_host(CUBE), (CUBE[ROWS], CUBE[:, 1:]), strict=True):
        np.testing.assert_array_equal(found, expected)


@cy.kernel
def assigned_places(x, i, mask):
    y, z, u = x.copy(), x.copy(), x.copy()
    y[i] = x[:3]
    y[[0, 0]] += 1
    z[mask] = 7
    u[:, [1, 0]] = 5
    return y, z, u


def test_arrays_as_subscripts_of_what_is_assigned():
    x = RANDOM.normal(size=(4, 3))
    i, mask = np.array([3, 1, 3]), x > 0
    for found, expected in zip(
        assigned_places(x, i, mask), assigned_places.reference(x, i, mask), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_a_place_outside_of_the_axis_is_an_error():
    @cy.kernel
    def f(x, i):
        return x[i]

    with pytest.raises(cy.ExecutionError) as caught:
        f(np.arange(3.0), np.array([3]))
    assert caught.value.code == "CYC701"

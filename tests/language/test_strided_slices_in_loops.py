"""Slices with steps whose bounds name indices of loops, and arrays of the host that loops replace."""

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

pytestmark = pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")


def convolution(x, w):
    rows, columns = (x.shape[0] - 3) // 2 + 1, (x.shape[1] - 3) // 2 + 1
    y = np.zeros((rows, columns))
    for i in range(3):
        for j in range(3):
            y += w[i, j] * x[i : i + 2 * rows - 1 : 2, j : j + 2 * columns - 1 : 2]
    return y


def backwards(r, y):
    x = np.zeros(y.shape[0])
    for k in range(1, y.shape[0]):
        x[k] = y[k] - np.sum(x[1:k] * r[k - 1 : 0 : -1]) + np.sum(r[k::-1])
    return x


def shrinking(x, y):
    n = x.shape[0]
    for k in range(n // 2):
        y[k] += np.sum(x[2 * k :: 2]) - np.max(x[: n - 2 * k : 2])
    return y


def assigned(x, y):
    n = x.shape[0]
    for k in range(3):
        y[k : k + 5 : 2] = 2 * x[k + 1 : k + 6 : 2] + k
    for k in range(2):
        y[k + 5 : k : -2] += x[k : k + 6 : 2][::-1]
        y[n - 1 : k : -1] += x[k : n - 1]
    return y


def of_the_host(x, y):
    prices = np.array([1.0, 2.0, 4.0, 8.0])
    for _ in range(5):
        prices = prices * 1.5
        x[:4] = np.maximum(x[:4], prices - y[:4])
    return x


def in_place(x, y):
    prices = np.ones(4)
    other = prices
    for i in range(4):
        prices *= x[i]
    return other + prices + y[:4]


@pytest.mark.parametrize("body", [convolution, backwards, shrinking, assigned, of_the_host, in_place])
@pytest.mark.parametrize("shape", [(8,), (11,)])
def test_slices_take_the_elements_that_numpy_takes(body, shape):
    rng = np.random.default_rng(len(body.__name__))
    shapes = ((shape[0], shape[0] + 2), (3, 3)) if body is convolution else (shape, shape)
    check_against_numpy(body, *(rng.integers(1, 9, one).astype(float) for one in shapes))

"""Arrays rolled by as many places as an index of a loop says: as NumPy."""

from types import FunctionType

import numpy as np
import pytest

import cyclotron as cy


def circular_convolution(u, w):
    y = u * 0
    for t in range(4):
        y += w[t] * np.roll(u, t)
    return y


def along_axes(u, w):
    A = np.outer(u, w)
    y = A * 0
    for t in range(3):
        y += np.roll(A + t, 1 - 2 * t, axis=1)
        y -= np.roll(A, t, 0)
    return y


def in_place(u, w):
    for t in range(6):
        u[:] = np.roll(u, 3 * t - 5) + w
        u[::2] += np.roll(w[1:3], -t)
    return u


def by_two_indices(u, w):
    for t in range(3):
        for s in range(2):
            u = np.roll(u + t, t - 2 * s) + w
    return u


def more_often_than_there_are_places(u, w):
    for t in range(9):
        u = np.roll(u, t) * 0.5 + w
    return u


FUNCTIONS = [circular_convolution, along_axes, in_place, by_two_indices, more_often_than_there_are_places]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("backend", ["local", "sim"])
def test_gives_what_numpy_gives(function: FunctionType, backend: str) -> None:
    u, w = np.array([1.0, -2.0, 3.0, 0.5]), np.array([2.0, 0.0, -1.0, 4.0])
    expected = function(u.copy(), w.copy())
    program = cy.kernel(function).compile(u, w)
    (found,) = cy.run(program, backend=backend).outputs.values()
    np.testing.assert_array_equal(found, expected)


def test_all_axes_as_one_go_by_numbers_of_the_host() -> None:
    @cy.kernel
    def as_one(A):
        for t in range(2):
            A = cy.roll(A, t)
        return A

    with pytest.raises(cy.TraceError, match="CYC110"):
        as_one(np.ones((2, 2)))

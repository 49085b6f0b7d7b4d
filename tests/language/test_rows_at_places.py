"""Rows and elements at places that data tell: read, assigned, added to, swapped, summed, as in NumPy."""

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy


def rows(x, n):
    A = np.outer(x, x)
    for k in range(4):
        A[n[k]] += x
        A[:, n[k]] -= x[k]
    A[n[0]] = A[n[1]] + 1
    A[n[0], ::2] += x[:2]
    A[1:3, n[1]] = 0
    A[..., n[2]] -= x[n[0]]
    for k in range(4):
        if x[k] > 2:
            A[n[k]] = A[k]
    return A


def of_three_axes(x, n):
    A = np.zeros((2, 3, 4), x.dtype)
    for k in range(2):
        A[:, n[k] % 3, :] += x
        A[n[k] % 2, :, n[k]] = x[:3]
        A[n[k] % 2, n[k] % 3] += 1
    return A


def of_views(x, n):
    A = np.zeros((4, 4), x.dtype)
    B = A[1:, 1:]
    for k in range(2):
        B[n[k] - 1] += x[:3]
    return A


def means_of_classes(x, n):
    totals, counts = np.zeros((4, 4)), np.zeros(4)
    for k in range(4):
        totals[n[k]] += x * k
        counts[n[k]] += 1
    return totals / np.maximum(counts, 1)[:, None]


def zeros_keep_their_signs(x, n):
    A = np.full((4, 4), -0.0)
    A[n[1]] += 0.0 * x[0]
    return np.copysign(1.0, A)


def swapped(x, n):
    A, P, y = np.outer(x, x), np.arange(4), x.copy()
    for k in range(3):
        A[[k, n[k]]] = A[[n[k], k]]
        A[:, [0, n[k]]] = A[:, [n[k], 0]]
        P[[k, n[k] % 4]] = P[[n[k] % 4, k]]
    y[[n[0], 2]] += 5
    return A, P, y, x[[n[0], n[1], 3]], A[[0, n[0]], [1, n[1]]]


def with_pivots(x, n):
    A = np.outer(x, x[::-1]) + np.eye(4) * 3
    P = np.arange(4)
    for k in range(3):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p]] = A[[p, k]]
            P[[k, p]] = P[[p, k]]
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return A, P, n


def selected(x, n):
    for k in range(3):
        p = k + np.argmin(x[k:])
        x[k], x[p] = x[p], x[k]
    return x, n


def sums(x, n):
    A = np.outer(x, x)
    total = 0
    for i in range(4):
        total -= A[i, n[i]] * 2
    y = np.zeros(4)
    for i in range(4):
        y[i] = sum(x[n[k]] for k in range(i)) + sum(A[n[i], n[k]] * x[k] for k in range(4) if k != 2)
    return total, y, sum(x[n[n[k]]] for k in range(3, -1, -1)), sum(x[n[k]] for k in range(4) if x[k] > 2)


def other_reductions(x, n):
    product = 1
    for k in range(4):
        product *= x[n[k]]
    y = np.zeros(4)
    for i in range(4):
        y[i] = max(x[n[k]] for k in range(i + 1)) - min(x[n[k]] for k in range(i + 1))
    return product, y, any(x[n[k]] > 4 for k in range(4)), sum(x[n[k]] > 2 for k in range(4))


def sums_in_loops(x, n):
    u, steps, total = x * 1.0, 0, np.float64(0)
    while total < 50 and steps < 6:
        total = np.float64(0)
        for k in range(4):
            total += u[n[k]]
        u, steps = u * 2, steps + 1
    return u, steps, total


def grown(v):
    v += 1
    return v


def by_functions(x, n):
    y = x.copy()
    for k in range(3):
        y[n[k]] = grown(y[n[k + 1]])
        x[k] = grown(x[n[k]])
    p, head, tail = n[1], y[:3], y[1:]
    tail[p] = grown(head[p])
    return x, y


FUNCTIONS = [
    rows, of_three_axes, of_views, means_of_classes, zeros_keep_their_signs, swapped, with_pivots, selected,
    sums, other_reductions, sums_in_loops, by_functions,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_places(function, dtype):
    x, n = np.array([1, 5, 2, 3], dtype), np.array([2, 0, 3, -3])
    check_against_numpy(function, x, n, rtol=1e-6 if dtype == "float32" else 1e-14)


def halves(x, n):
    x[n] += 1.5
    return x


def half_rows(x, n):
    A = np.outer(x, x)
    A[n[0]] -= 0.5
    return A


def narrow_rows(x, n):
    A = np.outer(x, x)
    A[n[0]] += x[:3]
    return A


def changed_row(x, n):
    A = np.outer(x, x)
    return A, grown(A[n[0]])


def searched_in_nothing(x, n):
    for k in range(5):
        x[0] = np.argmax(x[k:])
    return x, n


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (halves, "CYC120"),
        (half_rows, "CYC120"),
        (narrow_rows, "CYC122"),
        (changed_row, "CYC107"),
        (searched_in_nothing, "CYC205"),
    ],
)
def test_what_numpy_refuses_or_makes_a_view_of_is_refused(function, code):
    with pytest.raises(cy.CyclotronError, match=code):
        cy.kernel(function)(np.array([1, 5, 2, 3]), np.array([2, 0, 3, -3]))


def added_rows(A, n, x):
    for k in range(4):
        A[n[k]] += x
    return A


def assigned_rows(A, n, x):
    for k in range(4):
        A[n[k]] = x
    return A


@pytest.mark.parametrize("function", [added_rows, assigned_rows])
def test_a_row_takes_the_same_time_of_any_matrix(function):
    """Its elements are found by address."""
    cycles = set()
    for size in (8, 32):
        arguments = np.ones((size, 4)), np.array([2, 0, 3, 1]), np.arange(4.0)
        program = cy.kernel(function).compile(*arguments, schedule=cy.Schedule().space())
        cycles.add(cy.run(program, backend="sim").cycles)
    assert len(cycles) == 1


def changed_rows(A, n, x):
    for k in range(4):
        A[n[k]] *= 2
        A[n[k], 1] /= 3
        A[n[k], 1:] **= 2
        A[1:, n[k] - 1] //= 0.25
    A[n[0]] *= x
    return A


def of_two_axes(A, n, x):
    A[n, n] *= -1
    A[np.arange(4), n] = x
    A[n, 0] -= 7
    A[[0, 1], [1, 2]] = 5
    A[n, [0, 1, 2, 1]] += x
    A[n, n[::-1]] = A[n, n]
    A[abs(n) - 4, 1] = x[0]
    return A


def of_three(A, n, x):
    cubes = np.zeros((4, 4, 4))
    cubes[n, 1, n[::-1]] = x
    cubes[n, n, n] -= A[n, n]
    return cubes


def filled_diagonals(A, n, x):
    wide = np.zeros((3, 5))
    np.fill_diagonal(wide, x[:3])
    np.fill_diagonal(wide[1:], n[0])
    np.fill_diagonal(A, x)
    np.fill_diagonal(A[:2].T, 2)
    return A, wide


@pytest.mark.parametrize("function", [changed_rows, of_two_axes, of_three, filled_diagonals])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elements_and_rows_are_changed(function, dtype):
    A = np.random.default_rng(1).random((4, 4)).astype(dtype)
    for n in ([2, 0, 3, 1], [1, 1, -1, 2]):
        check_against_numpy(function, A, np.array(n), A[1])


def test_changes_that_numpy_refuses_are_refused():
    def halved(A, n):
        A[n[0]] *= 0.5
        return A

    def renamed(A, n):
        row = A[n[0]]
        row *= 2
        return A

    A, n = np.ones((3, 3), int), np.array([1])
    with pytest.raises(cy.CyclotronError, match="CYC12"):
        cy.kernel(halved).compile(A, n)
    with pytest.raises(cy.TraceError, match="CYC107"):
        cy.kernel(renamed).compile(A, n)


def of_any_axes(A, n, x):
    T = np.zeros((4, 4, 4, 2))
    T[1, :, n] = x[:, None, None]
    T[n, 1] = x[:, None]
    T[:, n, n] += x[:, None]
    T[1:, n, 2] = x[:3, None, None]
    T[n, 1:3, n] = np.ones((2, 2))
    T[0, 1:3, n, 0] = np.array([[1, 2]])
    A[n[:2], 1:] = x[:3]
    A[1:, n] *= 2
    A[n[:0]] = 5
    A[n] += A
    A[n[0], n] = 2
    A[n, n[0]] += 3
    A[n[0], [0, 1]] = 9
    for i in range(n[0]):
        A[i, n] -= 1
        A[n, i] = A[n[i], 0]
    return A, T


@pytest.mark.parametrize("places", [[2, 0, 3, 1], [0, 0, 3, -1]])
def test_parts_at_vectors_of_places_are_assigned(places):
    A = np.random.default_rng(1).random((4, 4))
    check_against_numpy(of_any_axes, A, np.array(places), A[1])


def by_themselves(A, n):
    n[n] = n[::-1]
    n[abs(n)] += n
    n[n % 4] = 0
    A[A[:, 0].astype("int64") % 4] = A[::-1]
    A[A[0].astype("int64") % 4, A[1].astype("int64") % 4] = A[2]
    return A, n


def test_places_are_those_before_the_assignment():
    check_against_numpy(by_themselves, np.arange(16.0).reshape(4, 4) % 5, np.array([2, 0, 3, 1]))


def put_rows(A, n):
    A[n] = -1
    return A


def put_elements(A, n):
    A[n, n] = -1
    return A


@pytest.mark.parametrize("function", [put_rows, put_elements])
def test_a_place_takes_the_same_time_of_any_matrix(function):
    """Beside the time in which the matrix is loaded and stored."""
    cycles = {}
    for rows in (8, 32):
        for count in (4, 12):
            arguments = np.ones((rows, 4)), np.arange(count) % 4
            program = cy.kernel(function).compile(*arguments, schedule=cy.Schedule().space())
            cycles[rows, count] = cy.run(program, backend="sim").cycles
    assert cycles[8, 12] - cycles[8, 4] == cycles[32, 12] - cycles[32, 4] <= 8 * 10

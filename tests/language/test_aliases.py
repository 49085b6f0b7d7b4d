"""Arrays with two names, of which loops carry some: what NumPy makes of them, or a refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cyclotron as cy


def check(kernel: cy.Kernel, *arguments: Any) -> None:
    """Compare a kernel of several results with what NumPy makes of its function."""
    wanted = kernel.__wrapped__(*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments))
    for one, other in zip(kernel(*arguments), wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@cy.kernel
def part_carried(x, n):
    x[1] = 9
    y = x[2:]
    for _t in range(n):
        y[0] += 1
        y = y + 1
    return x, y


@cy.kernel
def gets_another(x, n):
    a, c = x * 1, x * 2
    for _t in range(n):
        c[0] += 5
        a[1] += c[1]
        c = a
    return a, c


@cy.kernel
def one_for_two(x, n):
    p = x * 1
    q = p
    for _t in range(n):
        p[0] += 1
        q = q + p
        p = q
    return p, q


@cy.kernel
def changed_afterwards(x, n):
    r, p = x * 1, x * 3
    for _t in range(n):
        q = p * 2
        p = r
        r -= q
    r += 1
    return p, r


@cy.kernel
def exchanged_and_changed(x, n):
    a = x + 1
    b = a
    for _t in range(n):
        a, b = b, a
    a[0] += 1
    return a, b


@cy.kernel
def kept_itself(x, n):
    a = x * 1
    c = a
    for _t in range(n):
        c[0] = 7
        a = a
    return a, c * 1


@cy.kernel
def changed_by_the_other(x, n):
    a = x * 1
    b = a
    for _t in range(n):
        b = b
        a -= 1
    return a * 1, b * 1


REFUSED = [
    part_carried,
    gets_another,
    one_for_two,
    changed_afterwards,
    exchanged_and_changed,
    kept_itself,
    changed_by_the_other,
]


@pytest.mark.parametrize("kernel", REFUSED)
def test_names_of_one_array_are_refused(kernel: cy.Kernel) -> None:
    with pytest.raises(cy.TraceError, match="CYC111"):
        kernel(np.ones(4), 2)


@cy.kernel
def conjugate_gradients(A, b, n):
    r = b - A @ b
    p = r
    for _k in range(n):
        q = A @ p
        r = r - 2 * q
        p = r + 3 * p
    return p, r


@cy.kernel
def kept_before(x, n):
    u = x * 1
    first = u
    for _t in range(n):
        for _s in range(2):
            u = u + u[::-1]
    for _t in range(n):
        first = first + u
    u -= first
    return u, first


@cy.kernel
def exchanged(x, n):
    a, b = x * 1, x * 2
    for _s in range(2):
        for _t in range(n):
            b[1:-1] = a[:-2] + a[2:]
            a, b = b, a
        a = a + 1
    return a, b


@cy.kernel
def copied(x, n):
    b = cy.zeros_like(x)
    for _t in range(n):
        b[1:-1] = x[:-2] + x[2:]
        x = b
    return x + 1, b


@cy.kernel
def summed_in_place(c, x, n):
    """Numbers and arrays that loops only add to."""
    c[0, 0] = 1
    row = c[0]
    for k in range(n):
        row += x[k]
    total = x[1]
    for k in range(n):
        total -= x[k]
    return c, x * total


@cy.kernel
def chosen_by_the_host(x, n):
    if n > 2:
        y = x * 2
    else:
        y = 1.0
    z = y + 1
    w = z
    z += 1
    return z * x, w * x


@pytest.mark.parametrize("n", [1, 3])
def test_names_are_arrays_where_a_branch_makes_them_so(n: int) -> None:
    check(chosen_by_the_host, np.array([3.0, 1.0, 4.0]), n)


@cy.kernel
def grown(c, x):
    for _t in range(2):
        c += x
    return c * x, x * 2


def test_arrays_are_added_to_arrays_and_to_numbers() -> None:
    check(grown, np.array([3.0, 1.0]), np.array([2.0, 5.0]))
    check(grown, 2.0, np.array([2.0, 5.0]))
    check(grown, 2, np.arange(3))

    @cy.kernel
    def added(x, ones):
        if ones:
            c = cy.ones_like(x)
        else:
            c = 2.0
        for _t in range(2):
            c += x
        return c

    check(added, np.arange(3.0), True)
    with pytest.raises(cy.TraceError, match="`c` is no array before the loop"):
        added(np.ones(2), False)


def test_a_loop_adds_to_a_row_in_place() -> None:
    check(summed_in_place, np.eye(3), np.array([3.0, 1.0, 4.0]), 3)


@cy.kernel
def names_exchanged(x, y):
    x[1] = 3
    y[1] = 4
    x, y = y, x
    x[0] = 5
    return x, y


@cy.kernel
def input_by_another_name(x, y):
    v = x
    v[0] = 77
    x = x + y
    return x, v


@cy.kernel
def input_twice(x, y):
    v = x
    v[0] = 77
    x[1:] += y[:-1]
    return v, x


@pytest.mark.parametrize("kernel", [names_exchanged, input_by_another_name, input_twice])
def test_inputs_are_returned_under_other_names(kernel: cy.Kernel) -> None:
    check(kernel, np.array([3.0, 1.0, 4.0]), np.array([1.0, 5.0, 9.0]))


def repeated(u: Any) -> Any:
    for _k in range(5):
        u = u * u + u
    return u


@cy.kernel
def steps_by_name(x):
    y = repeated(x)
    y = repeated(y)
    z = repeated(y)
    return y, z


def test_what_a_helper_makes_is_computed_where_it_gets_a_name() -> None:
    check(steps_by_name, np.array([0.0, -1.0]))


@pytest.mark.parametrize("kernel", [kept_before, exchanged, copied])
def test_names_apart_mean_what_numpy_makes_of_them(kernel: cy.Kernel) -> None:
    check(kernel, np.array([3.0, 1.0, 4.0, 1.0]), 2)


def test_arrays_that_are_rebound_may_share() -> None:
    check(conjugate_gradients, np.array([[1.0, 2.0], [2.0, 3.0]]), np.array([1.0, 2.0]), 2)


@cy.kernel
def another_array(u, A):
    x = A[0]
    for k in range(2):
        x = x + (k + 1)
    return x, u, A


@cy.kernel
def another_array_of_a_list(u, A):
    x = [u, A][0]
    for k in range(3):
        if k > 1:
            x = x - k
    return x, u, A


@cy.kernel
def another_array_of_a_dictionary(u, A):
    x = {"u": u}["u"]
    for r in u:
        x = x + r
    return x, u, A


@cy.kernel
def the_same_array(u, A):
    x = A[0]
    for r in u:
        x += r
    return x, u, A


@pytest.mark.parametrize(
    "kernel", [another_array, another_array_of_a_list, another_array_of_a_dictionary, the_same_array]
)
def test_loops_that_add_to_arrays_that_the_text_does_not_tell(kernel):
    """`x = x + e` is no sum in place then."""
    check(kernel, np.arange(3.0), np.arange(6.0).reshape(2, 3))


def test_an_array_after_one_branch_alone_another_is_refused():
    @cy.kernel
    def kernel(u, A):
        x = A[0]
        for k in range(3):
            if u[k] > 1:
                x = x + k
            else:
                x += 2
        return x, A

    with pytest.raises(cy.TraceError, match="CYC111"):
        kernel(np.arange(3.0), np.ones((2, 3)))


def test_two_names_of_a_part_of_a_new_array():
    @cy.kernel
    def kernel(u):
        x = cy.stack([u, u])[0]
        y = x
        y += 1
        return x, u

    check(kernel, np.arange(3.0))

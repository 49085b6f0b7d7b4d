"""Names that only a loop assigns, read after it: what Python leaves in them."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def of_arrays(u):
    for k in range(3):
        t = u * k
    return t + 1


@cy.kernel
def of_elements(u):
    y = cy.zeros_like(u)
    for i in range(len(u)):
        t = u[i] * 2
        y[i] = t
    return y + t, t


@cy.kernel
def residual(u):
    A = cy.diag(u + 4)
    x = u * 0.0
    for _ in range(5):
        r = u - A @ x
        x = x + r / 4
    return x, r


@cy.kernel
def of_names_of_carried_arrays(u):
    for k in range(3):
        n = len(u)
        t = k * 2
        w = u
        u = u + 1
    return u * t + n, w + 0


@cy.kernel
def of_loops_in_loops(u):
    for k in range(3):
        for j in range(2):
            t = u[j] * k
            s = u * t
        r = s + t
    return r, s, t


@cy.kernel
def of_numbers_that_change_their_type(u):
    c = 1
    for _ in range(3):
        t = c * 2
        c = c * 0.5
    return u * t, t


@cy.kernel
def of_items(u):
    for v in u:
        m = v * 2
    return m + u, v


@cy.kernel
def of_one_iteration(u):
    c = 1
    for _ in range(1):
        t = c * 2
        c = c * 0.5
    return u.astype("int8") * t


@cy.kernel
def assigned_again(u):
    for k in range(2):
        t = u * k
    t[0] = 7
    for k in range(2):
        t = t + u * k
        s = t
    return t, s + 0


@cy.kernel
def assigned_before_it_is_added_to(u):
    for _ in range(1, 1):
        s = u[0] * 1
    for i in range(1, 4):
        s = u[i] * 2
        s -= u[0]
        u[i] = s
    return u


@cy.kernel
def read_by_an_operator_in_place(u):
    for i in range(3):
        s = u[i] * 2
    s -= u[1]
    return u * s


KERNELS = [
    read_by_an_operator_in_place,
    assigned_before_it_is_added_to,
    of_arrays, of_elements, residual, of_names_of_carried_arrays, of_loops_in_loops,
    of_numbers_that_change_their_type, of_items, of_one_iteration, assigned_again,
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: one.name)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_gives_what_python_leaves(kernel: cy.Kernel, dtype: str) -> None:
    u = np.arange(1, 5).astype(dtype)
    with np.errstate(all="ignore"):
        expected = kernel.__wrapped__(u.copy())
    expected = expected if isinstance(expected, tuple) else (expected,)
    for backend in ("sim", "local"):
        outputs = cy.run(kernel.compile(u), backend=backend).outputs.values()
        for found, right in zip(outputs, expected, strict=True):
            assert found.dtype == np.asarray(right).dtype
            np.testing.assert_allclose(found, right, rtol=1e-6 if dtype == "float32" else 1e-14)


@cy.kernel
def of_a_loop_of_n(u, n):
    for k in range(n):
        t = u * k
    return t


@cy.kernel
def alias_changed(u):
    for k in range(3):
        t = u
        u[0] = k
    t[1] = 7
    return u + 0


def test_without_an_iteration_there_is_none() -> None:
    np.testing.assert_array_equal(of_a_loop_of_n(np.arange(3.0), 2), np.arange(3.0))
    with pytest.raises(cy.TraceError, match="`t` is assigned in a loop and read after it"):
        of_a_loop_of_n(np.arange(3.0), 0)


def test_one_array_under_two_names_is_not_taken_for_two() -> None:
    with pytest.raises(cy.TraceError, match="`t`, which a loop assigns anew, may hold the array that `u` is"):
        alias_changed(np.arange(3.0))

"""`while` loops that a number of the host or an index ends: they have no more steps than it allows."""

import warnings

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def in_a_loop(u):
    for k in range(2):
        c = k
        while c < 4:
            u[1:-1] = (u[2:] + u[:-2]) / 2
            c += 1
    return u


@cy.kernel
def until_close(u):
    c = 0
    while c < 30 and cy.max(cy.abs(u)) > 1:
        u[1:-1] = (u[2:] + u[:-2]) / 2
        c = c + 1
    return u, c


@cy.kernel
def of_time(u):
    t = 0.0
    while t < 1.0:
        u = u * 0.5 + t
        t += 0.1
    return u, t


@cy.kernel
def halved(u):
    n = u.shape[0]
    while n > 1:
        n //= 2
        u = u + n
    return u, n


@cy.kernel
def counted_down(u):
    n = 3
    while n:
        u[0] += u[n]
        n -= 1
    return u


@cy.kernel
def of_the_length(u):
    i = 0
    while i < len(u):
        u[i] += i
        i += 2
    return u, i


@cy.kernel
def sorted_by_insertion(u):
    for i in range(1, u.shape[0]):
        j = i
        while j > 0 and u[j - 1] > u[j]:
            t = u[j - 1]
            u[j - 1] = u[j]
            u[j] = t
            j -= 1
    return u


@cy.kernel
def triangular(u):
    s = 0.0
    for i in range(u.shape[0]):
        j = 0
        while j <= i:
            s = s + u[j]
            j += 2
    return s


@cy.kernel
def never(u):
    c = 5
    while c < 4:
        u = u + 1
        c += 1
    return u, c


@cy.kernel
def with_steps_of_data(u, n):
    c = 0
    while c < 6:
        u[c] += 1
        c += n
    return u


@cy.kernel
def skips(u):
    c = 0
    while c < 4:
        c += 1
        if u[c] > 0:
            continue
        u[0] += c
        if u[0] > 4:
            break
    return u, c


@cy.kernel
def named_as_an_index(u):
    n = u.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            u[i] = u[i] - u[k] / 2
    k = 0
    while u[0] > 1e-3:
        u[0] = u[0] / 2
        k += 1
    for k in range(2):
        for i in range(k, n - 1):
            u[i] += u[i + 1]
    return u


KERNELS = (
    in_a_loop,
    until_close,
    of_time,
    halved,
    counted_down,
    of_the_length,
    sorted_by_insertion,
    triangular,
    never,
    skips,
    named_as_an_index,
)


@pytest.mark.parametrize("kernel", KERNELS, ids=[kernel.name for kernel in KERNELS])
@pytest.mark.parametrize("backend", ["sim", "local"])
def test_as_in_python(kernel: cy.Kernel, backend: str) -> None:
    for seed in range(3):
        u = np.random.default_rng(seed).normal(size=7)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            outputs = cy.run(kernel.compile(u.copy()), backend=backend).outputs
        expected = kernel.__wrapped__(u.copy())
        expected = expected if isinstance(expected, tuple) else (expected,)
        for one, right in zip(outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(one, right)
            assert np.asarray(one).dtype == np.asarray(right).dtype


def test_no_step_after_the_last() -> None:
    """Of a loop in another one nothing tells its end at run time: it went through a million steps."""
    u = np.random.default_rng(0).normal(size=7)
    assert cy.run(in_a_loop.compile(u.copy()), backend="sim").cycles < 200


def test_an_index_is_no_count_of_that_name() -> None:
    """Its bounds are no data, though those of the count are."""
    assert "k_kept" in named_as_an_index.il()
    assert "il.bound" not in named_as_an_index.il()


def test_a_number_of_data_tells_nothing() -> None:
    kernel = cy.kernel(max_steps=8)(with_steps_of_data.__wrapped__)
    u = np.zeros(6)
    np.testing.assert_array_equal(kernel(u.copy(), np.array(2)), [1, 0, 1, 0, 1, 0])


@cy.kernel
def halved_from_an_index(u):
    for i in range(2):
        c = i - i + 8
        while c > 1:
            u = u + 1
            c //= 2
    return u


@cy.kernel
def set_back(u):
    c = 0
    for i in range(3):
        while c < 4:
            u = u + 1
            c += 1
        c = i
    return u, c


def test_other_steps_than_of_a_constant() -> None:
    for kernel in (halved_from_an_index, set_back):
        found, expected = kernel(np.zeros(2)), kernel.__wrapped__(np.zeros(2))
        np.testing.assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("step", [1, -1, 0])
def test_more_than_the_most_steps(step: int) -> None:
    @cy.kernel(max_steps=8)
    def endless(u):
        c = 0
        while c < 9:
            u = u + 1
            c += step
        return u

    with pytest.raises(cy.ExecutionError, match="has not ended after 8 steps"):
        endless(np.zeros(3))

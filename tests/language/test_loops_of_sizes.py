"""`while` over sizes that the host computes: Python runs it, as the body needs them as bounds."""

import numpy as np
import pytest
from numpy_oracle import check_against_numpy

import cyclotron as cy


def haar(x):
    a = x * 1.0
    n = len(a)
    while n > 1:
        half = n // 2
        t = a[:n].copy()
        a[:half] = (t[0::2] + t[1::2]) / 2
        a[half:n] = (t[0::2] - t[1::2]) / 2
        n = half
    return a


def tree_sum(x):
    n = x.shape[0]
    while n > 1:
        n //= 2
        x[:n] += x[n : 2 * n]
    return x[0], x


def scan(x):
    step = 1
    while step < len(x):
        before = x[:-step].copy()
        x[step:] += before
        step *= 2
    return x


def butterflies(x):
    y = x * (1 + 0j)
    n, size = len(x), 2
    while size <= n:
        half = size // 2
        w = np.exp(-2j * np.pi * np.arange(half) / size)
        for start in range(0, n, size):
            for k in range(half):
                t = w[k] * y[start + k + half]
                u = y[start + k]
                y[start + k] = u + t
                y[start + k + half] = u - t
        size *= 2
    return y


def nested(x):
    total = np.zeros(8)
    n = 8
    while n > 1:
        m = 1
        while m < n:
            total[:m] += x[:m] * n
            m = m * 2
        n = n // 2
    return total, n


def odd_ones(x):
    y = x.copy()
    n, level = len(x), 0
    while n > 1 and level < 10:
        if n % 2 == 0:
            y[: n // 2] += y[n // 2 : n]
        else:
            y[:n] = -y[:n]
        n, level = n // 2, level + 1
    return y


def counted(x):  # recorded once, as before
    y = np.zeros(8)
    c = 0
    while c < 8:
        y[c] = x[c] * c
        c += 1
    return y, c


def by_data(x):
    y, n = x * 1.0, 0
    while y[1:].sum() < 1000 and n < 20:
        y[1:] = y[:-1] + y[1:]
        n = n + 1
    return y, n


def changed_by_data(x):  # recorded, as before
    y, n = x * 1.0, 0
    while n < 8:
        if y[0] > 3:
            n += 2
        n = n + 1
        y = y + 1
    return y, n


def sieve(x):
    is_prime = np.ones(len(x), dtype=bool)
    is_prime[:2] = False
    for p in range(2, int(len(x) ** 0.5) + 1):
        if is_prime[p]:
            is_prime[p * p :: p] = False
    return is_prime, x


def strides(x):
    y = x.copy()
    for p in range(1, 4):
        y[::p] += x[::p] * p
        y[: p**2] -= 1
    return y


def exchange(x):
    n = len(x)
    s = 1
    while s < n:
        y = np.zeros_like(x)
        for i in range(n):
            y[i] = x[i] + x[i ^ s]
        x = y
        s *= 2
    return x


def transform(x):
    n = len(x)
    y, s = x * (1 + 0j), 1
    w = np.exp(-2j * np.pi * np.arange(n // 2) / n)
    while s < n:
        z = np.zeros_like(y)
        for i in range(n):
            low = i & ~s
            high = i | s
            k = (i & (s - 1)) * (n // (2 * s))
            t = y[high] * w[k]
            z[i] = y[low] - t if i & s else y[low] + t
        y = z
        s *= 2
    return y


def reshaped(x):
    n, y, m = len(x), x * (1 + 0j), 1
    while m < n:
        halves = y.reshape(n // (2 * m), 2, m)
        w = np.exp(-1j * np.pi * np.arange(m) / m)
        even, odd = halves[:, 0], w * halves[:, 1]
        y = np.stack([even + odd, even - odd], axis=1).reshape(n)
        m *= 2
    return y


def grown(x):
    n = len(x)
    X = x.astype(np.complex128).reshape(1, n)
    while X.shape[0] < n:
        even, odd = X[:, : X.shape[1] // 2], X[:, X.shape[1] // 2 :]
        factor = np.exp(-1j * np.pi * np.arange(X.shape[0]) / X.shape[0])[:, None]
        X = np.vstack([even + factor * odd, even - factor * odd])
    return X.ravel()


def halved(x):
    while len(x) > 1 and x.size < 100:
        x = x[::2] + x[1::2]
    return x


AHEAD, ASIDE = np.array([0, 1, -1, 3]), (0, 2, 0, -5)


def by_tables(x):
    y = x.reshape(2, len(x) // 2)
    for q in range(4):
        y = y + (q + 1) * np.roll(np.roll(y, AHEAD[q], axis=1), shift=ASIDE[q] + 1, axis=0)
    return y


def copies(x):
    y, m = np.zeros(len(x)), 1
    while m < 4:
        y += np.repeat(x[: len(x) // m], m) * np.ones(m * (len(x) // m))
        m += m
    return y


def shifted(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i & -3] + (i & ~1) * (i - 4 & -4)
        if i > 1:
            y[i] += x[(i - 5 & ~3) + 4]
    return y


def from_far(x):
    s = len(x) // 2
    while s:
        for i in range(s):
            x[i] = x[i] + x[i + s]
        s >>= 1
    return x


def far_and_long(x):
    t = 0
    while t < 2000:
        x[t % 4] = x[t % 4] + 1
        t += 1
    return x


def scan_by_powers(x):
    for k in range(3):
        s = 2**k
        x[s:] = x[s:] + x[:-s]
    return x


def scan_by_shifts(x):
    for k in range(3):
        x[1 << k :] = x[1 << k :] + x[: -(1 << k)]
    return x


def haar_by_levels(x):
    n = len(x)
    y = x * 1.0
    for level in range(3):
        m = n >> level
        a = (y[:m:2] + y[1:m:2]) / 2
        d = (y[:m:2] - y[1:m:2]) / 2
        y[: m // 2] = a
        y[m // 2 : m] = d
    return y


def butterflies_by_shifts(x):
    for k in range(3):
        y = np.empty_like(x)
        for i in range(len(x)):
            y[i] = x[i] + x[i ^ (1 << k)] * (1 if i >> k & 1 else 2)
        x = y
    return x


def up_and_down(x):
    n = len(x)
    for d in range(3):
        s = 2 ** (d + 1)
        for i in range(0, n, s):
            x[i + s - 1] += x[i + s // 2 - 1]
    for d in reversed(range(2)):
        s = 2 ** (d + 1)
        for i in range(s, n, s):
            x[i + s // 2 - 1] += x[i - 1]
    return x


def powers_in_loops(x):
    for t in range(3):
        for k in range(2):
            h = 2**k
            x[h:] = x[h:] - x[:-h] * t
    return x


def decays(x):  # recorded once: no place depends on the power
    y = x * 1.0
    for t in range(2000):
        c = 0.5**t
        y[t % 8] = y[t % 8] + c * x[(t + 1) % 8]
    return y


def few_powers(x):  # recorded once: a long loop
    y = np.zeros_like(x)
    for i in range(1500):
        y[i % 8] += x[1 << (i % 3)]
    return y


FUNCTIONS = [
    few_powers,
    scan_by_powers,
    scan_by_shifts,
    haar_by_levels,
    butterflies_by_shifts,
    up_and_down,
    powers_in_loops,
    decays,
    grown,
    halved,
    by_tables,
    exchange,
    transform,
    reshaped,
    copies,
    shifted,
    from_far,
    far_and_long,
    changed_by_data,
    sieve,
    strides,
    haar,
    tree_sum,
    scan,
    butterflies,
    nested,
    odd_ones,
    counted,
    by_data,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_loops_of_sizes(function, dtype):
    check_against_numpy(function, np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype), rtol=1e-14)


def test_a_loop_without_end_is_refused():
    @cy.kernel
    def f(x):
        n = 4
        while n > 1:
            x[:n] += 1
            n = max(n // 2, 2)
        return x

    with pytest.raises(cy.TraceError, match="CYC102"):
        f(np.ones(4))


def test_the_loop_is_spread():
    assert len(cy.kernel(haar).compile(np.arange(16.0)).grid) == 1
    assert cy.kernel(haar).compile(np.arange(16.0)).grid[0] > 1


def test_distances_that_grow_by_a_factor_are_constants():
    """They are so as they are in `for s in (1, 2, 4, 8):`, whose loop takes 38 cycles too; named as well."""
    program = cy.kernel(exchange).compile(np.arange(16.0))
    assert cy.run(program, backend="sim").cycles <= 40
    program = cy.kernel(transform).compile(np.arange(16.0))
    assert cy.run(program, backend="sim").cycles <= 70


def test_distances_that_are_powers_are_constants():
    """As many cycles as where a `while` has them."""
    x = np.arange(16.0)
    named, shifted, multiplied = (cy.kernel(f).compile(x) for f in (scan_by_powers, scan_by_shifts, scan))
    cycles = [cy.run(one, backend="sim").cycles for one in (named, shifted, multiplied)]
    assert cycles[0] == cycles[1] <= cycles[2]
    assert named.grid[0] > 1

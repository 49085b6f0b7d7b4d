"""Names of tests on indices, and of numbers that tests compare: as where they stand in the `if` itself."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def remainders(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        up = (i // 2) % 2 == 0
        late = i > 3
        both = up and late
        k = i // 2
        if up:
            y[i] = x[i]
        elif late:
            y[i] = -x[i]
        if both:
            y[i] += 5
        if k % 2 == 1:
            y[i] += 7
        if not up:
            y[i] *= 2
    return y


@cy.kernel
def products(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        for j in range(3):
            odd = (i * j) % 2 == 1
            if odd:
                y[i] += x[j]
            else:
                y[i] -= j
    return y


@cy.kernel
def squares(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        q = i * i
        if q > 5 and x[i] > 2:
            y[i] = x[i]
        r = q
        if r < 10:
            y[i] += 1
    return y


@pytest.mark.parametrize("kernel", [remainders, products, squares])
@pytest.mark.parametrize("size", [4, 7])
def test_as_in_python(kernel: cy.Kernel, size: int) -> None:
    x = np.arange(1.0, size + 1)
    wanted = kernel.__wrapped__(x.copy())
    program = kernel.compile(x)
    for found in (kernel.reference(x), *(cy.run(program, backend=one).output for one in ("sim", "local"))):
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype

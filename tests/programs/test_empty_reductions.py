"""Reductions that are empty in every iteration, of values that nothing makes."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def every_one(u):
    y = cy.zeros_like(u)
    for i in range(2):
        y[i] += 5 * all(k > 0 for k in range(1, i))
    return y


@cy.kernel
def filtered_sum(u):
    y = cy.zeros_like(u)
    for i in range(2):
        y[i] += cy.minimum(u[i], sum(j for j in range(3) for k in range(2) if 2 * i > 2 * k + 4))
    return y


@cy.kernel
def of_an_earlier_tensor(u):
    y = cy.zeros_like(u)
    t = cy.zeros_like(u)
    for i in range(2):
        for j in range(1, i):
            t[j] = u[j]
        y[i] = y[i] + sum(t[k] for k in range(1, i)) + u[i]
    return y


@pytest.mark.parametrize("kernel", [every_one, filtered_sum, of_an_earlier_tensor])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("backend", ["sim", "local"])
def test_as_numpy(kernel, dtype, backend):
    u = np.array([3, 4], dtype)
    result = cy.run(kernel.compile(u), u, backend=backend)
    expected = {every_one: [5, 5], filtered_sum: [0, 0], of_an_earlier_tensor: [3, 4]}[kernel]
    assert result.outputs["y"].dtype == dtype
    assert result.outputs["y"].tolist() == expected

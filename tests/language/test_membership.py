"""Python's `in` of indices and data, in what the host holds: as the same text in Python."""

import numpy as np
import pytest

import cyclotron as cy

EDGES = {1: "left", 4: "right"}
ODD = range(5, 0, -2)
NONE = ()


@cy.kernel
def of_indices(u):
    y = cy.zeros_like(u)
    for i in range(6):
        if i in (1, 2):
            y[i] = u[i]
        elif i not in [3, 5]:
            y[i] = 7.0
        y[i] += 1 if i in {0, 4} else 2
    return y


@cy.kernel
def of_names_and_ranges(u):
    y = cy.zeros_like(u)
    for i in range(6):
        if i in ODD or (u[i] in EDGES and u[i] not in range(2)):
            y[i] = u[i] + 1
        y[i] += sum(u[k] for k in range(6) if k in ODD if k not in NONE if k in (i, i + 1))
    return y


@cy.kernel
def of_data(u):
    y = cy.zeros_like(u)
    for i in range(6):
        y[i] = u[i] in (1.0, 2.0) or i in (5,) or 4 in (i * 2, 9)
    return y, u[3] in (3.0,), u[2] in range(1), u[1] in range(3), u[0] in NONE


@cy.kernel
def of_a_number_that_a_loop_carries(u):
    y = cy.zeros_like(u)
    s = 0
    while s not in (4, 5):
        s += 2
        y[s] = u[0]
    return y


@cy.kernel
def of_the_host(u):
    return u * 2 if "left" in EDGES.values() and 6 in u.shape else u


KERNELS = [of_indices, of_names_and_ranges, of_data, of_a_number_that_a_loop_carries, of_the_host]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: one.name)
@pytest.mark.parametrize("first", [0.0, 3.0, 0.5, np.nan])
def test_gives_what_python_gives(kernel: cy.Kernel, first: float) -> None:
    u = np.arange(6.0)
    u[0] = first
    expected = kernel.__wrapped__(u.copy())
    expected = expected if isinstance(expected, tuple) else (expected,)
    for backend in ("sim", "local"):
        outputs = cy.run(kernel.compile(u), backend=backend).outputs.values()
        for found, right in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(found, right)
    reference = kernel.reference(u.copy())
    for found, right in zip(
        reference if isinstance(reference, tuple) else (reference,), expected, strict=True
    ):
        np.testing.assert_array_equal(found, right)

"""A user's script, as type checkers see it: `test_typing.py` runs it, and mypy and pyright over it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import cyclotron as cy

Matrix = NDArray[np.float64]


@cy.kernel
def matmul(A: Matrix, B: Matrix) -> Matrix:
    """A B."""
    C: Matrix = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def softened(x: Matrix, weight: float) -> Matrix:
    """Functions of arrays and of numbers."""
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = cy.tanh(x[i, j]) + cy.exp(weight) * cy.abs(x[i, j])
    return y


@cy.kernel(max_steps=100)
def halved(x: Matrix) -> Matrix:
    """Divide until all is small."""
    y: Matrix = x * 1.0
    while cy.max(y) > 1.0:
        y = y / 2.0
    return y


class Scaling:
    """A method that is a kernel."""

    factor = 2.0

    @cy.kernel
    def scaled(self, A: Matrix) -> Matrix:
        """Some times A."""
        return self.factor * A


A = np.ones((2, 3))
B = np.ones((3, 4))
assert_type(matmul(A, B), Matrix)
assert_type(matmul.reference(A, B), Matrix)
assert_type(softened(cy.blocked(A, 1), 0.5), Matrix)
assert_type(softened.reference(cy.blocked(A, 1), 0.5), Matrix)
assert_type(softened(A, 0.5), Matrix)
assert_type(cy.zeros((2, 3)), NDArray[Any])
assert_type(cy.exp(A), Matrix)
assert_type(cy.exp(0.5), float)
assert_type(cy.isnan(A), NDArray[np.bool_])
assert_type(halved(A), Matrix)
assert_type(Scaling().scaled(A), Matrix)
program = matmul.compile(A, B, schedule=cy.Schedule().space("i", "j"))
assert_type(program, cy.Program)
assert_type(program.recurrences, cy.Recurrences)
assert_type(matmul.graph(A, B), cy.Graph)
result = cy.run(program, backend="sim")
assert_type(result, cy.Result)
assert_type(result.cycles, int)
assert_type(cy.sweep(program, link_latency=[1, 2]), cy.Sweep)

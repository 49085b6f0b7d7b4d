"""Kernels of these tests."""

import numpy as np

import cyclotron as cy

FACTOR = 3.0
TABLE = np.array([1.0, 2.0])


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def scaled(x):
    return FACTOR * x


@cy.kernel
def twice_scaled(x, power):
    return scaled(x) * power + TABLE[0]

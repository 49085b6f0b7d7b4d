"""A subscript that is not affine."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(2):
        for j in range(2):
            X[i + 2 * j] = A[i * j]  # error: CYC103
    return X


ARGUMENTS = (np.ones(4),)

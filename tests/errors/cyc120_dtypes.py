"""Complex values in an array of real ones."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A, B):
    X = cy.empty_like(A)
    for i in range(4):
        X[i] = A[i] + B[i]  # error: CYC120
    return X


ARGUMENTS = (np.ones(4), np.ones(4, dtype=complex))

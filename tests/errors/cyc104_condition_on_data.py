"""A condition on data."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        if A[i] > 0:  # error: CYC104
            X[i] = A[i]
    return X


ARGUMENTS = (np.ones(4),)

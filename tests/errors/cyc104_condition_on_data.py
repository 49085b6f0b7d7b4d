"""A condition on data."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        X[i] = max(A[k] for k in range(4) if A[k] > A[i])  # error: CYC104
    return X


ARGUMENTS = (np.ones(4),)

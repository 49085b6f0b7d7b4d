"""A loop that is not over a range."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in [0, 1, 2, 3]:  # error: CYC102
        X[i] = A[i]
    return X


ARGUMENTS = (np.ones(4),)

"""A loop as long as data say."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(A[0]):  # error: CYC102
        X[i] = A[i]
    return X


ARGUMENTS = (np.ones(4),)

"""A step other than 1 and -1."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(0, 4, 2):  # error: CYC102
        X[i] = A[i]
    return X


ARGUMENTS = (np.ones(4),)

"""A tensor that the compiler cannot see."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = np.empty(4)  # error: CYC115
    for i in range(4):
        X[i] = A[i]
    return X


ARGUMENTS = (np.ones(4),)

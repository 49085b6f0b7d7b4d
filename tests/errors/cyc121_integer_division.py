"""A true division of integers."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        X[i] = A[i] / A[0]  # error: CYC121
    return X


ARGUMENTS = (np.arange(1, 5),)

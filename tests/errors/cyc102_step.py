"""A step that is not constant."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        X[i] = sum(A[k] for k in range(0, 4, i))  # error: CYC102
    return X


ARGUMENTS = (np.ones(4),)

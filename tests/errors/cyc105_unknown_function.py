"""A function that is no operator on elements."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        X[i] = np.spacing(A[i])  # error: CYC105
    return X


ARGUMENTS = (np.ones(4),)

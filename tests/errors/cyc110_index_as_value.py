"""An index used as a value."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        X[i] = A[i] * i  # error: CYC110
    return X


ARGUMENTS = (np.ones(4),)

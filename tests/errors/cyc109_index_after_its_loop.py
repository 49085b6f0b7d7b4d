"""An index used outside its loop."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(3):
        X[i] = A[i]
    X[3] = A[i]  # error: CYC109
    return X


ARGUMENTS = (np.ones(4),)

"""An assignment to an input."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        A[i] = 0  # error: CYC106
        X[i] = A[i]
    return X


ARGUMENTS = (cy.blocked(np.ones(8), (2,)),)

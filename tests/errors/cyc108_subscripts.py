"""A wrong number of subscripts."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        X[i] = A[i, 0]  # error: CYC108
    return X


ARGUMENTS = (np.ones(4),)

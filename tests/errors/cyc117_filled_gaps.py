"""A fill of elements between strides."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.zeros((8,))
    for i in range(4):
        X[2 * i] = A[i]  # error: CYC117
    return X


ARGUMENTS = (cy.blocked(np.ones(8), (2,)),)

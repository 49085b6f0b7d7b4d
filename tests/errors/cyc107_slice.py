"""A whole-array statement."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    X[1:] = A[:-1]  # error: CYC107
    return X


ARGUMENTS = (np.ones(4),)

"""Values for the elements that a mask takes."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    X[...] = A
    X[A > 0.5] = A[:2]  # error: CYC107
    return X


ARGUMENTS = (np.ones(4),)

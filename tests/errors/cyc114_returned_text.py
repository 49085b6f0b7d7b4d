"""A return of what is no array and no number."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        X[i] = A[i]
    return "X"  # error: CYC114


ARGUMENTS = (np.ones(4),)

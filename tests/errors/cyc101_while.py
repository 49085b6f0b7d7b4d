"""A statement that is no recurrence."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    while True:  # error: CYC101
        X[0] = A[0]
    return X


ARGUMENTS = (np.ones(4),)

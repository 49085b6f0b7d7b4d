"""An argument that is no array."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A, B):  # error: CYC116
    X = cy.empty_like(A)
    for i in range(4):
        X[i] = A[i]
    return X


ARGUMENTS = (np.ones(4), {1, 2})

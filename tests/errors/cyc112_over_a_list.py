"""A sum whose second index runs over a list."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        X[i] = sum(A[k] * A[h] for k in range(4) for h in [0, 2])  # error: CYC112
    return X


ARGUMENTS = (np.ones(4),)

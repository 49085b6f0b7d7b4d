"""A variable that carries a value from one iteration to the next."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    s = 0
    for i in range(4):
        s = s + A[i]  # error: CYC111
        X[i] = s
    return X


ARGUMENTS = (np.ones(4),)

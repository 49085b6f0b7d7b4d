"""A name that carries a value from one iteration to the next, and holds no number before."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    s = None
    for i in range(4):  # error: CYC111
        X[i] = A[i] if s is None else s
        s = A[i]
    return X


ARGUMENTS = (np.ones(4),)

"""A number that carries a value from one iteration to the next, beside arrays of dtypes that Python lacks."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    s = 0.0
    for i in range(4):  # error: CYC111
        s = s + A[i]
        X[i] = s
    return X


ARGUMENTS = (np.ones(4, dtype="float32"),)

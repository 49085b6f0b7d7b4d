"""An index used as a number that Python knows."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    weights = [1.0, 2.0, 3.0, 4.0]
    for i in range(4):
        X[i] = A[i] * weights[i]  # error: CYC110
    return X


ARGUMENTS = (np.ones(4),)

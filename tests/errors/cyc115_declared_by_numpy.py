"""An array of tiles that NumPy makes."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = np.empty_like(A)  # error: CYC115
    for i in range(2):
        for j in range(2):
            X[i, j] = A[i, j]
    return X


ARGUMENTS = (cy.blocked(np.ones((4, 4)), (2, 2)),)

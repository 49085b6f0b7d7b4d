"""An operator that NumPy computes in a dtype which kernels do not have."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty(4, "float64")
    for i in range(4):
        X[i] = A[i] ** A[i]  # error: CYC121
    return X


ARGUMENTS = (np.ones(4, dtype=bool),)

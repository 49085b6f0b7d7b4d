"""An accumulation into a tensor that does not start at zero."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        for k in range(4):
            X[i] += A[k]  # error: CYC113
    return X


ARGUMENTS = (cy.blocked(np.ones(8), (2,)),)

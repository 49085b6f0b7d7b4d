"""A return of something else than computed tensors."""

import numpy as np

import cyclotron as cy


@cy.kernel
def bad(A):
    X = cy.empty_like(A)
    for i in range(4):
        X[i] = A[i]
    return 3  # error: CYC114


ARGUMENTS = (np.ones(4),)

"""Kernels of the tests of the controller and of the roles of PEs."""

import cyclotron as cy


@cy.kernel
def halved(x, least, steps):
    """Each element halves in every step, as long as their sum is large."""
    for _ in range(steps):
        x = x / 2
        if cy.sum(x) < least:
            break
    return x


@cy.kernel
def tree_total(A):
    """The sum of A, up a binary heap whose leaves are A: PEs between them only reduce."""
    n = A.shape[0]
    S = cy.empty((2 * n - 2,))
    total = cy.empty((1,))
    for p in range(2 * n - 2, -1, -1):
        if p >= n - 1:
            S[p - 1] = A[p - n + 1]
        elif p >= 1:
            S[p - 1] = S[2 * p] + S[2 * p + 1]
        else:
            total[p] = S[2 * p] + S[2 * p + 1]
    return total

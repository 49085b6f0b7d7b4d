"""Loop nests of tiles: what is no recurrence is refused, where elements that are scalars would do."""

import cyclotron as cy


@cy.kernel
def two_reduced_loops(A):
    X = cy.zeros(1)
    for i in range(4):
        for j in range(4):
            X[0] += A[i, j]  # error: CYC113
    return X


@cy.kernel
def no_first_value(A, x):
    X = cy.empty_like(x)
    for i in range(4):
        for k in range(4):
            X[i] += A[i, k]  # error: CYC113
    return X


@cy.kernel
def assigned_from_itself(x):
    X = cy.zeros_like(x)
    for i in range(len(x)):
        X[i] = X[i] + x[i]  # error: CYC113
    return X


@cy.kernel
def reads_its_own_term(A, x):
    X = cy.zeros_like(x)
    for i in range(len(x)):
        for k in range(len(x)):
            X[i] += A[i, k] * X[i]  # error: CYC113
    return X


@cy.kernel
def read_while_accumulated(A, x):
    X = cy.zeros_like(x)
    Y = cy.empty_like(A)
    for i in range(4):
        for k in range(4):
            X[i] += A[i, k]
            Y[i, k] = X[i]  # error: CYC113
    return X, Y


@cy.kernel
def read_before_assigned(x):
    X = cy.zeros_like(x)
    Y = cy.empty_like(x)
    for i in range(len(x)):
        Y[i] = X[i]  # error: CYC113
        X[i] = x[i]
    return X, Y


@cy.kernel
def reads_ahead(x):
    n = len(x)
    X = cy.zeros(n + 1)
    for i in range(n):
        X[i] = X[i + 1] + x[i]  # error: CYC113
    return X


@cy.kernel
def difficult_range(x):
    X = cy.zeros(8)
    for k in range(4):
        for i in range(2 * k, 8):
            X[i] += x[k]  # error: CYC113
    return X


ARGUMENTS = {"A": cy.spec((8, 8), tile=(2, 2)), "x": cy.spec((8,), tile=(2,))}

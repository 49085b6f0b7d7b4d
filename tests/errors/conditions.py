"""Branches that cannot be recorded: on data, since both are, and on indices with too many cases."""

import numpy as np

import cyclotron as cy


@cy.kernel
def returned(x):
    y = x + 1
    if x[0] > 4:
        return y  # error: CYC101
    return y - 1


@cy.kernel
def raised(x):
    if cy.sum(x) > 4:
        raise ValueError("too large")  # error: CYC104
    return x + 1


@cy.kernel
def host_code(x):
    y = x + 1
    if cy.sum(x) > 4:
        with cy.host():
            print("large")  # error: CYC104
    return y


@cy.kernel
def of_several(x):
    y = x + 1
    if x > 0 and y > 0:  # error: CYC104
        y = y * 2
    return y


@cy.kernel
def of_several_in_an_expression(x):
    return x if x > 0 else -x  # error: CYC104


@cy.kernel
def of_tiles(T):
    X = cy.empty_like(T)
    for i in range(2):
        for j in range(2):
            if T[i, j] > 0:  # error: CYC104
                X[i, j] = T[i, j]
    return X


@cy.kernel
def in_one_branch(x):
    if x[0] > 0:
        y = x + 1
    return y  # error: CYC111


@cy.kernel
def other_shapes(x):
    if x[0] > 0:  # error: CYC122
        y = x + 1
    else:
        y = x[1:] + 1
    return y


@cy.kernel
def other_dtypes(x):
    y = x + 1
    if x[0] > 0:  # error: CYC120
        y = x > 1
    return y


@cy.kernel
def other_dtypes_of_a_number(x):
    n = cy.sum(x > 0)
    if x[0] > 0:  # error: CYC120
        n = 0.5
    return x * n


@cy.kernel
def host_values(x):
    mode = "wrap"
    if x[0] > 0:  # error: CYC104
        mode = "edge"
    return cy.pad(x, 1, mode=mode)


@cy.kernel
def two_names(x):
    y = x + 1
    z = x + 2
    if x[0] > 0:
        y = z
    y[0] = 9  # error: CYC111
    return y, z


@cy.kernel
def two_names_in_a_loop(x):
    z = x + 2
    for t in range(3):
        w = z if x[0] > 0 else x + 1
        w[0] = 9  # error: CYC111
        x = x + z
    return x


@cy.kernel
def two_copies(x):
    v = x * 2
    a, b = x + 1, x + 2
    if x[0] > 0:
        a = v
    if x[1] > 0:
        b = v
    a[0] = 9  # error: CYC111
    return a + b


@cy.kernel
def many_cases(A):
    X = cy.empty_like(A)
    for i in range(4):
        for j in range(4):
            if (i % 3 == 0 and j % 3 == 0) or (i % 5 == 1 and j % 5 == 1) or (i % 7 == 2 and j % 7 == 2):
                X[i, j] = A[i, j]
            else:
                X[i, j] = 0  # error: CYC104
    return X


ARGUMENTS = {"T": cy.blocked(np.ones((4, 4)), (2, 2))}

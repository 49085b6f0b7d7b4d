"""Local variables that carry values, and accumulations that are no reductions."""

import cyclotron as cy


@cy.kernel
def carried(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        if i > 0:
            total = total + x[i]  # error: CYC111
        total = x[i]
        X[i] = total
    return X


@cy.kernel
def type_changes_again(x):
    X = cy.empty_like(x)
    first, second = 0, x[0]
    for _ in range(9):
        first, second = second, first  # error: CYC120
    X[0] = first
    X[1:] = second
    return X


@cy.kernel
def last_value(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        for j in range(i):
            value = x[j]
            X[i] = value
    X[0] = value  # error: CYC111
    return X


@cy.kernel
def assigned_in_branch(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        if i > 0:
            value = x[i - 1]
        X[i] = value  # error: CYC111
    return X

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
    first, second = 0, 0
    for i in range(len(x)):
        X[i] = first
        first = second
        second = x[i]  # error: CYC120
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

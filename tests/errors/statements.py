"""Statements that are no recurrences."""

import cyclotron as cy


@cy.kernel
def try_block(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        try:
            X[i] = x[i]  # error: CYC101
        finally:
            pass
    return X


@cy.kernel  # noqa: RET503
def return_inside(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = x[i]
        return X  # error: CYC101


@cy.kernel
def nested_function(x):
    X = cy.empty_like(x)

    def double(value):  # error: CYC101
        value *= 2
        return value

    for i in range(len(x)):
        X[i] = double(x[i])
    return X


@cy.kernel
def unknown_with(x):
    X = cy.empty_like(x)
    with open("log"):  # error: CYC101
        for i in range(len(x)):
            X[i] = x[i]
    return X


@cy.kernel
def print_in_loop(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = x[i]
        print(X[i])  # error: CYC101
    return X


@cy.kernel
def walrus(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = (v := x[i]) + v  # error: CYC101
    return X


@cy.kernel
def loop_else(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = x[i]
    else:
        print(X)  # error: CYC101
    return X


@cy.kernel
def deletes(x):
    X = cy.empty_like(x)
    del x  # error: CYC101
    return X


@cy.kernel
def generator(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = yield x[i]  # error: CYC101
    return X

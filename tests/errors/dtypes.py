"""Dtypes and shapes that do not fit; and hand-written programs in a wrong form."""

import cyclotron as cy
from cyclotron import il

ARGUMENTS = {
    "n": cy.spec((4,), "int64"),
    "h": cy.spec((4,), "float16"),
    "T": cy.spec((4, 4), tile=(2, 2)),
    "s": cy.spec((4,), "float32"),
}


@cy.kernel
def mixed_inputs(x, n):  # error: CYC120
    X = cy.empty_like(x)
    for i in range(4):
        X[i] = x[i] + n[i]
    return X


@cy.kernel
def unsupported_dtype(h):  # error: CYC120
    X = cy.empty_like(h)
    for i in range(4):
        X[i] = h[i]
    return X


@cy.kernel
def declared_other(s):
    X = cy.empty(4, "float64")  # error: CYC120
    for i in range(4):
        X[i] = s[i]
    return X


@cy.kernel
def fraction_of_integers(n):
    X = cy.empty_like(n)
    for i in range(4):
        X[i] = 0.5 * n[i]  # error: CYC120
    return X


@cy.kernel
def complex_constant(x):
    X = cy.empty_like(x)
    for i in range(4):
        X[i] = 1j * x[i]  # error: CYC120
    return X


@cy.kernel
def divided_integers(n):
    X = cy.empty_like(n)
    for i in range(4):
        X[i] = n[i] / 2  # error: CYC121
    return X


@cy.kernel
def unknown_tile(T):
    X = cy.empty((T.shape[0] + 1, T.shape[1]))  # error: CYC122
    X[0, 0] = T[0, 0]
    return X


@il.program
def otherwise_alone(x):
    X = il.empty_like(x)
    with il.loop("i", 4) as i, il.otherwise():  # error: CYC118
        X[i] = x[i]
    return il.outputs(X=X)

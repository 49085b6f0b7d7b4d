"""Dtypes and shapes that do not fit; and hand-written programs in a wrong form."""

import cyclotron as cy
from cyclotron import il

ARGUMENTS = {
    "n": cy.spec((4,), "int64"),
    "h": cy.spec((4,), "datetime64[s]"),
    "T": cy.spec((4, 4), tile=(2, 2)),
    "s": cy.spec((4,), "float32"),
}


@cy.kernel
def unsupported_dtype(h):  # error: CYC120
    X = cy.empty_like(h)
    for i in range(4):
        X[i] = h[i]
    return X


@cy.kernel
def choice_by_number(x):
    X = cy.empty_like(x)
    for i in range(4):
        X[i] = cy.where(x[i], 1, 2)  # error: CYC120
    return X


@cy.kernel
def bits_of_floats(x):
    X = cy.empty_like(x)
    for i in range(4):
        X[i] = x[i] & x[i]  # error: CYC121
    return X


@cy.kernel
def converted_to_times(x):
    X = cy.empty_like(x)
    for i in range(4):
        X[i] = x[i].astype("datetime64[s]")  # error: CYC120
    return X


@cy.kernel
def complex_constant(x):
    X = cy.empty_like(x)
    for i in range(4):
        X[i] = 1j * x[i]  # error: CYC120
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

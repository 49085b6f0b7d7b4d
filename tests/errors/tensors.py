"""Tensors used as something else than elements of declared results."""

import numpy as np

import cyclotron as cy


@cy.kernel
def input_assigned(tiles):
    for i in range(len(tiles)):
        tiles[i] = 2 * tiles[i]  # error: CYC106
    return tiles


@cy.kernel
def sliced_tiles(tiles):
    X = cy.empty_like(tiles)
    X[1:] = tiles[:-1]  # error: CYC107
    return X


@cy.kernel
def whole_product(A, B):
    X = cy.empty_like(A)
    X[0, 0] = A @ B  # error: CYC122
    return X


@cy.kernel
def whole_method(A):
    X = cy.empty_like(A)
    X[...] = A.partition(2, axis=0)  # error: CYC105
    return X


@cy.kernel
def whole_value(A):
    X = cy.empty_like(A)
    for i in range(4):
        for j in range(4):
            X[i, j] = cy.exp(A)  # error: CYC122
    return X


@cy.kernel
def too_many_subscripts(A):
    X = cy.empty_like(A)
    for i in range(4):
        X[i, i] = A[i, i, 0]  # error: CYC108
    return X


@cy.kernel
def chained_subscripts(A):
    X = cy.empty_like(A)
    for i in range(4):
        for j in range(4):
            X[i, j] = A[i, j][0]  # error: CYC108
    return X


@cy.kernel
def numpy_array_of_tiles(tiles):
    X = np.zeros(tiles.shape)  # error: CYC115
    for i in range(len(tiles)):
        X[i] = tiles[i]
    return X


@cy.kernel
def numpy_array_with_options(x):
    X = np.empty_like(x, shape=2)  # error: CYC115
    X[0] = x[0]
    return X


@cy.kernel
def tiles_declared_in_loop(tiles):
    X = cy.empty_like(tiles)
    for i in range(len(tiles)):
        T = cy.empty_like(tiles)  # error: CYC115
        T[0] = tiles[i]
        X[i] = T[0]
    return X


@cy.kernel
def returns_nothing(x):
    X = cy.empty_like(x)
    for i in range(len(x)):  # error: CYC114
        X[i] = x[i]


@cy.kernel
def any_arguments(*arrays):  # error: CYC116
    X = cy.empty_like(arrays[0])
    X[0] = arrays[0][0]
    return X


ARGUMENTS = {"tiles": cy.spec((8,), tile=(2,))}

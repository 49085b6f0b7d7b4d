"""Expressions that have no meaning for elements."""

import math

import numpy as np

import cyclotron as cy


@cy.kernel
def lists_of_indices(x):
    X = cy.zeros_like(x)
    for i in range(len(x)):
        if [i] == [3]:  # error: CYC104
            X[i] = x[i]
    return X


@cy.kernel
def unknown_ufunc(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = np.spacing(x[i])  # error: CYC105
    return X


@cy.kernel
def unknown_math(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = math.gamma(x[i])  # error: CYC105
    return X


@cy.kernel
def unknown_method(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = x[i].round()  # error: CYC105
    return X


@cy.kernel
def text_value(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = "zero"  # error: CYC105
    return X


@cy.kernel
def wrong_side(A):
    X = cy.empty_like(A)
    for i in range(4):
        for j in range(4):
            X[i, j] = cy.linalg.solve_triangular(A[i, i], A[i, j], side="above")  # error: CYC105
    return X


@cy.kernel
def second_clause_over_list(A):
    X = cy.empty((1,))
    X[0] = sum(A[k, l] for k in range(4) for l in [0, 2])  # error: CYC112
    return X


@cy.kernel
def maximum_of_even_or_one(x):
    X = cy.empty((1,))
    X[0] = sum(max(x[k] for k in range(4) if k % 2 == 0 or k == i) for i in range(4))  # error: CYC112
    return X


@cy.kernel
def maximum_over_two_triangles(A):
    X = cy.empty((4,))
    for i in range(4):
        X[i] = max(A[k, l] for k in range(4) for l in range(4) if 2 * l <= k)  # error: CYC112
    return X


@cy.kernel
def all_of_numbers(A):
    X = cy.empty((4,))
    for i in range(4):
        X[i] = all(A[i, k] for k in range(4))  # error: CYC121
    return X


@cy.kernel
def reduction_over_list(A, x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = sum(A[i, k] for k in sorted(range(i)))  # error: CYC112
    return X


@cy.kernel
def maximum_with_default(A, x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = max((A[i, k] for k in range(i)), default=0)  # error: CYC112
    return X


@cy.kernel
def list_in_loop(A, x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = cy.sqrt([A[i, k] for k in range(i)])  # error: CYC112
    return X


@cy.kernel
def conditional_in_reduction(T):
    X = cy.empty_like(T)
    n = T.shape[0]
    for i in range(n):
        for j in range(n):
            X[i, j] = sum(T[i, k] if k < i else 2 if k == j else T[k, j] for k in range(n))  # error: CYC112
    return X


ARGUMENTS = {"T": cy.spec((4, 4), tile=2)}

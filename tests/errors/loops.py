"""Loops and indices that are not affine domains."""

import numpy as np

import cyclotron as cy


@cy.kernel
def over_array(x):
    X = cy.zeros_like(x)
    for i, *values in enumerate(x):  # error: CYC102
        X[i] = values[0]
    return X


@cy.kernel
def over_pairs(A):
    X = cy.empty_like(A)
    for i, j in np.ndindex(40, 40):  # error: CYC102
        X[i // 10, j // 10] = A[0, 0]
    return X


@cy.kernel
def step_of_zero(x):
    X = cy.zeros_like(x)
    for i in range(0, len(x), 0):  # error: CYC102
        X[i] = x[i]
    return X


@cy.kernel
def two_starts_and_a_step(A):
    X = cy.zeros_like(A)
    for i in range(4):
        for j in range(max(i, 2), 4, 2):  # error: CYC102
            X[i, j] = A[i, j]
    return X


@cy.kernel
def bound_from_data(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = sum(x[k] for k in range(x[i]))  # error: CYC102
    return X


@cy.kernel
def bound_of_two(x):
    X = cy.zeros_like(x)
    for i in range(3):
        for j in range(max(i, 2)):  # error: CYC102
            X[i] += x[j]
    return X


@cy.kernel
def product_index(A):
    X = cy.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            X[i, j] = A[i * j, 0]  # error: CYC103
    return X


@cy.kernel
def half_index(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = x[i + 0.5]  # error: CYC103
    return X


@cy.kernel
def gathered(x, y):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = x[y[i]]  # error: CYC120
    return X


@cy.kernel
def clamped(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = x[max(i - 1, 0)]  # error: CYC103
    return X


@cy.kernel
def chosen_index(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        j = i if i < 2 else 0  # error: CYC103
        X[i] = x[j]
    return X


@cy.kernel
def after_its_loop(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        X[i] = x[i]
    X[i] = x[0]  # error: CYC109
    return X


@cy.kernel
def index_twice(A):
    X = cy.empty_like(A)
    for i in range(A.shape[0]):
        for i in range(A.shape[1]):  # error: CYC109
            X[i, i] = A[i, i]
    return X


@cy.kernel
def index_assigned(x):
    X = cy.empty_like(x)
    for i in range(len(x)):
        i += 1  # error: CYC109
        X[i] = x[i]
    return X


@cy.kernel
def index_as_number(x):
    X = cy.empty_like(x)
    weights = [1.0, 2.0, 3.0, 4.0]
    for i in range(len(x)):
        X[i] = weights[i] * x[i]  # error: CYC110
    return X


@cy.kernel
def residue_by_an_index(x):
    X = cy.empty_like(x)
    for i in range(4):
        X[i] = x[i % (i + 1)]  # error: CYC103
    return X


@cy.kernel
def residue_chosen(x):
    X = cy.empty_like(x)
    for i in range(4):
        X[i] = x[i % 2 if i > 2 else 0]  # error: CYC103
    return X


@cy.kernel
def quotient_as_bound(x):
    X = cy.empty_like(x)
    for i in range(4):
        X[i] = sum(x[k] for k in range(i // 2))  # error: CYC103
    return X


WEIGHTS = tuple(range(200))


@cy.kernel
def nested_over_weights(A):
    X = cy.copy(A)
    for v in WEIGHTS:
        for w in WEIGHTS:  # error: CYC102
            X[0, 0] = v * w
    return X


@cy.kernel
def bound_after_its_loop(x):
    X = x.copy()
    for i in range(len(x)):
        X[i] = x[i]
    for j in range(i):  # error: CYC109
        X[j] = 2 * x[j]
    return X


@cy.kernel
def condition_after_its_loop(x):
    X = x.copy()
    for i in range(len(x)):
        X[i] = x[i]
    if i > 1:  # error: CYC109
        X[0] = 2 * x[0]
    return X

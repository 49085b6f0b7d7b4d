"""Whole-array statements that do not conform, or that the compiler does not have."""

import numpy as np

import cyclotron as cy


@cy.kernel
def shapes_differ(A, x):
    X = cy.empty_like(A)
    X[...] = A + x[:-1]  # error: CYC122
    return X


@cy.kernel
def assigned_to_fewer(x):
    X = cy.empty_like(x)
    X[1:-1] = x[1:]  # error: CYC122
    return X


@cy.kernel
def assigned_to_fewer_axes(A):
    X = cy.empty(4)
    X[...] = A  # error: CYC122
    return X


@cy.kernel
def inner_sizes(A, x):
    return A @ x[1:]  # error: CYC122


@cy.kernel
def without_axes(A):
    return A @ A[0, 0]  # error: CYC122


@cy.kernel
def no_such_axis(A):
    return cy.sum(A, axis=2)  # error: CYC122


@cy.kernel
def nothing_to_choose_from(x):
    return cy.max(x[2:2])  # error: CYC122


@cy.kernel
def rolled_along_nothing(A):
    return cy.roll(A, 1, axis=2)  # error: CYC122


@cy.kernel
def shifted_too_far(x):
    return cy.shift(x, 4, boundary="reflect")  # error: CYC122


@cy.kernel
def unknown_boundary(x):
    return cy.shift(x, 1, boundary="wrap")  # error: CYC122


@cy.kernel
def fancy_subscripts(x):
    X = cy.empty_like(x)
    X[...] = x[x > 0]  # error: CYC107
    return X


@cy.kernel
def bound_of_data(x):
    X = cy.zeros_like(x)
    X[0] = cy.mean(x[: x[0]])  # error: CYC107
    return X


@cy.kernel
def bound_outside(x):
    X = cy.zeros_like(x)
    for k in range(3):
        X[:-k] = x[k:]  # error: CYC107
    return X


@cy.kernel
def strided_bound(x):
    for k in range(20):  # error: CYC107
        x[k::2] = 0
    return x


@cy.kernel
def shape_of_an_index(x):
    X = cy.zeros_like(x)
    for k in range(4):
        y = cy.cumsum(x[k:])  # error: CYC107
        X[k:] += y
    return X


@cy.kernel
def array_of_the_host(x):
    X = cy.empty_like(x)
    X[...] = x + np.array([None] * 4)  # error: CYC120
    return X


@cy.kernel
def expression_assigned(x):
    X = cy.empty_like(x)
    (x + 1)[0] = 2  # error: CYC107
    X[...] = x
    return X


def stale(x):
    y = x + 1
    x[0] = 5
    return 2 * y


@cy.kernel
def changed_in_between(x):
    return stale(x)  # error: CYC107


@cy.kernel
def condition_on_an_array(x):
    if x > 0:  # error: CYC104
        x += 1
    return x


@cy.kernel
def converted_to_a_number(x):
    X = cy.empty_like(x)
    X[...] = float(x)  # error: CYC107
    return X


@cy.kernel
def iterated(x):
    X = cy.empty_like(x)
    X[...] = sum(x)  # error: CYC107
    return X


@cy.kernel
def unknown_function(x):
    return np.unwrap(x)  # error: CYC105


@cy.kernel
def unknown_method(x):
    return x.summ()  # error: CYC105


@cy.kernel
def retyped_in_place(counts):
    counts *= 0.5  # error: CYC120
    return counts


@cy.kernel
def imaginary_part_lost(z, x):
    x[...] = z  # error: CYC120
    return x


@cy.kernel
def undefined_operator(z):
    return cy.floor(z)  # error: CYC121


@cy.kernel
def undefined_maximum(z):
    return cy.max(z)  # error: CYC121


@cy.kernel
def reshaped_in_a_loop(x):
    for _t in range(2):
        x = 2 * x[1:]  # error: CYC122
    return x


@cy.kernel
def retyped_in_a_loop(x):
    for _t in range(2):
        x = x > 0  # error: CYC120
    return x


ARGUMENTS = {"counts": cy.spec(4, "int64"), "z": cy.spec(4, "complex128")}


@cy.kernel
def alias_carried(x):
    x[1] = 9
    y = x
    for _t in range(3):
        y[0] += 1  # error: CYC111
        y = y + 1
    return x, y


@cy.kernel
def alias_changed(A, x):
    r = x - A @ x
    p = r
    for _t in range(2):
        r -= A @ p  # error: CYC111
        p = r + p * 2
    return p


@cy.kernel
def part_summed(A):
    r = A[0]
    for i in range(2):
        r += A[i + 1]  # error: CYC113
    return A


@cy.kernel
def repeated_without_names(x):
    return repeated(x)


def repeated(u):
    for _k in range(14):
        u = u * u + u  # error: CYC107
    return u


@cy.kernel
def chosen_itself(x):
    for t in range(3):
        x = x + 1 if t > 0 else x  # error: CYC107
    return x


@cy.kernel
def chosen_shapes(x):
    for t in range(3):
        y = x + 1 if t > 0 else x[1:] * 2  # error: CYC122
        x = x + y[0]
    return x


@cy.kernel
def branch_of_another_dtype(x):
    for t in range(3):
        if t > 0:
            x = x * 2  # error: CYC120
        else:
            x = x > 1
    return x

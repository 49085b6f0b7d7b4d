"""Values of the host where the kernel takes arrays, and calls of NumPy's that Python itself refuses."""

import math

import cyclotron as cy

ARGUMENTS = (cy.spec((4,)), 3.0)


@cy.kernel
def subscripted(x, y):
    x = x + 1
    return x * y[0]  # error: CYC105


@cy.kernel
def unknown_option(x, y):
    return cy.roll(x, y, by=2)  # error: CYC105


@cy.kernel
def no_choices(x, y):
    return cy.where(x > y)  # error: CYC105


@cy.kernel
def no_such_dtype(x, y):
    return y * x.astype("half_precision")  # error: CYC120


@cy.kernel
def declared_with_no_such_dtype(x, y):
    z = cy.zeros_like(x, dtype="foo")  # error: CYC120
    return z + x * y


@cy.kernel
def calls_itself(x, y):
    return x * y + calls_itself(x, y)  # error: CYC116


@cy.kernel
def no_such_function(x, y):
    return x * cy.linalg.nonsense(x)  # error: CYC105


@cy.kernel
def by_recursion(x, y):
    return doubled(x, 3) + y


def doubled(x, n):
    return 2 * doubled(x, n - 1)  # error: CYC116


@cy.kernel
def after_the_last(x, y):
    return x * (0.5, 0.25)[2] + y  # error: CYC105


@cy.kernel
def no_such_key(x, y):
    weights = {"near": 0.5, "far": 0.25}
    return x * weights["middle"] + y  # error: CYC105


@cy.kernel
def no_such_name(x, y):
    return x * no_weight + y  # error: CYC105


@cy.kernel
def no_such_axis(x, y):
    return x * x.shape[1] + y  # error: CYC105


@cy.kernel
def root_of_a_negative(x, y):
    return x * math.sqrt(-1) + y  # error: CYC105

"""Loops that end early in a way that cannot be recorded."""

import numpy as np

import cyclotron as cy


@cy.kernel(max_steps=10)
def while_else(x):
    while cy.sum(x) < 9:
        x = x + 1
    else:
        x = x - 1  # error: CYC101
    return x


@cy.kernel
def while_below_a_text(x):
    while cy.sum(x) < "9":  # error: CYC105
        x = x + 1
    return x


@cy.kernel
def break_of_several(x):
    for t in range(9):
        x = x + 1
        if x > 4:  # error: CYC104
            break
    return x


@cy.kernel(max_steps=10)
def while_of_several(x):
    while x[:2] < 4:  # error: CYC104
        x = x + 1
    return x


@cy.kernel
def counted_by_the_host(x):
    count = 0
    for t in range(9):
        x = x + 1
        with cy.host():
            count += 1  # error: CYC111
        if count > 3:
            break
    return x


@cy.kernel
def tiles_until(T):
    X = cy.empty_like(T)
    for i in range(2):
        X[i, 0] = T[i, 0] + T[i, 1]
        if X[i, 0] > 4:  # error: CYC104
            break
    return X


@cy.kernel
def shape_until(x):
    for t in range(3):
        x = x[:-1]
        if x[0] > 4:  # error: CYC122
            break
    return x


@cy.kernel
def read_after_the_break(x):
    for t in range(9):
        x = x + 1
        if t % 2 == 1:
            largest = cy.max(x)
        if cy.max(x) > 4:
            break
    x[0] = largest  # error: CYC111
    return x


@cy.kernel
def over_a_number(x):
    y = cy.sum(x)
    for v in y:  # error: CYC102
        x = x + v
    return x


@cy.kernel
def over_values_until(x):
    for t in range(4):
        for w in (1.0, 2.0):
            x = x * w
            if t == 2:
                break  # error: CYC104
    return x


@cy.kernel
def over_values_until_data(x):
    for w in (1.0, 2.0):
        x = x * w
        if x[0] > 4:  # error: CYC104
            break
    return x


@cy.kernel
def broken_by_the_host(x):
    n = 0
    for t in range(4):
        x = x + 1
        with cy.host():
            n += 1
            if n > 2:
                break  # error: CYC104
    return x


@cy.kernel(max_steps=10)
def while_in_one_kernel(x):
    with cy.fuse():
        while cy.sum(x) < 9:  # error: CYC104
            x = x + 1
    return x


@cy.kernel
def two_blocks(x):
    with cy.fuse(), cy.fuse():  # error: CYC101
        x = x + 1
    return x


@cy.kernel
def break_in_one_kernel(x):
    for _ in range(9):
        with cy.fuse():
            x = x + 1
            if cy.sum(x) > 4:  # error: CYC104
                break
    return x


ARGUMENTS = {"T": cy.blocked(np.ones((4, 4)), (2, 2))}

"""Code of the host that Python runs again and again, and that a recording has once."""

import random
import time

import numpy as np

import cyclotron as cy

generator = np.random.default_rng(0)


class Counter:
    count = 0


counter = Counter()


@cy.kernel
def random_in_a_loop(x):
    for t in range(3):
        x = x * np.random.random()  # error: CYC105
    return x


@cy.kernel
def random_array(x):
    y = x + random.random()  # error: CYC105
    return y


@cy.kernel
def drawn_by_a_generator(x):
    for t in range(3):
        x = x + generator.normal(size=4)  # error: CYC105
    return x


@cy.kernel
def drawn_by_its_own_generator(x):
    with cy.host():
        own = np.random.default_rng(0)
    for t in range(3):
        x = x + own.random()  # error: CYC105
    return x


@cy.kernel
def drawn_by_the_host(x):
    for t in range(3):
        with cy.host():
            r = np.random.default_rng().random()  # error: CYC105
        x = x * r
    return x


@cy.kernel
def clock(x):
    y = x + time.time()  # error: CYC105
    return y


@cy.kernel
def carried_by_the_host(x):
    n = 0
    for t in range(3):
        with cy.host():
            n = 2 * n + 1  # error: CYC111
        x = x + n
    return x


@cy.kernel
def attribute_assigned(x):
    counter.count += 1  # error: CYC101
    y = x + counter.count
    return y


@cy.kernel
def unending_loop_of_the_host(x):
    count = 0
    with cy.host():
        while True:
            count += 1  # error: CYC102
    return x + count

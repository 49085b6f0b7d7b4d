"""Names and parameters that hold something else than they are declared as; shapes and places of data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import cyclotron as cy


@cy.kernel
def number_for_an_array(
    x: NDArray[np.float64],
    scale: NDArray[np.float64],  # error: CYC124
):
    y = scale * x
    return y


@cy.kernel
def array_for_a_number(
    x: np.ndarray,
    A: float,  # error: CYC124
):
    y = A * x
    return y


@cy.kernel
def other_dtype(
    x: NDArray[np.float32],  # error: CYC124
):
    y = x + 1
    return y


@cy.kernel
def retyped(x):
    total: float = cy.sum(x)
    y = x / total
    total = x - y  # error: CYC124
    return total


@cy.kernel
def grown(x):
    weight: int = 1
    weight += 0.5  # error: CYC124
    y = weight * x
    return y


@cy.kernel
def declared_as_integer(x):
    total: int = cy.sum(x)  # error: CYC124
    return total


@cy.kernel
def declared_twice(x):
    total: float = cy.sum(x)
    total: complex = cy.max(x)  # error: CYC124
    return total


@cy.kernel
def shape_of_data(x):
    y = cy.zeros((x[0], 2))  # error: CYC122
    return y


@cy.kernel
def half_a_size(x):
    y = cy.zeros(x.shape[0] / 2)  # error: CYC122
    return y


@cy.kernel
def as_many_as_data_say(x):
    y = cy.zeros(int(x[0]))  # error: CYC122
    return y


@cy.kernel
def places_of_data(A, x):
    y = np.digitize(x, A)  # error: CYC105
    return y


@cy.kernel
def subscripts_of_data(x, indices):
    y = x[indices]  # error: CYC120
    return y


ARGUMENTS = {"scale": 2.0}

"""Kernels that are methods: attributes that are arrays, and types that their classes declare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

WEIGHTS = np.array([0.5, -1.25, 3.0, 0.0625])
MATRIX = np.arange(20.0).reshape(5, 4)[::-1] - 7


@dataclass
class Layer:
    """A layer of a network: a weight, a bias and a scale."""

    w: Any
    b: Any
    scale: float = 2.0

    @cy.kernel
    def forward(self, x):
        return cy.maximum(self.w @ x + self.b, 0) * self.scale

    @cy.kernel
    def by_element(self, x):
        y = cy.empty(self.b.shape)
        for i in range(self.w.shape[0]):
            y[i] = sum(self.w[i, k] * x[k] for k in range(self.w.shape[1])) + self.b[i]
        return y


@dataclass
class Network:
    """Layers one after the other."""

    first: Layer
    second: Layer

    @cy.kernel
    def forward(self, x):
        h = self.first.forward(x)
        return self.second.forward(h) + self.second.b * h[0]


def test_attributes_of_objects() -> None:
    layer = Layer(MATRIX, np.arange(5.0))
    x = np.array([1.0, 0.5, -0.25, 2.0])
    expected = np.maximum(MATRIX @ x + layer.b, 0) * 2
    np.testing.assert_array_equal(layer.forward(x), expected)
    np.testing.assert_array_equal(layer.by_element(x), MATRIX @ x + layer.b)
    assert list(layer.forward.compile(x).constants) == ["w", "b"]
    second = Layer(np.ones((3, 5)) / 4, np.array([-2.0, 0, 1]))
    network = Network(layer, second)
    wanted = np.maximum(second.w @ expected + second.b, 0) * 2 + second.b * expected[0]
    np.testing.assert_array_equal(network.forward(x), wanted)
    program = network.forward.compile(x)
    assert list(program.constants) == ["w", "b", "w_2", "b_2"]
    cy.check(program, backends=("sim", "local"))
    layer.b = np.zeros(5)
    np.testing.assert_array_equal(layer.forward(x), np.maximum(MATRIX @ x, 0) * 2)
    np.testing.assert_array_equal(cy.run(program).output, wanted)


def test_declared_attributes_hold_their_type() -> None:
    @dataclass
    class Scaled:
        w: np.ndarray
        scale: float

        @cy.kernel
        def run(self, x):
            return self.w * x * self.scale

        @cy.kernel
        def other(self, x):
            return self.scale * x

    one = Scaled(WEIGHTS, 2)
    x = np.ones(4)
    np.testing.assert_array_equal(one.run(x), WEIGHTS * 2)
    one.scale = WEIGHTS
    with pytest.raises(cy.TraceError, match=r"`scale` of `Scaled` is declared as `float`.*\[CYC124\]"):
        one.run(x)
    one.scale, one.w = 0.5, 3.0
    with pytest.raises(cy.TraceError, match=r"`w` of `Scaled` is declared as `np.ndarray` and gets `3.0`"):
        one.run.compile(x)
    np.testing.assert_array_equal(one.other(x), x / 2)  # which does not read the other


def test_private_attributes_and_properties() -> None:
    class Filter:
        def __init__(self) -> None:
            self.__w = WEIGHTS

        @property
        def half(self) -> Any:
            return self.__w / 2

        @cy.kernel
        def run(self, x):
            y = self.__w * x
            for i in range(4):
                y[i] += self.half[i]
            return y

        @cy.kernel(max_steps=5)
        def until(self, x):
            while cy.max(x) < 2:
                x = x + abs(self.__w)
            return x

    x = np.array([1.0, 0.5, -1.0, 0.0])
    np.testing.assert_array_equal(Filter().run(x), WEIGHTS * x + WEIGHTS / 2)
    np.testing.assert_array_equal(Filter().until(x), Filter().until.reference(x))

"""Elementwise operators of the core's registry work on tiles, also where conditions choose among them."""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import _core
from cyclotron.language.values.nodes import Apply
from cyclotron.language.values.operators import OPERATORS
from cyclotron.language.values.source_span import here
from cyclotron.language.values.tiles import tile_shape

CORE = {operator.name: operator for operator in _core.operators()}
ELEMENTWISE = [name for name in OPERATORS if CORE[name].family == "elementwise"]
ON_FLOATS = [
    name
    for name in ELEMENTWISE
    if "f" in CORE[name].kinds and CORE[name].typing in ("same", "part") and CORE[name].arity <= 2
]
N = 4
BLOCKED = cy.blocked(np.arange(1.0, 1 + N * N).reshape(N, N) / 20, 2)


@pytest.mark.parametrize("op", ELEMENTWISE)
def test_the_shape_of_an_elementwise_operator_on_tiles_is_known(op: str) -> None:
    shapes: SimpleQueue[Any] = SimpleQueue()  # whose changes are not noticed

    def noted(tile: Any) -> Any:
        column = Apply("row_sum", [tile], here())
        for operands in ([tile], [column], [tile, column], [column, tile], [column, tile, tile]):
            if len(operands) == CORE[op].arity:
                shapes.put(tile_shape(Apply(op, operands, here())))
        return tile

    @cy.kernel
    def copied(A):
        X = cy.zeros_like(A)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                X[i, j] = noted(A[i, j])
        return X

    copied.recurrences(cy.spec((6, 9), tile=(2, 3)))
    found = [shapes.get() for _ in range(shapes.qsize())]
    assert found == {1: [(2, 3), (2, 1)], 2: [(2, 3)] * 2, 3: [(2, 3)]}[CORE[op].arity]


@pytest.mark.parametrize("op", ON_FLOATS)
def test_a_reduction_whose_terms_conditions_choose_takes_elementwise_operators_of_tiles(op: str) -> None:
    function, arity = OPERATORS[op].numpy, CORE[op].arity

    @cy.kernel
    def chosen(A):
        X = cy.empty_like(A)
        n = A.shape[0]
        for i in range(n):
            for j in range(n):
                X[i, j] = sum(function(*[A[i, k]] * arity) if k < i else A[k, j] for k in range(n))
        return X

    np.testing.assert_allclose(chosen(BLOCKED), chosen.reference(BLOCKED), rtol=1e-12)

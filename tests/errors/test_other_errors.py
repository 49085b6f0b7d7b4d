"""Errors of the language that have no line in a kernel."""

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import _core


def test_a_kernel_without_source(golden_refusal):
    names = {}
    exec("def f(A):\n    return A\n", names)
    kernel = cy.kernel(names["f"])
    golden_refusal("no-source", cy.TraceError, "CYC100", lambda: kernel.recurrences(np.ones(3)))


def test_the_intermediate_language_outside_a_kernel():
    with pytest.raises(cy.TraceError) as caught, cy.il.loop("i", 0, 3):
        pass
    assert caught.value.code == "CYC118"


def test_a_dtype_that_is_not_supported():
    @cy.kernel
    def copy(A):
        X = cy.empty_like(A)
        for i in range(2):
            X[i] = A[i]
        return X

    with pytest.raises(cy.ShapeError) as caught:
        copy.recurrences(np.ones(2, dtype="datetime64[s]"))
    assert caught.value.code == "CYC120"
    with pytest.raises(cy.ShapeError) as caught:
        _core.System("copy").add_tensor("A", "int7", "input", [2], None, ("", 0, 0, 0, 0, 0))
    assert caught.value.code == "CYC207"


def test_a_tile_of_another_rank():
    with pytest.raises(cy.ShapeError) as caught:
        cy.blocked(np.ones((4, 4)), (2,))
    assert caught.value.code == "CYC122"

"""Blocked kernels are the scalar ones term by term, not only in numbers."""

import numpy as np
import pytest
from loading import kernel_of
from mutations import plain
from symbolic import Expanded, Expression, Symbols, symbols, unrolled
from texts import ALL, VARIANTS, arguments

import cyclotron as cy

MTTKRP = """
def kernel(X, B, C):
    Y = cy.empty((X.shape[0], B.shape[1]))
    for i in range(X.shape[0]):
        for r in range(B.shape[1]):
            Y[i, r] = sum(
                X[i, j, k] * B[j, r] * C[k, r] for j in range(X.shape[1]) for k in range(X.shape[2])
            )
    return Y
"""
CASES = [(name, n) for name in (*ALL, "mttkrp") for n in range(3 if name in VARIANTS else 1, 13)]


@pytest.mark.sampled(20)
@pytest.mark.parametrize(("name", "n"), CASES)
def test_blocked_kernels_are_the_scalar_ones_term_by_term(name, n):
    m = 7 * n % 12 + 1
    # Sums of factors are factored, and inverses are solved for from the other side.
    kind = Expanded if name in ("mttkrp", "trtri_by_columns") else Expression
    if name == "mttkrp":
        text, shapes = MTTKRP, [(m % 4 + 1, n, m), (n, m % 5 + 1), (m, m % 5 + 1)]
    else:
        text, shapes = ALL[name], [np.shape(given) for given in arguments(name, n, m)[0]]
    kernel = kernel_of(text)
    names = kernel.signature.parameters
    given = {of: symbols(of, shape, kind) for of, shape in zip(names, shapes, strict=True)}
    expected = plain(text, *given.values(), cy=Symbols)
    for tile in range(1, 6):
        program = kernel.compile(*map(cy.spec, shapes), schedule=cy.Schedule(), tile=tile)
        for result, wanted in zip(unrolled(program, given).values(), expected, strict=True):
            for place in np.ndindex(*wanted.shape):
                assert result[place] == wanted[place], f"tiles of {tile}, at {place}"


def test_expressions_are_told_apart():
    a, b, c = (Expression.symbol(name) for name in "abc")
    assert a * (b + c) / c == (c + b) / c * a
    assert a - (b - c) == c + a - b
    assert -(a - b) / c == (b - a) / c
    assert (a + b) / c * c == a + b
    assert (a - b).sqrt() == (-b + a).sqrt() != (b - a).sqrt()
    for other in (
        a + b,
        a * b,
        a / b,
        b / a,
        a - b,
        b - a,
        a + a,
        a.sqrt(),
        a + 1,
        2 * a,
        a * a,
        a / (a + b),
    ):
        assert sum(other == one for one in (a + b, a * b, a / b, b / a, a - b, b - a, a + a)) <= 1
        assert other != a
    x, y = Expanded.symbol("x"), Expanded.symbol("y")
    assert x * (x + y) == x * x + y * x
    assert x * (x + y) != x * x + y

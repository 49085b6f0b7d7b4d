"""Schedule trees (AS-012): the loop nest generated from a tree computes what the kernel does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]), dtype=A.dtype)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def cholesky(A):
    n = A.shape[0]
    L = cy.zeros_like(A)
    for j in range(n):
        L[j, j] = cy.sqrt(A[j, j] - sum(L[j, k] * L[j, k] for k in range(j)))
        for i in range(j + 1, n):
            L[i, j] = (A[i, j] - sum(L[i, k] * L[j, k] for k in range(j))) / L[j, j]
    return L


def python_of(code: str) -> str:
    """isl prints two spaces a level, so its C is nearly Python."""
    lines = []
    for line in code.splitlines():
        indent, text = re.match(r"( *)(.*)", line).groups()
        text = re.sub(r"^\} ", "", text).removesuffix(" {")
        text = text.replace("&&", "and").replace("||", "or")
        loop = re.fullmatch(r"for \(int (\w+) = (.*); \w+ (<=?) (.*); \w+ \+= (\d+)\)", text)
        if loop:
            name, first, relation, last, step = loop.groups()
            end = f"{last} + 1" if relation == "<=" else last
            text = f"for {name} in range({first}, {end}, {step}):"
        elif re.match(r"(else )?if |else$", text):
            text = text.replace("else if", "elif") + ":"
        elif text == "{":
            text = "if True:"
        elif text == "}":
            continue
        lines.append(indent + text)
    return "\n".join(lines)


def run(kernel: Any, arguments: list[Any], statements: dict[str, Callable[..., None]]) -> None:
    tree = kernel.recurrences(*arguments).schedule_tree
    exec(python_of(tree.code), {"min": min, "max": max, "floord": lambda a, b: a // b, **statements})


def test_matmul_is_one_permutable_band():
    tree = matmul.recurrences(cy.spec((3, 3)), cy.spec((3, 3))).schedule_tree
    assert tree.tree.startswith("domain:")
    assert "permutable: 1" in tree.tree
    assert "coincident: [ 1, 1, 0 ]" in tree.tree
    assert str(tree) == f"{tree.tree}\n{tree.code}"


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 4, 2), (2, 1, 5)])
def test_the_nest_of_matmul(shape):
    rng = np.random.default_rng(1)
    m, k, n = shape
    A, B = rng.integers(-9, 9, (m, k)), rng.integers(-9, 9, (k, n))
    C = np.full((m, n), 99)

    def start(i, j):
        C[i, j] = 0

    def accumulate(i, j, k):
        C[i, j] += A[i, k] * B[k, j]

    run(matmul, [A, B], {"S0": start, "S1": accumulate})
    assert np.array_equal(C, A @ B)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_nest_of_cholesky(n):
    rng = np.random.default_rng(n)
    factor = np.tril(rng.standard_normal((n, n))) + 4 * np.eye(n)
    A = factor @ factor.T
    L = np.full((n, n), np.nan)

    def set_to(i, j, value):
        L[i, j] = value

    bodies = {
        ("start", 1): lambda j: set_to(j, j, 0),
        ("accumulate", 2): lambda j, k: set_to(j, j, L[j, j] + L[j, k] ** 2),
        ("assign", 1): lambda j: set_to(j, j, np.sqrt(A[j, j] - L[j, j])),
        ("start", 2): lambda j, i: set_to(i, j, 0),
        ("accumulate", 3): lambda j, i, k: set_to(i, j, L[i, j] + L[i, k] * L[j, k]),
        ("assign", 2): lambda j, i: set_to(i, j, (A[i, j] - L[i, j]) / L[j, j]),
    }
    statements: dict[str, Callable[..., None]] = {}
    for statement in cholesky.recurrences(A).statements:
        upper = statement.kind == "assign" and not statement.reads
        body = bodies[statement.kind, len(statement.indices)]
        statements[statement.name] = (lambda i, j: set_to(i, j, 0)) if upper else body
    run(cholesky, [A], statements)
    np.testing.assert_allclose(L, np.linalg.cholesky(A), rtol=1e-12)

"""Sequence recurrences on one PE and on systolic lines: every backend is exact on integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dynamic_programming as kernels
import numpy as np
import pytest

import cyclotron as cy

ONE_PE = cy.Schedule()
SPACE = cy.Schedule().space


def alignment(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return rng.integers(0, 4, n), rng.integers(0, 4, m), np.array([-3, 3]), 2


def series(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return rng.integers(-9, 10, n), rng.integers(-9, 10, m)


def hidden_states(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return rng.integers(-9, 1, m), rng.integers(-9, 1, (m, m)), rng.integers(-9, 1, (n, m))


def queries(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    return tuple(rng.integers(-3, 4, (n, m)) for _ in range(3))


def states(rng: np.random.Generator, n: int, m: int) -> tuple[Any, ...]:
    shapes = (m,), (n, m), (n, m), (n,)
    return tuple(rng.integers(-2, 3, shape) for shape in shapes)


CASES = {
    "smith-waterman": (kernels.smith_waterman, alignment, ("i", "j")),
    "needleman-wunsch": (kernels.needleman_wunsch, alignment, ("i", "j", "ij")),
    "time-warping": (kernels.time_warping, series, ("i", "j", "ij")),
    "viterbi": (kernels.viterbi, hidden_states, ()),
    "linear-attention": (kernels.linear_attention, queries, ("t", "a", "c", "ac")),
    "state-space": (kernels.state_space, states, ("t", "s")),
}


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (6, 5)], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_every_backend_is_exact(name: str, shape: tuple[int, int]) -> None:
    kernel, make, spaces = CASES[name]
    arguments = make(np.random.default_rng(7), *shape)
    expected = kernel.reference(*arguments)
    for schedule in (ONE_PE, *(SPACE(*space) for space in spaces)):
        program = kernel.compile(*arguments, schedule=schedule)
        for backend in ("sim", "local"):
            result = cy.run(program, backend=backend)
            np.testing.assert_array_equal(result.output, expected, strict=True)


@pytest.mark.parametrize("name", ["smith-waterman", "needleman-wunsch", "time-warping"])
def test_an_alignment_is_a_wavefront(name: str) -> None:
    """A line of n PEs takes time that grows with n + m, one PE takes n m."""
    kernel, make, _ = CASES[name]
    cycles = {}
    for n in (8, 16):
        arguments = make(np.random.default_rng(7), n, n)
        for where, schedule in (("line", SPACE("i")), ("one", ONE_PE)):
            program = kernel.compile(*arguments, schedule=schedule)
            cycles[where, n] = cy.run(program, backend="sim").cycles
    assert cycles["line", 16] < 2.3 * cycles["line", 8]
    assert cycles["one", 16] > 3 * cycles["one", 8]


def plain_smith_waterman(a: np.ndarray, b: np.ndarray, match: np.ndarray, gap: int) -> np.ndarray:
    H = np.zeros((len(a) + 1, len(b) + 1), int)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            score = match[int(a[i - 1] == b[j - 1])]
            H[i, j] = max(0, H[i - 1, j - 1] + score, H[i - 1, j] - gap, H[i, j - 1] - gap)
    return H


def plain_viterbi(first: np.ndarray, step: np.ndarray, emission: np.ndarray) -> np.ndarray:
    scores = [first + emission[0]]
    for row in emission[1:]:
        scores.append((scores[-1][:, None] + step).max(0) + row)
    return np.array(scores)


def plain_linear_attention(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    return np.tril(Q @ K.T) @ V


@pytest.mark.parametrize(
    ("name", "oracle"),
    [
        ("smith-waterman", plain_smith_waterman),
        ("viterbi", plain_viterbi),
        ("linear-attention", plain_linear_attention),
    ],
)
def test_the_reference_is_what_the_name_says(name: str, oracle: Callable[..., np.ndarray]) -> None:
    kernel, make, _ = CASES[name]
    arguments = make(np.random.default_rng(3), 7, 6)
    np.testing.assert_array_equal(kernel.reference(*arguments), oracle(*arguments))

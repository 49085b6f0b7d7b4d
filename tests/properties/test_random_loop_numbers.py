"""Random kernels: indices beside NumPy's numbers; loops that bind names anew beside numbers that they carry.

The oracle is the same text, run by NumPy.
"""

from __future__ import annotations

import linecache
import random
import warnings
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

CHUNKS, PROGRAMS = 16, 25
_NUMPY = SimpleNamespace(zeros=np.zeros, abs=np.abs, max=np.max, sum=np.sum)


def _expression(rng: random.Random, depth: int) -> str:
    """A whole number of indices, data and NumPy's numbers a and b."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["i", "j", "a", "b", str(rng.randint(-3, 9)), "u[i]"])
    left, right = (_expression(rng, depth - 1) for _ in range(2))
    kind = rng.random()
    if kind < 0.6:
        return f"({left} {rng.choice('+-*')} {right})"
    if kind < 0.8:
        return f"({left} {rng.choice(['//', '%'])} {rng.choice(['2', '3', 'a', 'b', 'np.int64(2)'])})"
    if kind < 0.9:
        return f"({left} {rng.choice('&|^')} {right})"
    return f"(5 if {left} {rng.choice(['<', '>=', '=='])} {right} else 7)"


def index_numbers(rng: random.Random) -> tuple[str, list[Any]]:
    """A kernel of one expression, and its arguments."""
    text = f"""def kernel(u, a, b):
    y = cy.zeros((4, 3), dtype="int64")
    for i in range(4):
        for j in range(3):
            y[i, j] = {_expression(rng, 3)}
    return y
"""
    whole = ["int8", "int16", "int32", "int64", "uint8"]
    u = np.array([rng.randint(0, 100) for _ in range(4)]).astype(rng.choice(whole))
    numbers = []
    for _ in range(2):
        dtype = np.dtype(rng.choice(whole))
        numbers.append(dtype.type(rng.choice([1, 2, 5, 100, np.iinfo(dtype).max])))
    return text, [u, *numbers]


_OF_ARRAYS = (
    "u = u / 2", "u = u * 2 + v", "u = -u", "u = u + c", "v = v + u", "v = u - v", "u = cy.abs(u) + 1",
    "u = u.copy()", "v = u", "u = u // 2", "u = u[::-1] + 0.5", "v[...] = u", "u[:] = v + 1",
    "u[1:] = v[:-1]",
)  # fmt: skip
_OF_NUMBERS = (
    "c = u[0] * 1", "c = c + u[1]", "c += v[0]", "c = cy.max(u)", "s += u[1]", "s = s + c",
    "s = max(s, v[1])", "c = K * 0.5", "s = s * 0.5", "c = c + K", "s = cy.sum(v)", "c = s", "s += 1",
    "c = u[0] + s", "c = 0.5 * c",
)  # fmt: skip


def _block(rng: random.Random, depth: int, index: str, pad: str) -> list[str]:
    lines: list[str] = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < 0.5:
            lines.append(pad + rng.choice(_OF_ARRAYS if kind < 0.25 else _OF_NUMBERS).replace("K", index))
        elif kind < 0.6 and depth:
            test = rng.choice(["c > 0.5", "u[0] < 3", "s >= c", f"{index} > 1", "v[1] > u[0]"])
            lines += [f"{pad}if {test}:", *_block(rng, depth - 1, index, pad + "    ")]
        elif kind < 0.68 and depth:
            lines.append(pad + rng.choice(["if c > 20: break", "if u[0] < -50: break"]))
        elif kind < 0.8 and depth:
            inner = "k" if index != "k" else "j"
            lines.append(f"{pad}for {inner} in range({rng.randint(0, 3)}):")
            lines += _block(rng, depth - 1, inner, pad + "    ")
        else:
            lines.append(pad + rng.choice(["y[K] = c", "y[K] += s", "y[K] = u[0] + s"]).replace("K", index))
    return lines


def carried_numbers(rng: random.Random) -> tuple[str, list[Any]]:
    """A kernel of one loop and those in it, and its arguments."""
    c = rng.choice(["1", "1.0", "0", "0.5", "u[0]", "np.float32(1)", "True"])
    lines = ["def kernel(u, v):", "    y = cy.zeros((4,), dtype='float64')", f"    c = {c}"]
    lines.append(f"    s = {rng.choice(['0', '0.0', '1', 'u[1]', '2'])}")
    head = rng.choice(["for k in range(4):", "for k in range(3, -1, -1):", "for k in range(1):", "while"])
    if head == "while":
        lines += ["    t = 0", "    while c < 50 and t < 6:", *_block(rng, 2, "1", " " * 8), "        t += 1"]
    else:
        lines += [f"    {head}", *_block(rng, 2, "k", " " * 8)]
    lines.append(f"    return {rng.choice(['u, v, c, s, y', 'u, c', 'c, s, v, y', 'y, u'])}")
    dtype = rng.choice(["float64", "float64", "float32", "int64", "int8"])
    arrays = [np.array([rng.choice([8, 4, 2, -3, 1]) for _ in range(3)]).astype(dtype) for _ in range(2)]
    return "\n".join([*lines, ""]), arrays


def _as_numpy(text: str, arguments: Sequence[Any]) -> Any:
    names = {"np": np, "cy": _NUMPY}
    exec(text, names)
    kernel: Any = names["kernel"]
    return kernel(*(one.copy() for one in arguments))


def _compiled(text: str, name: str) -> Any:
    source = f"import numpy as np\nimport cyclotron as cy\n\n\n@cy.kernel\n{text}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {}
    exec(compile(source, name, "exec"), names)
    return names["kernel"]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize(("draw", "refused_at_most"), [(index_numbers, 0.1), (carried_numbers, 0.45)])
def test_as_numpy(draw, refused_at_most, chunk):
    rng = random.Random(f"{draw.__name__}/{chunk}")
    refused = compared = 0
    for number in range(PROGRAMS):
        text, arguments = draw(rng)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = _as_numpy(text, arguments)
            except (OverflowError, ZeroDivisionError, TypeError):  # numbers that do not fit; NumPy refuses it
                continue
            try:
                found = _compiled(text, f"<{draw.__name__} {chunk}/{number}>")(*arguments)
            except cy.InternalError:
                raise
            except cy.CyclotronError:
                refused += 1
                continue
        compared += 1
        wholes = (found, expected) if isinstance(expected, tuple) else ((found,), (expected,))
        for one, other in zip(*wholes, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, err_msg=f"{text}{arguments}")
    assert compared > PROGRAMS // 3
    assert refused <= refused_at_most * PROGRAMS + 2

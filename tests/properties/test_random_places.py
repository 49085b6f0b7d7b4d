"""Random loops that read and change arrays at places that data tell: as NumPy, or refused."""

import os
import random

import numpy as np
import pytest
import same_text
from same_text import indented

ARRAYS = ("u", "v", "y")
DTYPES = ("float64", "float32", "int64", "int32", "int8", "uint8", "uint16", "complex128", "bool")
SEEDS = 3 if os.environ.get("CYCLOTRON_QUICK") else 20


def place(draw: random.Random, size: int) -> str:
    """A subscript, mostly a place that data tell."""
    return draw.choice(["k", "k", "k", "m", "i", "0", "-1", str(size - 1), f"(k + 1) % {size}"])


def value(draw: random.Random, size: int) -> str:
    """A number: an element, a sum of an array, or one of Python's."""
    element = f"{draw.choice(ARRAYS)}[{place(draw, size)}]"
    return draw.choice([element] * 5 + [f"{draw.choice(ARRAYS)}.sum()", draw.choice(["1", "2", "3", "0.5"])])


def statement(draw: random.Random, size: int) -> str:
    """A statement that reads and changes arrays, or a number."""
    array, other = draw.choice(ARRAYS), draw.choice(ARRAYS)
    one, two = place(draw, size), place(draw, size)
    return draw.choice(
        [
            f"{array}[{one}] = {value(draw, size)}",
            f"{array}[{one}] = {value(draw, size)} + {value(draw, size)}",
            f"{array}[{one}] += {value(draw, size)}",
            f"{array}[{one}] -= {value(draw, size)}",
            f"{array}[{one}] *= {value(draw, size)}",
            f"{array} = {other} + {value(draw, size)}",
            f"{array}[:] = {array} * 2",
            f"s = s + {value(draw, size)}",
            f"{array}[{one}], {array}[{two}] = {array}[{two}], {array}[{one}]",
        ]
    )


def program(draw: random.Random, size: int, steps: int, dtype: str) -> str:
    """The text of a kernel of the arrays `u` and `v` and the places `n` and `q`."""
    body = ["k = n[i]", draw.choice(["m = q[k]", "m = q[i]"])]
    for _ in range(draw.randint(1, 4)):
        line = statement(draw, size)
        wrapped = [
            [line],
            [f"if {value(draw, size)} > 1:", f"    {line}"],
            ["for j in range(2):", f"    {line}"],
            ["k = q[k]", line],
        ]
        body += draw.choices(wrapped, [8, 1, 1, 1])[0]
    lines = [
        f"y = cy.zeros({size}, dtype='{dtype}')",
        "s = 0.0",
        f"for i in range({steps}):",
        *indented(body),
        "return u, v, y, s",
    ]
    return "\n".join(["def f(u, v, n, q):", *indented(lines), ""])


def numbers(draw: random.Random, size: int, dtype: str) -> np.ndarray:
    """Small numbers, or for narrow integers sometimes all that they can be."""
    low, high = (-128, 256) if dtype in ("int8", "uint8") and draw.random() < 0.5 else (-3, 4)
    return np.array([draw.randrange(low, high) for _ in range(size)]).astype(dtype)


def outcome(draw: random.Random, file: str, dtypes: tuple[str, ...]) -> str:
    """Compare a kernel with the same text in NumPy: "same", "refused" or "wraps"."""
    size = draw.choice([2, 3, 4, 7, 40])
    steps = draw.choice([1, 2, 3, 4, 6])
    text = program(draw, size, min(size, steps), draw.choice(dtypes))
    arrays = [numbers(draw, size, draw.choice(dtypes)) for _ in range(2)]
    low = draw.choice([0, -size])
    places = [np.array([draw.randrange(least, size) for _ in range(size)]) for least in (low, 0)]
    return same_text.outcome(text, file, [*arrays, *places], dtypes=True)


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("dtypes", [("float64",), DTYPES], ids=["float64", "mixed"])
def test_as_numpy_or_refused(seed, dtypes):
    draw = random.Random(f"places {seed} {dtypes}")
    outcomes = [outcome(draw, f"<places {seed} {number} {len(dtypes)}>", dtypes) for number in range(20)]
    assert outcomes.count("same") >= (19 if len(dtypes) == 1 else 5)

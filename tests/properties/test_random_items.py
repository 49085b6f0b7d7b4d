"""Random names for items of lists, tuples and dicts, rows and arrays without axes, in changes: as NumPy."""

import os
import random

import numpy as np
import pytest
import same_text
from same_text import indented

SEEDS = 4 if os.environ.get("CYCLOTRON_QUICK") else 20
WHOLE = [
    "u",
    "v",
    "A[0]",
    "A[1]",
    "[u, v][0]",
    "(u, v)[1]",
    "{'a': u}['a']",
    "pair(u)[0]",
    "same(u)",
    "A.T[0]",
]
ITEMS = [
    *WHOLE,
    "u * 1",
    "A[0] * 1",
    "[A[0], u][0]",
    "cy.stack([u, v])[1]",
    "A[0, ...]",
    "A[..., 1]",
    "u[...]",
    "cy.squeeze(A[1:2])",
    "u if u[0] > 0 else v",
    "list([u, v])[0]",
    "dict(a=v)['a']",
    "x",
    "y",
]
NUMBERS = ["u[0]", "u[0, ...]", "cy.squeeze(v[:1])", "u[:1].reshape(())", "A[0][1]", "cy.sum(u)", "1.0"]
HELPERS = ["def same(w):", "    return w", "def pair(w):", "    return [w, 1]"]


def operand(draw: random.Random, index: str) -> str:
    """An operand of a sum: mostly of the axes that items have."""
    return draw.choice(["1", "2", "u", "v", "x", "y", "u[0]", "A[1]", *([index] if index else [])])


def change(draw: random.Random, index: str) -> str:
    """An assignment: of names, in place or of elements."""
    name = draw.choice("xyxyz")
    kind = draw.random()
    if kind < 0.3:
        return f"{name} = {name} {draw.choice('+-')} {operand(draw, index)}"
    if kind < 0.55:
        return f"{name} {draw.choice('+-')}= {operand(draw, index)}"
    if kind < 0.65:
        return draw.choice(["x, y = y, x", f"x, y = {draw.choice(ITEMS)}, {draw.choice(ITEMS)}"])
    if kind < 0.8:
        return f"{name} = {draw.choice(ITEMS)}"
    changed = draw.choice(["u", "v", "A[0]", "A[1]", "x[1:]"])
    return draw.choice([f"{changed} += {operand(draw, index)}", "u[1] = v[0]", "v[0] = 5"])


def statements(draw: random.Random, index: str) -> list[str]:
    """A change, or one under a condition or in a loop."""
    kind = draw.random()
    if kind < 0.6:
        return [change(draw, index)]
    if kind < 0.8:
        test = draw.choice(["u[0] > 0", "u[1] < v[0]", *([f"{index} > 0"] if index else [])])
        other = ["else:", *indented([change(draw, index)])] if draw.random() < 0.4 else []
        return [f"if {test}:", *indented([change(draw, index)]), *other]
    if index:
        return [change(draw, index)]
    body = [line for _ in range(draw.choice([1, 1, 2])) for line in statements(draw, "t")]
    if draw.random() < 0.25:
        body = [line.replace(" t", " q") for line in body]
        return ["q = 0", "while q < 2:", *indented(["q += 1", *body])]
    end = ["if u[0] > 99:", "    break"] if draw.random() < 0.1 else []
    return [f"for t in range({draw.choice([2, 3])}):", *indented(body + end)]


def program(draw: random.Random) -> str:
    """The text of a kernel of two vectors and a matrix."""
    lines = [f"x = {draw.choice(WHOLE)}", f"y = {draw.choice(ITEMS[:-1])}", f"z = {draw.choice(NUMBERS)}"]
    for _ in range(draw.choice([1, 1, 2, 3])):
        lines += statements(draw, "")
    head = [*HELPERS, "def f(u, v, A):"]
    return "\n".join([*head, *indented([*lines, "return x, y, z, u + 0, v + 0, A + 0"]), ""])


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_items(seed: int) -> None:
    """A name for an item changes it in place, or is bound anew, as in Python."""
    draw = random.Random(f"items {seed}")
    found = []
    for number in range(12):
        arrays = [
            np.array([draw.randrange(-3, 9) for _ in range(n)], dtype="float64").reshape(shape)
            for n, shape in ((3, (3,)), (3, (3,)), (9, (3, 3)))
        ]
        found.append(same_text.outcome(program(draw), f"<items {seed}.{number}>", arrays))
    assert found.count("same") >= 4

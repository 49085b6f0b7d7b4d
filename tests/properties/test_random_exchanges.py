"""Random loops that end early and exchange elements and arrays: as Python, or refused; few run on."""

import os
import random

import numpy as np
import pytest
import same_text
from same_text import indented

SEEDS = 2 if os.environ.get("CYCLOTRON_QUICK") else 12


def subscript(draw: random.Random, index: str) -> str:
    """A place of an element, by the index, fixed or counted."""
    return draw.choice([index, index, f"{index} + 1", f"3 - {index}", f"{index} - 1", "0", "3", "m", "p"])


def condition(draw: random.Random, index: str) -> str:
    """A condition on elements or numbers."""
    place = draw.choice([index, "0", "m"])
    return draw.choice(
        [
            f"x[{place}] > {draw.randrange(5)}",
            f"x[{index}] < y[{index}]",
            f"q < {draw.randrange(2, 8)}",
            "m < p",
        ]
    )


def statement(draw: random.Random, index: str, names: list[str]) -> str:
    """A statement that moves elements within or between arrays, or counts."""
    one, other = draw.choice(names), draw.choice(names)
    here, there = subscript(draw, index), subscript(draw, index)
    swap = f"{one}[{here}], {one}[{there}] = {one}[{there}], {one}[{here}]"
    counter, number = draw.choice("mp"), draw.choice(["m", "p", "1", "2", "p - 1", "m + 1", "3 - m"])
    return draw.choice(
        [
            *3 * [swap],
            f"{one}[{here}] = {other}[{there}]",
            f"{one}[{here}] += {other}[{there}]",
            f"{one}, {other} = {other}, {one}",
            f"{one}[1:] = {other}[:-1]",
            f"{one}[:] = {other}",
            f"{one} = {other} * 1",
            f"{one} = cy.roll({other}, 1)",
            f"{counter} = {number}",
            "q += 1",
        ]
    )


def block(draw: random.Random, index: str, names: list[str], depth: int) -> list[str]:
    """One to three statements, conditions, inner loops or ends of these."""
    lines: list[str] = []
    for _ in range(draw.randrange(1, 4)):
        kind = draw.random()
        if kind < 0.35 and depth:
            lines += [f"if {condition(draw, index)}:", *indented(block(draw, index, names, depth - 1))]
        elif kind < 0.5 and depth and index == "0":
            steps = draw.choice(["range(1, 4)", "range(3, 0, -1)"])
            lines += [f"for j in {steps}:", *indented(block(draw, "j", names, depth - 1))]
        elif kind < 0.58 and index == "j":
            lines += [f"if {condition(draw, index)}:", "    break"]
        else:
            lines.append(statement(draw, index, names))
    return lines


def program(draw: random.Random) -> str:
    """The text of a kernel of five floats."""
    names = draw.choice([["x", "y"], ["x", "y"], ["x", "y", "z"]])
    lines = ["m = 1", "p = 2", "q = 0", "n = 0", "x = u * 1", "y = u + 1", "z = u * 2", "w = u * 0"]
    test = draw.choice(["n < 6", "q < 4 and n < 7", "x[0] < 9 and n < 7", "go"])
    lines += ["go = True"] if test == "go" else []
    body = ["n += 1", *draw.choice([[], [], ["w = x * 1"], ["w[1:] = y[1:]"]]), *block(draw, "0", names, 2)]
    body += draw.choice([[], [f"if {condition(draw, '0')}:", "    break"]])
    if test == "go":
        body.append(f"go = {draw.choice(['n < 3', 'x[0] < 5 and n < 6', 'q < 3 and n < 5'])}")
    lines += [f"while {test}:", *indented(body), "return x, y, z, w, m + 0, p + 0, q + 0, n + 0"]
    return "\n".join(["def f(u):", *indented(lines), ""])


def outcome(draw: random.Random, file: str) -> str:
    """Compare a kernel with the same text in NumPy."""
    return same_text.outcome(program(draw), file, [np.array([draw.randrange(-2, 6) for _ in range(5)]) * 1.0])


@pytest.mark.parametrize("seed", range(SEEDS))
def test_as_python_or_refused(seed):
    draw = random.Random(f"exchanges {seed}")
    outcomes = [outcome(draw, f"<exchanges {seed} {number}>") for number in range(25)]
    assert outcomes.count("same") >= 20
    assert outcomes.count("runs on") <= 4

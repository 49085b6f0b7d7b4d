"""Random loops that count and add under conditions, which read what they count: as Python, or refused."""

import os
import random

import numpy as np
import pytest
import same_text
from same_text import indented

SEEDS = 4 if os.environ.get("CYCLOTRON_QUICK") else 24


def number(draw: random.Random, index: str) -> str:
    """A number that is carried, counted or an element."""
    return draw.choice(["i", "t", "s", "1", "2", index, f"u[{index}]", "u[0]", "n[1]"])


def condition(draw: random.Random, index: str) -> str:
    """A condition, mostly on what the loop changes; one that guards a place."""
    one = f"{draw.choice(['i', 's', 't', index])} {draw.choice(['<', '>', '<=', '!='])} {draw.randrange(6)}"
    two = f"{number(draw, index)} {draw.choice(['<', '>='])} {number(draw, index)}"
    place = draw.choice(["i", "t"])
    guarded = f"0 <= {place} < 4 and u[{place}] {draw.choice(['<', '>'])} {draw.randrange(4)}"
    return draw.choice([one, one, one, two, f"{one} and {two}", f"{two} or {one}", f"not {one}", guarded])


def statement(draw: random.Random, index: str) -> str:
    """A statement that changes a number or an element."""
    whole, value = draw.choice(["i", "t"]), draw.choice(["1", "2", "n[0]", index])
    return draw.choice(
        [
            f"{whole} += {value}",
            f"{whole} += {value}",
            f"{whole} -= {value}",
            f"{whole} = {whole} + {value}",
            f"{whole} = {value}",
            f"s += {number(draw, index)}",
            f"s += {number(draw, index)}",
            f"s -= {number(draw, index)}",
            f"s = s + {number(draw, index)}",
            f"s = max(s, {number(draw, index)})",
            "s *= 0.5",
            "i, t = t, i",
            f"y[{index}] = {number(draw, index)}",
            f"y[{index}] += s",
            f"s += u[i] if 0 <= i < 4 else {number(draw, index)}",
        ]
    )


def block(draw: random.Random, index: str, depth: int) -> list[str]:
    """One to three statements, conditions, ends of iterations or inner loops."""
    lines: list[str] = []
    for _ in range(draw.choice([1, 1, 2, 3])):
        kind = draw.random()
        if kind < 0.4 and depth:
            lines += [f"if {condition(draw, index)}:", *indented(block(draw, index, depth - 1))]
            for head in draw.choice([[], [], ["else:"], [f"elif {condition(draw, index)}:"]]):
                lines += [head, *indented(block(draw, index, depth - 1))]
        elif kind < 0.48:
            lines += [f"if {condition(draw, index)}:", f"    {draw.choice(['continue', 'break'])}"]
        elif kind < 0.56 and depth and index == "k":
            lines += loop(draw, "j", draw.choice(["2", "3", "k"]), block(draw, "j", 1))
        else:
            lines.append(statement(draw, index))
    return lines


def loop(draw: random.Random, index: str, stop: str, body: list[str]) -> list[str]:
    """A loop over indices from 0, or one that counts them itself and may end early."""
    if draw.random() < 0.7:
        return [f"for {index} in range({stop}):", *indented(body)]
    test = draw.choice(["", f" and {draw.choice(['i', 's', 't'])} < {draw.randrange(2, 9)}"])
    return [
        f"{index} = -1",
        f"while {index} < {stop} - 1{test}:",
        *indented([f"{index} += 1", *body]),
    ]


def program(draw: random.Random) -> str:
    """The text of a kernel of four floats and two whole numbers."""
    first = draw.choice(["i = 0", "i = 1"])
    body = block(draw, "k", 2)
    if draw.random() < 0.25:  # nothing else, as a sum of terms that a test leaves out
        changed = draw.choice(["s", "i"])
        one = f"{changed} {draw.choice(['+=', '-='])} {draw.choice(['1', '2', 'n[0]'])}"
        body = [f"if {changed} {draw.choice('<>')} {draw.randrange(-1, 4)}:", f"    {one}"]
    lines = [first, "t = 0", "s = 0.0", "y = cy.zeros(4, dtype='float64')"]
    lines += loop(draw, "k", "4", body)
    if draw.random() < 0.2:
        lines += [f"if {condition(draw, '3')}:", "    s += 1"]
    return "\n".join(["def f(u, n):", *indented([*lines, "return i + 0, t + 0, s, y"]), ""])


def outcome(draw: random.Random, file: str) -> str:
    """Compare a kernel with the same text in NumPy."""
    text = program(draw)
    u = np.array([draw.randrange(-2, 5) for _ in range(4)], dtype="float64")
    n = np.array([draw.randrange(-1, 3) for _ in range(2)])
    return same_text.outcome(text, file, [u, n])


@pytest.mark.parametrize("seed", range(SEEDS))
def test_as_python_or_refused(seed):
    draw = random.Random(f"counters {seed}")
    outcomes = [outcome(draw, f"<counters {seed} {number}>") for number in range(25)]
    assert outcomes.count("same") >= 15

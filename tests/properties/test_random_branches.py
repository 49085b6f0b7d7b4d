"""Random conditions whose branches change what their tests read, by other names too: as NumPy, or refused."""

import os
import random

import numpy as np
import pytest
import same_text
from same_text import indented

SEEDS = 4 if os.environ.get("CYCLOTRON_QUICK") else 20


def element(draw: random.Random, index: str, names: str = "uvwwx") -> str:
    """An element of an array or of a part of one."""
    return f"{draw.choice(names)}[{draw.choice(['0', '1', index])}]"


def condition(draw: random.Random, index: str) -> str:
    """A test of elements, of whole arrays or of a number that a name holds."""
    names = draw.choice(["uvwx", "wx"])
    one, two = element(draw, index, names), element(draw, index, names)
    return draw.choice(
        [
            f"{one} > {draw.randrange(-2, 4)}",
            f"{one} < {two}",
            f"0 < {one} <= 3",
            f"{one} > 0 and {two} < 3",
            f"{one} > 1 or {two} > 1",
            f"not {one} > {two}",
            f"s > {draw.randrange(4)}",
            f"cy.sum({draw.choice('uvw')}) > {draw.randrange(6)}",
            f"any({draw.choice('uvw')}[k] > 2 for k in range(2))",
        ]
    )


def value(draw: random.Random, index: str) -> str:
    """A value to assign."""
    return draw.choice([element(draw, index), f"{element(draw, index)} + 1", str(draw.randrange(-3, 6)), "s"])


def branches(draw: random.Random, index: str) -> list[str]:
    """A condition with two branches, mostly of the same targets, or with one."""
    targets = [
        draw.choice([element(draw, index), element(draw, index), "s"]) for _ in range(draw.randint(1, 3))
    ]
    then = [f"{one} = {value(draw, index)}" for one in targets]
    if draw.random() < 0.25:
        then[-1] = draw.choice(
            [f"{element(draw, index)} += 1", "u[1:] = 7", f"v[...] = {draw.choice('uv')} + 1"]
        )
    if draw.random() < 0.2:
        return [f"if {condition(draw, index)}:", *indented(then)]
    kept = targets if draw.random() < 0.7 else [element(draw, index)]
    other = [f"{one} = {value(draw, index)}" for one in kept]
    return [f"if {condition(draw, index)}:", *indented(then), "else:", *indented(other)]


def program(draw: random.Random) -> str:
    """The text of a kernel of two arrays."""
    lines = [
        f"w = {draw.choice(['u', 'u[1:]', 'u[::-1]', 'v', 'v[:2]', 'u * 1'])}",
        f"x = {draw.choice(['w', 'v[::-1]', 'u'])}",
        "s = u[0]",
    ]
    if draw.random() < 0.5:
        lines += branches(draw, "1") + branches(draw, "0")
    else:
        lines += ["for i in range(2):", *indented(branches(draw, "i") + branches(draw, "i"))]
    return "\n".join(["def f(u, v):", *indented([*lines, "return u + 0, v + 0, s + 0"]), ""])


def outcome(draw: random.Random, file: str) -> str:
    """Compare a kernel with the same text in NumPy."""
    text = program(draw)
    arrays = [np.array([draw.randrange(-2, 5) for _ in range(4)], dtype="float64") for _ in range(2)]
    return same_text.outcome(text, file, arrays)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_as_numpy_or_refused(seed):
    draw = random.Random(f"branches {seed}")
    outcomes = [outcome(draw, f"<branches {seed} {number}>") for number in range(25)]
    assert outcomes.count("same") >= 15

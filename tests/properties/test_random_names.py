"""Random loops that bind names of arrays anew and change arrays in place: as NumPy, or refused."""

import linecache
import os
import random

import numpy as np
import pytest

import cyclotron as cy


def same(x):
    """Its argument itself."""
    return x


def changed(x):
    """Its argument, after a change."""
    x[1] += 2
    return x


NAMES = ("u", "v", "w")
SEEDS = 4 if os.environ.get("CYCLOTRON_QUICK") else 20


def statement(draw: random.Random) -> str:
    """A statement that binds a name or changes an array."""
    a, b, c = draw.choice(NAMES), draw.choice(NAMES), draw.choice(NAMES)
    return draw.choice(
        [
            f"{a} = {b}",
            f"{a}, {b} = {b}, {a}",
            f"{a}, {b} = {c}, {c} * 2",
            f"{a} = {b} + 1",
            f"{a} = {b}[::-1]",
            f"{a} = same({b})",
            f"{a} = changed({b})",
            f"{a} = {b} if len({c}) > {draw.choice((2, 100))} else {a}",
            f"{a}[{draw.randrange(3)}] = {draw.randrange(9)}",
            f"{a}[1:] = {draw.randrange(9)}",
            f"{a} += 1",
            f"{a}[0] += {b}[1]",
            f"{a}[...] = {b} * 2",
        ]
    )


def block(draw: random.Random, most: int) -> list[str]:
    """Statements, one of which may stand under a condition."""
    lines = [statement(draw) for _ in range(draw.randint(1, most))]
    if draw.random() < 0.3:
        test = draw.choice(["u[0] > 3", "len(u) > 2", "v[1] < 5"])
        lines[-1:] = [f"if {test}:", f"    {lines[-1]}"]
    return lines


def ending(draw: random.Random) -> list[str]:
    """A `break`, of the host, of indices or of data."""
    tests = ["len(u) > 100", "len(u) > 2", "k > 0", "k == 2", "u[0] > 4", "w[1] > 100", "k > 1 and v[0] > 2"]
    return [f"if {draw.choice(tests)}:", "    break"]


def loop(draw: random.Random, index: str = "k") -> list[str]:
    """A loop over a range or a `while`, which may end early, and may have another in it."""
    body = block(draw, 3)
    if index == "k" and draw.random() < 0.2:
        body += loop(draw, "j")
    if draw.random() < 0.5:
        at = draw.choice([0, len(body)])
        body[at:at] = [line.replace("k ", f"{index} ") for line in ending(draw)]
    if draw.random() < 0.3:
        made = draw.choice(["{a}", "{a} * 2", "{a}[1]", "{a}[::-1]", "7", "{a}[0] + 1"]).format(
            a=draw.choice(NAMES)
        )
        body.insert(draw.choice([0, len(body)]), f"t = {made}")
    if draw.random() < 0.2:
        test = draw.choice(["", f" and {draw.choice(NAMES)}[2] < 12"])
        return [f"{index} = 0", f"while {index} < 3{test}:", *indented([f"{index} += 1", *body])]
    return [f"for {index} in range({draw.choice(['3', '1', '0', '2, 0, -1'])}):", *indented(body)]


def indented(lines: list[str]) -> list[str]:
    """The lines, one level further in."""
    return [f"    {line}" for line in lines]


def program(draw: random.Random) -> str:
    """The text of a kernel of `u`, `v` and `w`."""
    lines = draw.choice(
        [["v, w = u * 1, u * 2"], ["v = u", "w = u + 1"], ["v = w = u * 3"], ["v = u", "w = u"]]
    )
    loops = loop(draw)
    uses = (
        ["t = t * 3", "w = w + t", "v[0] += t", "v = t", "t[1] = 5"]
        if "t = " in "".join(loops)
        else ["u = u"]
    )
    lines = [*lines, *block(draw, 2), *loops, draw.choice(uses), *block(draw, 2)]
    result = ", ".join(f"{name} + 0" for name in draw.sample(NAMES, draw.randint(1, 3)))
    return "\n".join(["def f(u):", *indented([*lines, f"return {result}"]), ""])


def outcome(text: str, file: str) -> str:
    """Compare a kernel with the same text in NumPy: "same" or "refused"."""
    names: dict[str, object] = {"same": same, "changed": changed}
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    function = names["f"]
    try:
        expected = function(np.arange(4.0))
    except (UnboundLocalError, TypeError, ValueError, IndexError):  # no value, or a number for an array
        expected = None
    names |= {"same": cy.kernel(same), "changed": cy.kernel(changed)}
    try:
        found = cy.kernel(function)(np.arange(4.0))
    except cy.CyclotronError:
        return "refused"
    except (TypeError, ValueError, IndexError):
        assert expected is None, text
        return "refused"
    assert expected is not None, text
    for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True):
        np.testing.assert_array_equal(one, other, err_msg=text)
    return "same"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_as_numpy_or_refused(seed):
    draw = random.Random(f"names {seed}")
    outcomes = [outcome(program(draw), f"<names {seed} {number}>") for number in range(25)]
    assert "same" in outcomes

"""More conditions, one after the other or in each other, than Python nests blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cyclotron as cy


def made(lines: list[str], path: Path) -> cy.Kernel:
    """A kernel of lines that a loop over the elements has."""
    text = [
        "def f(x):",
        "    y = x * 0",
        "    for i in range(x.shape[0]):",
        *(f"        {one}" for one in lines),
    ]
    path.write_text("\n".join([*text, "    return y", ""]))
    names: dict[str, Any] = {"cy": cy}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return cy.kernel(names["f"])


DEEP = {
    "elif": [
        *(f"{'el' if n else ''}if x[i] > {30 - n}:\n            y[i] = {n}" for n in range(30)),
        "else:\n            y[i] = -1",
    ],
    "continue": [
        *(f"if x[i] > {30 - n}:\n            y[i] = {n}\n            continue" for n in range(30)),
        "y[i] += 100",
    ],
    "names": [
        *(f"{'el' if n else ''}if x[i] > {30 - n}:\n            v = x[i] * {n}" for n in range(30)),
        "else:\n            v = -x[i]",
        "y[i] = v",
    ],
    "nested": ["    " * n + f"if x[i] > {n}:\n            {'    ' * n}y[i] += 1" for n in range(30)],
}


@pytest.mark.parametrize("lines", DEEP.values(), ids=DEEP)
def test_more_conditions_than_blocks_of_python_nest(lines: list[str], tmp_path: Path) -> None:
    kernel, x = made(lines, tmp_path / "deep.py"), np.linspace(-1, 32, 8)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(
            cy.run(kernel.compile(x), backend=backend).output, kernel.__wrapped__(x)
        )


def test_conditions_that_python_does_not_compile(tmp_path: Path) -> None:
    lines = [f"if x[i] > {n}:\n            continue" for n in range(400)]
    with pytest.raises(cy.TraceError, match=r"stand too deep in each other.*CYC101"):
        made([*lines, "y[i] = 1"], tmp_path / "deep.py").recurrences(np.ones(2))

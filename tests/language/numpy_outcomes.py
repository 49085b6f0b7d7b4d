"""Outcomes of expressions of NumPy in kernels that are written with ``import cyclotron as np``.

``python tests/language/numpy_outcomes.py`` writes the page of the documentation that lists them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy_expressions import BY_NAME, SOURCES, Expression, expressions

import cyclotron as cy

AS_NUMPY = "as NumPy"
PAGE = Path(__file__).resolve().parents[2] / "docs/numpy-expressions.md"
HEAD = """# NumPy's introductions in kernels

Kernels may be written with `import cyclotron as np`. These are the expressions of four introductions to
NumPy, in the order in which they stand there: of {all} expressions {works} ({share} %) give in a kernel what
they give in NumPy, values and dtypes; the others are refused, with the code and the advice in the table.
Each row is a test, and the page is made from the tests. Arrays that an expression names are arguments of
the kernel.
"""

OTHERS = """These the introductions do not have; they are not counted above. `cyclotron` has NumPy's other
names as they are: outside of kernels they are NumPy's own.
"""


def by_numpy(one: Expression) -> Any:
    """The value by NumPy: an array, or a tuple of such; None where it is neither."""
    names: dict[str, Any] = {}
    exec(f"import numpy as np\ndef f({', '.join(one.operands)}):\n{one.body}", names)
    value = names["f"](*(np.copy(operand) for operand in one.operands.values()))
    parts = tuple(map(np.asarray, value if isinstance(value, tuple | list) else [value]))
    if not all(part.dtype.kind in "biufc" for part in parts):
        return None
    return parts if isinstance(value, tuple | list) else parts[0]


def text(one: Expression, expected: Any) -> str:
    """The text of a module with the kernel; a tuple is taken apart, as its user would."""
    body = one.body
    if isinstance(expected, tuple):
        names = "".join(f"part_{n}, " for n in range(len(expected))).rstrip()
        body = f"    {names} = {one.text}\n    return {names}\n"
    return f"import cyclotron as np\n\n\n@np.kernel\ndef f({', '.join(one.operands)}):\n{body}"


def outcome(one: Expression) -> str:
    """Return what the page says of an expression: that it is as NumPy's, or the code and the advice.

    Raises
    ------
    AssertionError
        If it compiles, and gives something else than NumPy.
    """
    expected = by_numpy(one)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.py"
        path.write_text(text(one, expected))
        names: dict[str, Any] = {}
        exec(compile(path.read_text(), str(path), "exec"), names)
        try:
            program = names["f"].compile(*one.operands.values())
        except cy.CyclotronError as error:
            return f"{error.code}: {error.help}"
    found = tuple(cy.run(program, backend="sim").outputs.values())
    assert expected is not None, f"NumPy gives no array for `{one.text}`"
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert [part.shape for part in found] == [part.shape for part in expected]
    assert [part.dtype for part in found] == [part.dtype for part in expected]
    for own, numpy in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, numpy, rtol=1e-12, atol=1e-12)
    return AS_NUMPY


def table(source: str) -> str:
    """The rows of an introduction on the page."""
    rows = [row(one) for one in expressions() if one.source == source]
    return "\n".join(["| expression | outcome |", "| --- | --- |", *rows])


def row(one: Expression) -> str:
    """The row of an expression."""
    cells = [cell.replace("|", "\\|") for cell in (f"`{one.text}`", outcome(one))]
    return f"| {cells[0]} | {cells[1]} |"


def page() -> str:
    """The page that lists all of them."""
    tables = {source: table(source) for source in SOURCES}
    rows = [row for text in tables.values() for row in text.splitlines()[2:]]
    works = sum(row.endswith(f"| {AS_NUMPY} |") for row in rows)
    parts = [f"## {source}\n\n{text}\n" for source, text in tables.items()]
    head = HEAD.format(works=works, all=len(rows), share=100 * works // len(rows))
    return "\n".join([head, *parts, f"## {BY_NAME}\n\n{OTHERS}\n{table(BY_NAME)}\n"])


if __name__ == "__main__":
    PAGE.write_text(page())

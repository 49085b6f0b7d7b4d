"""Each kernel of the files beside this one is refused at the line it marks, with a golden rendering."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oracle import record

import cyclotron as cy

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LANGUAGE = Path(cy.__file__).parent / "language"
Arguments = tuple[Any, ...] | dict[str, Any]
MARK = re.compile(r"# error: (CYC\d{3})")


def kernels() -> dict[str, tuple[cy.Kernel, Arguments]]:
    """The kernels by name of file and function; `bad` alone in its file goes by the file."""
    found = {}
    for file in sorted(HERE.glob("*.py")):
        if not file.name.startswith("test_"):
            names = runpy.run_path(str(file))
            for name, value in names.items():
                if isinstance(value, cy.Kernel):
                    case = file.stem if name == "bad" else f"{file.stem}-{name}"
                    found[case] = (value, names.get("ARGUMENTS", {}))
    return found


KERNELS = kernels()


def arguments(kernel: cy.Kernel, given: Arguments) -> tuple[Any, ...]:
    """All arguments, or some by parameter: else `A` is a matrix and `x` a vector."""
    if isinstance(given, tuple):
        return given
    shapes = {name: (4, 4) if name.isupper() else (4,) for name in kernel.signature.parameters}
    return tuple(given.get(name) or cy.spec(shape) for name, shape in shapes.items())


def mark(kernel: cy.Kernel) -> tuple[int, str]:
    """The marked line of a kernel, and its code."""
    lines = Path(kernel.file).read_text().splitlines()
    for number, line in enumerate(lines[kernel.first_line - 1 :], kernel.first_line):
        match = MARK.search(line)
        if match:
            return number, match.group(1)
    raise AssertionError(f"{kernel.name} marks no line")


@pytest.fixture
def usual_recursion_limit() -> Iterator[None]:
    """Python's own limit: mypy, which other tests call, raises it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("usual_recursion_limit")
@pytest.mark.parametrize("case", KERNELS)
def test_refused(case: str, golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    kernel, given = KERNELS[case]
    with pytest.raises(cy.CyclotronError) as caught:
        record(kernel, *arguments(kernel, given))
    error = caught.value
    line, code = mark(kernel)
    assert (error.code, error.span and error.span.line) == (code, line), str(error)
    assert len(str(error).splitlines()) <= 15
    assert error.help
    golden(f"errors/{case}.txt", f"{type(error).__name__}: {error}")


def test_every_golden_file_is_used() -> None:
    files = {file.stem for file in (ROOT / "tests/golden/errors").glob("*.txt")}
    assert files == set(KERNELS)


def test_every_code_has_an_example() -> None:
    """CYC100 and CYC116 have more examples in tests/language, which need no source line."""
    shown = {mark(kernel)[1] for kernel, _ in KERNELS.values()}
    raised = re.findall(r'"(CYC1\d\d)"', "".join(file.read_text() for file in LANGUAGE.rglob("*.py")))
    assert {*raised} - shown == {"CYC100"}

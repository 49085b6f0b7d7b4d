"""Kernels after a traceback: tools that show one mark the nodes of syntax trees, for all of the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

executing = pytest.importorskip("executing")

ROOT = Path(__file__).parents[2]
MARKED = """
import ast, sys
from pathlib import Path

import executing
import cyclotron as cy

# As IPython does to show a traceback with frames of the package: the parser's shared nodes get parents, too.
for path in Path(cy.__file__).parent.glob("language/**/*.py"):
    executing.Source.for_filename(str(path))
assert hasattr(ast.parse("a < b").body[0].value.ops[0], "parent")

from test_corpus import ENTRIES, arguments

for entry in ENTRIES.values():
    entry.kernel.compile(*arguments(entry, min(entry.sizes)), machine=entry.machine)
print(len(ENTRIES), "kernels")
"""
CELLS = (
    "import numpy as np\nimport cyclotron as cy",
    "cy.Layout.tile(None, (1,))",  # no error of Cyclotron's own, so IPython shows frames of the package
    """
@cy.kernel
def clipped(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        if i < 2:
            y[i] = x[i]
        else:
            y[i] = -x[i]
    return y

print(clipped(np.arange(4.0)))
""",
)


def test_marked_nodes() -> None:
    """Every kernel of the corpus compiles after a tool has marked the package's own sources."""
    folders = (ROOT, ROOT / "tests" / "programs", *filter(None, [os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    done = subprocess.run(
        [sys.executable, "-c", MARKED], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("kernels\n")


PARTS = 8
# Run as it is compiled, beside the text in plain Python.
CORPUS = """
from test_corpus import ENTRIES, agree, arguments

names = sorted(ENTRIES)[{part}::{parts}]
for name in names:
    entry = ENTRIES[name]
    given = arguments(entry, min(entry.sizes))
    program = entry.kernel.compile(*given, machine=entry.machine)
    agree(tuple(cy.run(program).outputs.values()), entry.kernel.reference(*given), entry.tolerance)
print(len(names), "kernels")
"""


def executed(cells: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[Any]:
    """The outputs of a notebook's cells, under ipykernel."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    folders = (ROOT, ROOT / "tests" / "programs", *filter(None, [os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, folders)))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=300, allow_errors=True, resources=resources).execute()
    return [cell.outputs for cell in notebook.cells]


def test_error_cell_then_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cell whose error shows the package's source, then one with a kernel that compares."""
    _, failed, ran = executed(CELLS, monkeypatch, tmp_path)
    assert failed[0].ename == "AttributeError"
    assert "cyclotron/mpi/" in "".join(failed[0].traceback)
    assert ran[0].text.split() == ["[", "0.", "1.", "-2.", "-3.]"]


@pytest.mark.sampled(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_error_cell_then_corpus(part: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same before every kernel of the corpus, each in one of the parts."""
    cells = (*CELLS[:2], CORPUS.format(part=part, parts=PARTS))
    _, failed, ran = executed(cells, monkeypatch, tmp_path)
    assert "cyclotron/mpi/" in "".join(failed[0].traceback)
    assert ran[-1].get("text", "").endswith("kernels\n"), "".join(ran[-1].get("traceback", ["nothing ran"]))

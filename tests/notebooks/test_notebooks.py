"""Notebooks run from the first to the last cell; those of the tutorials are committed with light outputs."""

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TUTORIALS = {path.stem: path for path in sorted((ROOT / "docs/tutorials").glob("*.md"))}
CELL = re.compile(r"^```\{code-cell\} ipython3\n(?::[^\n]*\n)*(.*?)\n```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{'mpi-' * (path.stem == 'hpc')}{path.stem}")
def test_notebook(path, tmp_path, monkeypatch):
    if path.stem == "hpc" and not (importlib.util.find_spec("cyclotron._mpi") and shutil.which("mpirun")):
        pytest.skip("MPI is not installed")
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any(cell.outputs for cell in code) == (path.stem in TUTORIALS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    pictures = [o for cell in code for o in cell.outputs if "image/png" in o.get("data", {})]
    assert len(pictures) >= (1 if path.stem == "hpc" else 3)
    assert any("text/html" in o.get("data", {}) for cell in code for o in cell.outputs) or path.stem == "hpc"


def test_eight_tutorials_that_a_forge_shows():
    """A forge shows a notebook of some hundred kilobytes, and pictures of it only as PNG."""
    assert len(TUTORIALS) >= 8
    for name in TUTORIALS:
        text = (ROOT / f"notebooks/{name}.ipynb").read_text()
        assert 20_000 < len(text) < 250_000, name
        assert '"image/png"' in text
        assert '"text/html"' not in text
    assert sum(path.stat().st_size for path in NOTEBOOKS) < 1_500_000


@pytest.mark.parametrize("name", sorted(TUTORIALS))
def test_tutorials_are_the_pages_of_the_site(name):
    """`tools/notebooks` writes them."""
    notebook = nbformat.read(ROOT / f"notebooks/{name}.ipynb", as_version=4)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert cells == CELL.findall(TUTORIALS[name].read_text())

"""The pages of docs/: their Python runs, their snippets are lines of the tree, their files are there.

The ``python`` blocks of a page are one script, from first to last. ``py`` and ``cpp`` blocks are quoted
from the file that the text before them names by ``In `file```.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "gallery")
EXTENDING = sorted(set((ROOT / "docs/extending").glob("*.md")) - {ROOT / "docs/extending/README.md"})
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`((?:src|cyclotron|tests|tools|docs|cmake)/[\w/.-]+\.\w+)`")


def blocks(page, *languages):
    return [block for block in BLOCK.finditer(page.read_text()) if block[1] in languages]


RUN = [page for page in PAGES if blocks(page, "python")]
QUOTING = [page for page in EXTENDING if blocks(page, "py", "cpp")]


@pytest.mark.parametrize("page", RUN, ids=[page.stem for page in RUN])
def test_python_runs(page, tmp_path):
    text = "\n\n".join(block[2] for block in blocks(page, "python"))
    if "distribute" in text:
        pytest.importorskip("cyclotron._mpi")
    if "import torch" in text:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    script = tmp_path / "example.py"
    script.write_text(text)
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("page", QUOTING, ids=[page.stem for page in QUOTING])
def test_snippets_are_lines_of_the_tree(page):
    text = page.read_text()
    for block in blocks(page, "py", "cpp"):
        file = re.findall(r"\b[Ii]n " + FILE.pattern, text[: block.start()])[-1]
        lines = {line.strip() for line in (ROOT / file).read_text().splitlines()}
        for line in filter(None, map(str.strip, block[2].splitlines())):
            assert line in lines, f"{file} has no line {line!r}"


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_files_are_there(page):
    for file in FILE.findall(page.read_text()):
        assert (ROOT / file).exists(), file


def test_the_index_lists_the_pages():
    index = (ROOT / "docs/extending/README.md").read_text()
    assert sorted(re.findall(r"\]\(([\w-]+\.md)\)", index)) == [page.name for page in EXTENDING]


@pytest.mark.parametrize("page", EXTENDING, ids=[page.stem for page in EXTENDING])
def test_every_page_has_an_example_that_runs(page):
    assert page in RUN

"""The pages of the site: the reference has every public name, and what pages link to is there."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import cyclotron as cy

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    set(DOCS.rglob("*.md")) - set((DOCS / "gallery").glob("*.md"))
)  # which is written by the build
PROSE = re.compile(r"^(`{3,}|:{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
NAMESPACES = ("debug", "energies", "fabric", "linalg", "machines", "random", "schedules")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_reference_has_every_public_name_once():
    text = "\n".join(page.read_text() for page in sorted((DOCS / "api").glob("*.md")))
    names = re.findall(r"^\.\. auto\w+:: cyclotron\.([\w.]+)$", text, re.MULTILINE)
    modules = {name: getattr(cy, name) for name in NAMESPACES}
    own = {name for name in cy.__all__ if getattr(cy, name) is not getattr(np, name, cy)}
    wanted = own - {"il", "language", *modules}
    wanted |= {f"{module}.{name}" for module, value in modules.items() for name in value.__all__}
    assert {name for name in names if getattr(cy, name, None) is None or name in wanted} >= wanted
    assert len([name for name in names if name in wanted]) == len(wanted)


def test_every_page_is_in_a_table_of_contents():
    listed = {DOCS / "index.md"}
    for page in PAGES:
        for block in TOCTREE.findall(page.read_text()):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {(page.parent / f"{entry}.md").resolve() for entry in entries}
    assert listed - {DOCS / "gallery/index.md"} == set(PAGES)


def anchors(page):
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
    return slugs | {title[:6].lower() for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_anchors_are_headings(page):
    text = PROSE.sub("", page.read_text())
    for link, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", text):
        target = (page.parent / link).resolve() if link else page
        assert target.exists(), link
        assert anchor in anchors(target), f"{link}#{anchor}"


CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Tutorials are run as notebooks (notebooks/test_notebooks.py); the site runs all of them.
EXECUTED = [page for page in PAGES if page.parent.name != "tutorials" and CELL.search(page.read_text())]


def statements(cell):
    """The text of a cell; of one that shows an error, it has to be raised."""
    tags, _, text = cell.partition("\n") if cell.startswith(":tags:") else ("", "", cell)
    if "raises-exception" not in tags:
        return text
    tried = textwrap.indent(text, "    ")
    return f"try:\n{tried}\nexcept Exception: pass\nelse: raise SystemExit('no error')\n"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_cells_of_a_page_run(page, tmp_path):
    (tmp_path / "page.py").write_text("\n".join(map(statements, CELL.findall(page.read_text()))))
    run = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_readme_is_short_and_shows_a_picture():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 120
    (picture,) = re.findall(r"^!\[[^\]]+\]\(([^)]+)\)$", text, re.MULTILINE)
    assert (ROOT / picture).stat().st_size < 60_000


def test_each_feature_names_a_test_that_is_there():
    rows = re.findall(r"^\| (\d+) \|.*\| ([^|]+) \|$", (DOCS / "features.md").read_text(), re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 35))
    for number, tests in rows:
        named = re.findall(r"`([\w/]+\.py)::(\w+)`", tests)
        assert named, number
        for file, test in named:
            assert f"\ndef {test}(" in (ROOT / "tests" / file).read_text(), f"{file}::{test}"

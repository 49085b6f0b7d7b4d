"""The README's example runs as it is written, and what the pages for users link to exists."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
DOCS = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "gallery"]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
PROSE = {page: re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE) for page in PAGES}
LINKS = [(page, link) for page in PAGES for link in re.findall(r"\]\((?!http)([^)#]+)\)", PROSE[page])]


def test_the_readme_has_an_example():
    assert len(EXAMPLES) == 1


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example, tmp_path):
    pytest.importorskip("cyclotron._core")
    script = tmp_path / "example.py"
    script.write_text(example)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": path}
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    assert re.search(r"\d+ cycles, \d+% of them computing", run.stdout)


@pytest.mark.parametrize(("page", "link"), LINKS, ids=[f"{page.stem}-{link}" for page, link in LINKS])
def test_links_lead_somewhere(page, link):
    assert (page.parent / link).exists()


def test_the_targets_of_the_contributors_page_are_there():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    verbs = (ROOT / "cmake/Verbs.cmake").read_text()
    for target in re.findall(r"ninja -C build/dev (\S+) ", page):
        assert re.search(rf"\b{target}\b", verbs), target
    lint = (ROOT / "tools/lint").read_text()
    checks = set(re.search(r"checks=\((\w[^)]*)\)", lint).group(1).split())
    rows = re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == checks

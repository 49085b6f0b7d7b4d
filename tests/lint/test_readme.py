"""The README's example runs as it is written, and what the README names exists."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example, tmp_path):
    pytest.importorskip("cyclotron._core")
    if "distribute" in example:
        pytest.importorskip("cyclotron._mpi")
    script = tmp_path / "example.py"
    script.write_text(example)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    assert re.search(r"\d+ cycles, \d+% of them computing|Layout\(.*\(256, 256\)", run.stdout)


def test_the_tree_is_the_one_described():
    described = set(re.findall(r"^(src/\w+)/", README, re.MULTILINE))
    present = {f"src/{path.name}" for path in (ROOT / "src").iterdir() if path.is_dir()}
    assert described == present


@pytest.mark.parametrize("link", re.findall(r"\]\((?!http)([^)#]+)\)", README))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()

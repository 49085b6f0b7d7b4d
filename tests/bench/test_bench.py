"""The benchmarks run and write their figures; nothing here looks at times."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = ("cluster", "common", "kernels")
SCRIPTS = [path for path in sorted((ROOT / "bench").glob("*.py")) if path.stem not in LIBRARIES]


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_quick_benchmark_writes_json(script, tmp_path):
    path = tmp_path / "figures.json"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, script, "--quick", "--json", path]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert "ratio" in done.stdout or "bound" in done.stdout
    assert set(json.loads(path.read_text())) == {"commit", "machine", "figures"}

"""The benchmark runs and writes its numbers."""

import json
import subprocess
import sys
from pathlib import Path


def test_quick_benchmark_writes_json(tmp_path):
    script = Path(__file__).with_name("bench.py")
    path = tmp_path / "bench.json"
    subprocess.run([sys.executable, script, "--quick", "--json", path], check=True, capture_output=True)
    written = json.loads(path.read_text())
    assert set(written) == {"commit", "machine", "numbers"}
    assert all(value > 0 for value in written["numbers"].values())

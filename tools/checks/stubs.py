"""Checks that the committed stubs of the extensions describe them, by mypy's stubtest.

Does nothing for an extension that has no committed stub or is not built.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("_core", "_mpi")


def main() -> int:
    sys.path.insert(0, str(ROOT))
    present = []
    for module in MODULES:
        if not (ROOT / "cyclotron" / f"{module}.pyi").exists():
            continue
        if importlib.util.find_spec(f"cyclotron.{module}") is None:
            print(f"cyclotron.{module} is not built, its stub is not compared")
        else:
            present.append(f"cyclotron.{module}")
    if not present:
        return 0
    allowed = ROOT / "tools/checks/stubs_allowed.txt"
    options = ["--concise", "--ignore-unused-allowlist", "--allowlist", str(allowed)]
    command = [sys.executable, "-m", "mypy.stubtest", *options, *present]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}).returncode


if __name__ == "__main__":
    sys.exit(main())

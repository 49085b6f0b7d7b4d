"""Checks that the stubs of the extensions are those that `tools/stubs.py` writes, and by mypy's stubtest.

Leaves out an extension that is not built.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import stubs  # noqa: E402


def difference(module: str) -> str:
    """Return how the committed stub of an extension differs from the generated one."""
    path = stubs.stub_path(module)
    lines = [text.splitlines(keepends=True) for text in (path.read_text(), stubs.generate(module))]
    return "".join(difflib.unified_diff(*lines, str(path.relative_to(ROOT)), "as generated"))


def main() -> int:
    present = [module for module in stubs.MODULES if stubs.is_built(module)]
    for module in stubs.MODULES:
        if module not in present:
            print(f"cyclotron.{module} is not built, its stub is not compared")
    differences = "".join(map(difference, present))
    if differences:
        print(f"{differences}run tools/stubs.py")
        return 1
    if not present:
        return 0
    allowed = ROOT / "tools/checks/stubs_allowed.txt"
    options = ["--concise", "--ignore-unused-allowlist", "--allowlist", str(allowed)]
    command = [sys.executable, "-m", "mypy.stubtest", *options, *(f"cyclotron.{name}" for name in present)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}).returncode


if __name__ == "__main__":
    sys.exit(main())

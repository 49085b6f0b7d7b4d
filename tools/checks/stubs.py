"""Checks that the committed stubs of the extensions describe them; with --update writes them.

Does nothing for an extension that has no committed stub or is not built.
"""

from __future__ import annotations

import difflib
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("_core", "_mpi")


def generate(module: str, folder: Path) -> str:
    """The stub of cyclotron.<module> as mypy's stubgen writes it."""
    # The package is imported from the tree: stubs describe what is built here.
    command = [sys.executable, "-m", "mypy.stubgen", "--quiet", "--include-docstrings"]
    subprocess.run([*command, "-m", f"cyclotron.{module}", "-o", str(folder)], check=True, cwd=ROOT)
    return (folder / "cyclotron" / f"{module}.pyi").read_text()


def main() -> int:
    sys.path.insert(0, str(ROOT))
    update = "--update" in sys.argv[1:]
    status = 0
    for module in MODULES:
        committed = ROOT / "cyclotron" / f"{module}.pyi"
        if not update and not committed.exists():
            continue
        if importlib.util.find_spec(f"cyclotron.{module}") is None:
            print(f"cyclotron.{module} is not built, its stub is not compared")
            continue
        with tempfile.TemporaryDirectory() as folder:
            text = generate(module, Path(folder))
        if update:
            committed.write_text(text)
        elif committed.read_text() != text:
            old, new = committed.read_text().splitlines(), text.splitlines()
            print(
                "\n".join(
                    difflib.unified_diff(old, new, str(committed.relative_to(ROOT)), "built", lineterm="")
                )
            )
            print("update it with: python tools/checks/stubs.py --update")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())

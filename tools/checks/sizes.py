"""Checks that a file does one thing: no source over 500 lines, no binding over 150, no example over 80."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = {".py", ".pyi", ".cpp", ".hpp", ".cmake", ".txt", ".sh", ""}
LIMIT = 500
LIMITS = {"src/bindings/": 150, "examples/": 80}
GENERATED = {"cyclotron/_core.pyi", "cyclotron/_mpi.pyi"}


def limit(path: str) -> int:
    """How many lines the file at this path, relative to the root, may have."""
    return next((lines for prefix, lines in LIMITS.items() if path.startswith(prefix)), LIMIT)


def tracked_files(root: Path) -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return sorted(
        path
        for path in set(listing.splitlines())
        if Path(path).suffix in SUFFIXES and path not in GENERATED and not path.startswith("tests/golden/")
    )


def violations(root: Path, paths: list[str]) -> list[str]:
    found = []
    for path in paths:
        file = root / path
        if not file.is_file():
            continue  # deleted, not yet committed
        lines = file.read_bytes().count(b"\n")
        if lines > limit(path):
            found.append(f"{path}: {lines} lines, at most {limit(path)}; split it by what it does")
    return found


def main() -> int:
    found = violations(ROOT, tracked_files(ROOT))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

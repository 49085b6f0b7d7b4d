"""Checks that the whole text of an error of every code that the sources raise is kept in tests/golden."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"\bCYC\d{3}\b")
RAISED = re.compile(r"[\"'](CYC\d{3})[\"']")
ERRORS = ("tests/golden/errors", "tests/golden/refusals")
MOST_LINES = 15
# Ours alone: CYC000 means none was given.
NEVER_RAISED = {"CYC000"}


def files(root: Path, folders: dict[str, set[str]]) -> Iterator[Path]:
    for folder, suffixes in folders.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and "__pycache__" not in path.parts:
                yield path


def raised(root: Path) -> dict[str, str]:
    """Return the codes in string literals of the sources, each with the file where it is first found."""
    codes: dict[str, str] = {}
    for path in files(root, {"src": {".cpp", ".hpp"}, "cyclotron": {".py"}}):
        for code in RAISED.findall(path.read_text()):
            codes.setdefault(code, str(path.relative_to(root)))
    return {code: where for code, where in codes.items() if code not in NEVER_RAISED}


def shown(root: Path) -> dict[str, list[Path]]:
    """Return the codes of the errors whose text is kept, with the files."""
    codes: dict[str, list[Path]] = {}
    for path in files(root, {folder: {".txt"} for folder in ERRORS}):
        for code in CODE.findall(path.read_text()):
            codes.setdefault(code, []).append(path)
    return codes


def faults(root: Path) -> list[str]:
    """Return what is missing: the text of a code, or a part of a text."""
    known = shown(root)
    result = [
        f"{where}: {code} is in no text of {' and '.join(ERRORS)}"
        for code, where in sorted(raised(root).items())
        if code not in known
    ]
    for path in sorted({path for paths in known.values() for path in paths}):
        lines = path.read_text().splitlines()
        if len(lines) > MOST_LINES:
            result.append(f"{path.relative_to(root)}: {len(lines)} lines, more than {MOST_LINES}")
        if not any(line.startswith("     = help: ") for line in lines):
            result.append(f"{path.relative_to(root)}: does not say what to do")
    return result


def main() -> int:
    found = faults(ROOT)
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

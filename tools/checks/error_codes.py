"""Checks that every error code raised by a source appears in a test."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"\bCYC\d{3}\b")
RAISED = re.compile(r"[\"'](CYC\d{3})[\"']")
# Ours alone: CYC000 means none was given.
NEVER_RAISED = {"CYC000"}


def files(root: Path, folders: dict[str, set[str]]) -> Iterator[Path]:
    for folder, suffixes in folders.items():
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and "__pycache__" not in path.parts:
                yield path


def raised(root: Path) -> dict[str, str]:
    """The codes in string literals of the sources, each with the file where it is first found."""
    codes: dict[str, str] = {}
    for path in files(root, {"src": {".cpp", ".hpp"}, "cyclotron": {".py"}}):
        for code in RAISED.findall(path.read_text()):
            codes.setdefault(code, str(path.relative_to(root)))
    return {code: where for code, where in codes.items() if code not in NEVER_RAISED}


def tested(root: Path) -> set[str]:
    """The codes anywhere in the tests."""
    suffixes = {".py", ".cpp", ".hpp", ".txt", ".golden", ".cyc", ".json", ".toml"}
    return {code for path in files(root, {"tests": suffixes}) for code in CODE.findall(path.read_text())}


def main() -> int:
    known = tested(ROOT)
    missing = {code: where for code, where in sorted(raised(ROOT).items()) if code not in known}
    for code, where in missing.items():
        print(f"{where}: {code} is in no test")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

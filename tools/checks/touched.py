"""Prints what to test of a change, one a line: `layer <name>` of C++ tests, `tests <path>` of Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path, PurePosixPath

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
BASES = ("main", "origin/main")


def git(root: Path, *arguments: str) -> str | None:
    """Return what git prints; None where it fails."""
    run = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else None


def changed(root: Path, bases: tuple[str, ...] = BASES) -> list[str]:
    """Return the files that differ from where the first branch that exists was left, new ones too."""
    for base in bases:
        start = git(root, "merge-base", "HEAD", base)
        if start is not None:
            committed = git(root, "diff", "--name-only", start.strip()) or ""
            new = git(root, "ls-files", "--others", "--exclude-standard") or ""
            return sorted({*committed.splitlines(), *new.splitlines()})
    raise SystemExit(f"no branch {' or '.join(bases)} to compare with; name one")


def read_tests(pyproject: str) -> dict[str, list[str]]:
    """Return the table of folders and the folders of their Python tests."""
    table: dict[str, list[str]] = tomllib.loads(pyproject)["tool"]["cyclotron"]["tests"]
    return table


def selection(root: Path, files: list[str], tests: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """Return the C++ layers and the paths of Python tests for changed files."""
    layers: set[str] = set()
    paths: set[str] = set()
    for file in files:
        parts = PurePosixPath(file).parts
        if parts[0] == "src" or parts[:2] == ("tests", "cpp"):
            layer = parts[1] if parts[0] == "src" else parts[2]
            if any((root / "tests/cpp" / layer).glob("*.cpp")):
                layers.add(layer)
        parents = [str(PurePosixPath(*parts[:count])) for count in range(len(parts), 0, -1)]
        found = next((tests[parent] for parent in parents if parent in tests), [])
        paths.update(f"tests/{folder}" for folder in found)
        if parts[0] == "tests" and parts[-1].startswith("test_") and file.endswith(".py"):
            paths.add(file)
    present = {path for path in paths if (root / path).exists()}
    inner = {
        path for path in present if any(str(parent) in present for parent in PurePosixPath(path).parents)
    }
    return sorted(layers), sorted(present - inner)


def main() -> int:
    bases = (sys.argv[1],) if len(sys.argv) > 1 else BASES
    tests = read_tests((ROOT / "pyproject.toml").read_text())
    layers, paths = selection(ROOT, changed(ROOT, bases), tests)
    print("\n".join([f"layer {layer}" for layer in layers] + [f"tests {path}" for path in paths]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

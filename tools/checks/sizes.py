"""Checks that sizes follow meaning: files and their functions are short enough to be read as one thing.

A file of more than 500 lines is printed, one of more than 800 fails; so do a binding over 150, an example
over 80 and a function over 80 lines, its docstring not counted.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cxx_functions import Function, functions
from lines import DOCUMENTED, docstrings

ROOT = Path(__file__).resolve().parents[2]
CXX = {".cpp", ".hpp"}
SUFFIXES = {".py", ".pyi", *CXX, ".c", ".cmake", ".txt", ".sh", ""}
WARNED, LIMIT, FUNCTION_LIMIT = 500, 800, 80
LIMITS = {"src/bindings/": 150, "examples/": 80}
GENERATED = {"cyclotron/_core.pyi", "cyclotron/_mpi.pyi", "LICENSE"}


def limit(path: str) -> int:
    """Return how many lines the file at this path, relative to the root, may have."""
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


def python_functions(text: str) -> Iterator[Function]:
    """Yield the functions and methods of a module, those within others too, without their docstrings."""
    tree = ast.parse(text)
    documented = {
        node: (statement.end_lineno or statement.lineno) - statement.lineno + 1
        for node, statement in docstrings(tree)
    }
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and not isinstance(node, ast.Module | ast.ClassDef):
            yield Function(node.name, node.lineno, (node.end_lineno or node.lineno) - documented.get(node, 0))


def measure(root: Path, paths: list[str]) -> tuple[list[str], list[str]]:
    """Return what fails and what is only told, one line each."""
    failing, told = [], []
    for path in paths:
        file = root / path
        if not file.is_file():
            continue  # deleted, not yet committed
        text = file.read_text()
        lines = text.count("\n")
        if lines > limit(path):
            failing.append(f"{path}: {lines} lines, at most {limit(path)}; split it by what it does")
        elif lines > WARNED:
            told.append(f"{path}: {lines} lines; does it do one thing?")
        defined: Iterator[Function] = iter(())
        if file.suffix == ".py":
            defined = python_functions(text)
        elif file.suffix in CXX:
            defined = functions(text)
        for one in defined:
            if one.lines > FUNCTION_LIMIT:
                failing.append(
                    f"{path}:{one.first}: {one.name} has {one.lines} lines, at most {FUNCTION_LIMIT}"
                )
    return failing, told


def main() -> int:
    failing, told = measure(ROOT, tracked_files(ROOT))
    for line in told:
        print(f"note: {line}")
    print("\n".join(failing), end="\n" if failing else "")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())

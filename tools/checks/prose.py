"""Check that docstrings, `///` comments and heads of C++ files begin with a verb or a noun, not with What."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from sizes import CXX, GENERATED, tracked_files

ROOT = Path(__file__).resolve().parents[2]
PYTHON = {".py", ".pyi"}
IDLE = {
    ".hpp": re.compile(r"(?:What|Whether|How|Where|When|Which|Who|Why|Is|Are)\b"),
    ".py": re.compile(r"(?:What|Whether|How|Where|When|Which|Who|Why|Does|Is|Are)\b"),
}
COMMENT = re.compile(r"///<?\s*(.*)")


def python_texts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of a module and of its names, each with its line."""
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.lineno, value.value.strip()


def cxx_texts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first line of each `///` comment, and of one at the head of the file, with its number."""
    within = False
    if text.startswith("// "):
        yield 1, text.splitlines()[0].removeprefix("// ")
    for number, line in enumerate(text.splitlines(), 1):
        comment = COMMENT.search(line)
        alone = line.lstrip().startswith("///")
        if comment and not (within and alone):
            yield number, comment.group(1)
        within = comment is not None


def violations(root: Path, paths: list[str]) -> list[str]:
    """Return one line a text that begins so, sorted by file."""
    faults = []
    for path in paths:
        file = root / path
        if not file.is_file() or file.suffix not in PYTHON | CXX:
            continue
        is_python = file.suffix in PYTHON
        texts, idle = (python_texts, IDLE[".py"]) if is_python else (cxx_texts, IDLE[".hpp"])
        for line, text in texts(file.read_text()):
            if idle.match(text):
                faults.append(f"{path}:{line}: begins with {text.split()[0]!r}: {text.splitlines()[0]}")
    return faults


def main() -> int:
    faults = violations(ROOT, sorted({*tracked_files(ROOT), *GENERATED}))
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""Counts the package's lines of code, without docstrings, comments and blank lines: a limit and a target.

tools/checks/lines.py             the count, with status 1 where it is above the limit, which features raise
tools/checks/lines.py --folders   the count of each folder too
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "cyclotron"
LIMIT = 35_932
TARGET = 19_500
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstrings(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.stmt]]:
    """Yield each module, class and function that has a docstring, with the statement that is it."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and node.body:
            first = node.body[0]
            text = first.value if isinstance(first, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield node, first


def code_lines(text: str) -> int:
    """Count the lines that hold code: a token that is no comment, outside of docstrings."""
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            held.update(range(token.start[0], token.end[0] + 1))
    for _, statement in docstrings(ast.parse(text)):
        held.difference_update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return len(held)


def count(root: Path) -> Counter[str]:
    """Count the lines of code of each folder of the package."""
    result: Counter[str] = Counter()
    for path in sorted((root / PACKAGE).rglob("*.py")):
        result[str(path.parent.relative_to(root))] += code_lines(path.read_text())
    return result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folders", action="store_true", help="print the count of each folder too")
    options = parser.parse_args()
    folders = count(ROOT)
    if options.folders:
        for folder, lines in sorted(folders.items()):
            print(f"{lines:7,}  {folder}")
    total = sum(folders.values())
    print(f"{PACKAGE}: {total:,} lines of code, at most {LIMIT:,}; the target is {TARGET:,}")
    return 1 if total > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())

"""The pages of error codes: programs that fail and programs that do not, run while the site is built.

A page of docs/errors has a ``prologue`` and, for each code, a ``fails`` block, with the code as its argument,
and a ``works`` block; both take ``mpi`` as an argument where they start ranks. Of the few codes that
no program can give, an ``elsewhere`` block names the kept text. The tests read the same pages.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/errors"
GOLDEN = ROOT / "tests/golden/refusals"
HEADING = re.compile(r"^## (CYC\d{3}) · (.+)$", re.MULTILINE)
BLOCK = re.compile(
    r"^```\{(prologue|fails|works|elsewhere)\} ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


class Case(NamedTuple):
    """A code with its programs, empty where it has none, and the file that keeps its text elsewhere."""

    code: str
    title: str
    page: str
    prologue: str
    fails: str
    works: str
    elsewhere: str
    starts_ranks: bool


def prologue_of(text: str) -> str:
    return "".join(block[3] for block in BLOCK.finditer(text) if block[1] == "prologue")


def cases() -> Iterator[Case]:
    """Yield the codes of all pages, in the order of their text."""
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text()
        headings = list(HEADING.finditer(text))
        for number, heading in enumerate(headings):
            end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
            blocks = {block[1]: block for block in BLOCK.finditer(text, heading.end(), end)}
            program = {kind: blocks[kind][3] if kind in blocks else "" for kind in ("fails", "works")}
            yield Case(
                heading[1],
                heading[2],
                page.stem,
                prologue_of(text),
                **program,
                elsewhere=blocks["elsewhere"][2] if "elsewhere" in blocks else "",
                starts_ranks=any(block[2].endswith("mpi") for block in blocks.values()),
            )


def run(prologue: str, program: str) -> Exception | None:
    """Run a program in a folder of its own; the exception that it raised."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(f"{prologue}\n{program}")
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                runpy.run_path(str(path))
        except Exception as error:
            error.args = (*error.args, str(error))  # with the lines of the source, while the file is there
            return error
        finally:
            os.chdir(before)
    return None


def shown(error: Exception) -> str:
    """The text of an error as a user sees it."""
    return f"{type(error).__name__}: {error.args[-1]}"


def setup(app: Any) -> dict[str, bool]:
    import refusal_directives

    refusal_directives.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

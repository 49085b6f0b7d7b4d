"""The directives of the pages of error codes: they run the programs and show what the failing ones say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import refusals
from docutils import nodes
from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx.util.docutils import SphinxDirective


def listing(text: str, language: str, *classes: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language=language, classes=list(classes))


def caption(text: str) -> nodes.paragraph:
    return nodes.paragraph("", "", nodes.strong(text=text), classes=["caption-of-program"])


class Program(SphinxDirective):
    has_content = True
    optional_arguments = 2

    @property
    def text(self) -> str:
        return "\n".join(self.content)

    def outcome(self) -> Exception | None:
        prologue = refusals.prologue_of(Path(self.env.doc2path(self.env.docname)).read_text())
        return refusals.run(prologue, self.text)


class Prologue(Program):
    def run(self) -> list[nodes.Node]:
        return [listing(self.text, "python")]


class Fails(Program):
    def run(self) -> list[nodes.Node]:
        code = self.arguments[0]
        error = self.outcome()
        if getattr(error, "code", None) != code:
            raise self.error(f"the program of {code} raises {error!r}")
        program = [caption("This fails:"), listing(self.text, "python")]
        return [*program, listing(refusals.shown(error), "text", "refusal")]


class Works(Program):
    def run(self) -> list[nodes.Node]:
        error = self.outcome()
        if error is not None:
            raise self.error(f"a mended program raises {error!r}")
        return [caption("This runs:"), listing(self.text, "python")]


class Elsewhere(Program):
    """A code that no Python program gives: why, and the text that a test of the core keeps."""

    def run(self) -> list[nodes.Node]:
        text = (refusals.GOLDEN / f"{self.arguments[0]}.txt").read_text().rstrip()
        return [nodes.paragraph(text=self.text), listing(text, "text", "refusal")]


class Codes(SphinxDirective):
    """The table of all codes, with links."""

    def run(self) -> list[nodes.Node]:
        lines = ["| code | what it says |", "| --- | --- |"]
        for case in sorted(refusals.cases()):
            lines.append(f"| [{case.code}]({case.page}.md#{case.code.lower()}) | {case.title} |")
        return self.parse_text_to_nodes("\n".join(lines))


def slug(title: str) -> str:
    """The anchor of a heading: of a code the code alone, so that links outlast a new title."""
    code = re.match(r"CYC\d{3}\b", title)
    return code[0].lower() if code else default_slugify(title)


def setup(app: Any) -> None:
    for name, directive in {
        "prologue": Prologue,
        "fails": Fails,
        "works": Works,
        "elsewhere": Elsewhere,
        "codes": Codes,
    }.items():
        app.add_directive(name, directive)

"""Formulas as MathML, which browsers draw by themselves: pages are whole without a network."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

_LETTERS = re.compile(r'<mrow>((?:<(mi|mtext) mathvariant="italic">[^<]+</\2>)+)</mrow>')


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula of a line."""
    writer.body.append(f'<span class="math">{_formula(node, "inline")}</span>')
    raise nodes.SkipNode


def display(writer: Any, node: nodes.math_block) -> None:
    """Write a formula that has lines of its own."""
    writer.body.append(f'<div class="math">{_formula(node, "block")}</div>')
    raise nodes.SkipNode


def _formula(node: nodes.Element, display: str) -> str:
    text = " ".join(node.astext().split())  # a space at the end of a line is one, too
    return _LETTERS.sub(_word, convert(text, display=display))


def _word(letters: re.Match[str]) -> str:
    """Return a name of several letters as one, which stand as far apart as those of a word."""
    return f'<mi style="font-style: italic">{re.sub("<.*?>", "", letters[1])}</mi>'


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer under the name that `html_math_renderer` gives."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True}

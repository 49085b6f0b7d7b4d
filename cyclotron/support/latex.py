"""The printed notation of recurrences, dataflow and PE programs, as LaTeX in the paper's style.

The notation is a small language that the core prints and reads; here it is spelt in LaTeX token by token, so
that whatever prints has a LaTeX form: ``(i, j-1, k)_A^mul`` is ``(i,\\,j-1,\\,k)_{A}^{\\mathrm{mul}}``,
``A[i, k]`` is ``A_{ik}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?j?)|"
    # With the line and number of a version, and the letter of an operand: `u@36_2.a`.
    r"(?P<name>(?!ᵀ)[^\W\d](?:(?!ᵀ)[\w'])*(?:@\d+(?:_\d+)?)?(?:\.[a-z](?!\w))?)"
    r"|(?P<two><=|>=|\.\.)|(?P<one>.)",
    re.DOTALL,
)
_SYMBOLS = {
    "←": r"\leftarrow ",
    "→": r"\rightarrow ",
    "↦": r"\mapsto ",
    "·": r"\cdot ",
    "@": r"\,",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "≤": r"\leq ",
    "≥": r"\geq ",
    "<=": r"\leq ",
    ">=": r"\geq ",
    "..": r"\ldots ",
    "{": r"\{",
    "}": r"\}",
    ",": r",\,",
    "%": r"\%",
    "#": r"\#",
    "&": r"\&",
    "$": r"\$",
    "\\": r"\backslash ",
    "^": r"\hat{}",
    "~": r"\sim ",
}
_WORDS = {
    "and": r",\ ",
    "or": r"\ \vee\ ",
    "mod": r"\ \mathrm{mod}\ ",
    "inf": r"\infty ",
    "everywhere": r"\mathrm{everywhere}",
    "for": r"\mathbf{for}\ ",
}
_FOLDS = {"Σ": r"\sum", "Π": r"\prod", "max": r"\max", "min": r"\min"}


def to_latex(text: str, names: Mapping[str, str] | None = None) -> str:
    """Return one line of the notation in LaTeX, for math mode.

    Parameters
    ----------
    text : str
        E.g. ``C[i, j] = Σ_{0 <= k <= 3} (A[i, k] · B[k, j])``.
    names : mapping, optional
        How to spell some names, e.g. ``{"Xa": "X_{a}"}``; others are spelt as they are.
    """
    return _Line(text, names or {}).run()


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of LaTeX cells as a display, columns aligned left."""
    columns = max((len(row) for row in rows), default=1)
    body = " \\\\\n".join(" & ".join(row) for row in rows)
    return f"$$\n\\begin{{array}}{{{'l' * columns}}}\n{body}\n\\end{{array}}\n$$"


def words(text: str) -> str:
    """Return plain words for math mode."""
    return rf"\mathrm{{{_escaped(text)}}}" if text else ""


def _escaped(text: str) -> str:
    text = re.sub(r"([#$%&_{}])", r"\\\1", text.replace("\\", "/"))
    return text.replace("^", r"\hat{}").replace("~", r"\sim{}").replace(" ", r"\ ")


class _Line:
    """Reads one line from left to right; each method consumes what it spells."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self._tokens = [(m.lastgroup or "", m.group()) for m in _TOKEN.finditer(text)]
        self._names = names
        self._at = 0

    def run(self) -> str:
        return self._until(frozenset())

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at][1] if at < len(self._tokens) else ""

    def _until(self, ends: frozenset[str]) -> str:
        parts: list[str] = []
        while self._at < len(self._tokens) and self._peek() not in ends:
            part = self._item()
            if self._peek() == "ᵀ":  # in braces, since the operand may have a superscript of its own
                self._at += 1
                part = f"{{{part}}}^{{T}}"
            parts.append(part)
        return re.sub(r" +,", ",", re.sub(r" {2,}", " ", "".join(parts))).strip()

    def _item(self) -> str:
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "space":
            return " "
        if kind == "name":
            return self._name(text)
        if text == "(":
            return "(" + self._group(")") + ")" + self._owner()
        if text == "[":
            return "[" + self._group("]") + "]" + self._owner()
        return _SYMBOLS.get(text, text)

    def _group(self, end: str) -> str:
        inside = self._until(frozenset(end))
        self._at += 1
        return inside

    def _owner(self) -> str:
        """The tensor and space of a value at a point: ``_A^mul``."""
        if not self._peek().startswith("_"):
            return ""
        result = f"_{{{self._spelt(self._peek()[1:])}}}"
        self._at += 1
        if self._peek() == "^":
            result += rf"^{{\mathrm{{{_escaped(self._peek(1))}}}}}"
            self._at += 2
        return result

    def _name(self, name: str) -> str:
        if name.endswith("_") and name[:-1] in _FOLDS and self._peek() == "{":
            self._at += 1
            return f"{_FOLDS[name[:-1]]}_{{{self._group('}')}}}"
        if self._peek() == "(":
            return self._call(name, "")
        if self._peek() == "[":
            self._at += 1
            subscript = self._subscript()
            if self._peek() == "(":  # an operator's flags
                return self._call(name, subscript)
            return f"{self._spelt(name)}_{{{subscript}}}" if subscript else self._spelt(name)
        return _WORDS.get(name) or self._spelt(name)

    def _call(self, name: str, flags: str) -> str:
        self._at += 1
        arguments = self._group(")")
        if name == "sqrt":
            return rf"\sqrt{{{arguments}}}"
        operator = rf"\operatorname{{{_escaped(name)}}}"
        return f"{operator}{f'_{{{flags}}}' if flags else ''}({arguments})"

    def _subscript(self) -> str:
        """Bare one-letter indices stand together as in the paper, others with commas."""
        start = self._at
        inside = self._group("]")
        parts = "".join(text for _, text in self._tokens[start : self._at - 1]).replace(" ", "").split(",")
        return "".join(parts) if all(len(p) == 1 and p.isalpha() for p in parts) else inside

    def _spelt(self, name: str) -> str:
        if name in self._names:
            return self._names[name]
        bare = name.rstrip("'")
        primes = name[len(bare) :]
        return (bare if len(bare) == 1 else rf"\mathit{{{_escaped(bare)}}}") + primes

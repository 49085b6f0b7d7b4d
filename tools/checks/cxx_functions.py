"""Finds the functions that C++ sources define, with their lines, without a compiler.

Comments, literals and preprocessor lines are blanked first, and of conditional text all branches but the
first. Braces are then followed from the file's scope through namespaces and classes to those of functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

BLANKED = re.compile(
    r"""
    //(?:[^\n\\]|\\.)*
    | /\*.*?\*/
    | \b(?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"
    | "(?:[^"\\\n]|\\.)*"
    | (?P<number>\b\d[\w']*)  # before characters: an apostrophe separates digits
    | '(?:[^'\\\n]|\\.)+'
    """,
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)(?:\\\n|[^\n])*", re.MULTILINE)
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|\balignas\s*\([^()]*\)", re.DOTALL)
ACCESS = re.compile(r"^\s*(?:(?:public|private|protected)\s*:(?!:)\s*)*")
OPERATOR = re.compile(r"\boperator\b\s*(?:\(\s*\)|\[\s*\]|[^\s\w()]+|\w[\w:<> ]*[*&]*)")
SCOPE = re.compile(r"^(?:inline\s+)?namespace\b|^(?:extern|(?:typedef\s+)?(?:class|struct|union))\b[^()]*$")
INITIALIZERS = re.compile(r"\)\s*(?:noexcept\s*(?:\(\)\s*)?)?:(?!:)")
LAMBDA = re.compile(r"=\s*\[\]")


class Function(NamedTuple):
    """The name of a function as written, with its first and last line, from 1."""

    name: str
    first: int
    last: int

    @property
    def lines(self) -> int:
        return self.last - self.first + 1


def blank(text: str) -> str:
    """Return the text with blanks in place of comments, literals and preprocessor lines; lines stay."""

    def spaces(match: re.Match[str]) -> str:
        if match.group("number"):
            return match.group().replace("'", " ")
        return re.sub(r"[^\n]", " ", match.group())

    text = BLANKED.sub(spaces, text)
    result: list[str] = []
    position = 0
    open_conditions: list[bool] = []  # of each, whether its text counts
    for directive in DIRECTIVE.finditer(text):
        counts = all(open_conditions)
        between = text[position : directive.start()]
        result.append(between if counts else re.sub(r"[^\n]", " ", between))
        result.append(re.sub(r"[^\n]", " ", directive.group()))
        position = directive.end()
        word = directive.group(1)
        if word in ("if", "ifdef", "ifndef"):
            open_conditions.append(True)
        elif word in ("elif", "else", "elifdef", "elifndef") and open_conditions:
            open_conditions[-1] = False
        elif word == "endif" and open_conditions:
            open_conditions.pop()
    result.append(text[position:])
    return "".join(result)


def plain(head: str) -> str:
    """Return a declaration without the attributes, access and `template <...>` before it."""
    head = ACCESS.sub("", ATTRIBUTE.sub(" ", head)).strip()
    while head.startswith("template"):
        depth = 0
        for position, character in enumerate(head.replace("<<", "  ")):
            depth += (character == "<") - (character == ">")
            if character == ">" and depth == 0:
                head = re.sub(r"^requires\s*\(.*?\)\s*(?=\w)", "", head[position + 1 :].strip())
                break
        else:
            break
    return head


def hollow(text: str) -> str:
    """Return the text without all that is in its brackets."""
    depth = 0
    result = []
    for character in text:
        depth -= character in ")}]"
        if depth == 0:
            result.append(character)
        depth += character in "({["
    return "".join(result)


def kind_of(head: str) -> str:
    """Tell what the brace after a declaration opens: a `scope`, a `function` or a `value`."""
    head = plain(head)
    if SCOPE.match(head):
        return "scope"
    flat = OPERATOR.sub("operator", hollow(head))
    if head.startswith("enum") or "(" not in flat:
        return "value"
    if "=" in flat:
        return "function" if LAMBDA.search(flat) else "value"
    initializes = INITIALIZERS.search(flat) and re.search(r"[\w>]\s*$", flat)  # `A() : a{1}`, before {1}
    return "value" if initializes else "function"


def name_of(head: str) -> str:
    """Return the name in the declaration of a function; of a macro with its arguments, as TEST(A, b)."""
    head = plain(head)
    operator = OPERATOR.search(head)
    if operator and "(" not in head[: operator.start()]:
        return " ".join(operator.group().split())
    before, _, rest = head.partition("(")
    if before.strip().isupper():
        return f"{before.strip()}({' '.join(rest.rpartition(')')[0].split())})"
    names = re.findall(r"~?\w+", before.partition("=")[0])
    return names[-1] if names else ""


def functions(text: str) -> Iterator[Function]:
    """Yield the functions that a source defines, of classes too, each with the lambdas in it."""
    text = blank(text)
    start = 0  # of the declaration that is read
    round_brackets = 0
    braces = 0  # open ones within a function or a value
    head = kind = ""
    for position, character in enumerate(text):
        if braces:
            braces += (character == "{") - (character == "}")
            if braces == 0 and kind == "function":
                first = text.count("\n", 0, start + len(head) - len(ACCESS.sub("", head))) + 1
                yield Function(name_of(head), first, text.count("\n", 0, position) + 1)
                start = position + 1
        elif character in "()":
            round_brackets += 1 if character == "(" else -1
        elif character == "{":
            head = text[start:position]
            kind = "value" if round_brackets else kind_of(head)
            if kind == "scope":
                start = position + 1
            else:
                braces = 1
        elif character == "}" or (character == ";" and not round_brackets):
            start = position + 1

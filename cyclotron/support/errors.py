"""The errors of Cyclotron: a code, a message, a place, notes and one suggestion, rendered in one way."""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from collections.abc import Iterable
from typing import Any, NamedTuple

from cyclotron.support.tracebacks import trimmed

_LONGEST_RENDERING = 15


class Span(NamedTuple):
    """A range of source text; lines from 1, columns from 0 (as in Python's ``ast``), line 0 if unknown."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


NO_SPAN = Span("", 0, 0, 0, 0)


class CyclotronError(Exception):
    """Base of all errors of Cyclotron.

    Parameters
    ----------
    message : str
        What is wrong, in lower case, without a final stop.
    code : str
        The stable code, e.g. ``"CYC104"``.
    span : Span or tuple, optional
        ``(file, line, column, end_line, end_column)`` of the guilty text.
    notes : iterable of (span or None, str)
        Further places or facts that explain the error.
    help : str, optional
        What to write instead.

    Examples
    --------
    >>> try:
    ...     cy.Schedule().space("i", "i")
    ... except cy.CyclotronError as error:
    ...     print(error.code)
    CYC303
    """

    def __init__(
        self,
        message: str,
        code: str = "CYC000",
        span: tuple[str, int, int, int, int] | None = None,
        notes: Iterable[tuple[tuple[str, int, int, int, int] | None, str]] = (),
        help: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = _known(span)
        self.notes = tuple((_known(where), text) for where, text in notes)
        self.help = help or None
        # As others make errors and warnings anew, of what they can send to another process: of builtin types.
        told = tuple((where and tuple(where), text) for where, text in self.notes)
        self.args = (message, code, self.span and tuple(self.span), told, self.help)
        # Kept with the error, since another process may not have the notebook cell.
        self._lines: dict[tuple[str, int], str] = {}
        self._files: dict[str, str] = {}
        for place in (self.span, *(where for where, _ in self.notes)):
            if place is not None:
                self._lines[place.file, place.line] = linecache.getline(place.file, place.line).rstrip("\n")
                self._files[place.file] = display_name(place.file)

    def __str__(self) -> str:
        return render(self)

    def _render_traceback_(self) -> list[str]:
        """Return the lines that notebooks show: those of the user's frames, then the error."""
        return traceback.format_exception(type(self), self, trimmed(self.__traceback__))

    def __reduce__(self) -> tuple[Any, ...]:
        fields = {"code": self.code, "span": self.span, "notes": self.notes, "help": self.help}
        extra = {key: value for key, value in self.__dict__.items() if key not in ("message", *fields)}
        return (_rebuild, (type(self), self.message, fields), extra)


class TraceError(CyclotronError, ValueError):
    """The kernel's text is not a recurrence.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return np.unwrap(x)
    >>> try:
    ...     f(np.ones(2))
    ... except cy.TraceError as error:
    ...     print(error.code)
    CYC105
    """


class ShapeError(CyclotronError, ValueError):
    """Shapes or dtypes do not fit.

    Examples
    --------
    >>> try:
    ...     cy.blocked(np.eye(2), (2,))
    ... except cy.ShapeError as error:
    ...     print(error.code)
    CYC122
    """


class ScheduleError(CyclotronError, ValueError):
    """A schedule names what does not exist, or is incomplete.

    Examples
    --------
    >>> try:
    ...     cy.Schedule().space("i", "i")
    ... except cy.ScheduleError as error:
    ...     print(error.code)
    CYC303
    """


class LegalityError(CyclotronError, ValueError):
    """A schedule or kernel breaks a dependence or single assignment.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     y = cy.empty_like(x)
    ...     for i in range(len(x)):
    ...         y[i] = x[i + 1]
    ...     return y
    >>> try:
    ...     f(np.ones(2))
    ... except cy.LegalityError as error:
    ...     print(error.code)
    CYC203
    """


class CapacityError(CyclotronError, MemoryError):
    """The machine is too small.

    Examples
    --------
    >>> @cy.kernel
    ... def f(A):
    ...     return A @ A
    >>> try:
    ...     f.compile(np.ones((8, 8)), machine=cy.Machine(pe=cy.PE(memory=16)))
    ... except cy.CapacityError as error:
    ...     print(error.code)
    CYC501
    """


class ProgramError(CyclotronError, ValueError):
    """A program file is corrupt, foreign or inconsistent.

    Examples
    --------
    >>> try:
    ...     cy.load("missing.cyc")
    ... except cy.ProgramError as error:
    ...     print(error.code)
    CYC601
    """


class DeadlockError(CyclotronError, RuntimeError):
    """No PE can advance.

    Examples
    --------
    >>> @cy.kernel
    ... def exchange(A):
    ...     T, n = A.shape
    ...     X = cy.empty_like(A)
    ...     for t in range(T):
    ...         for i in range(n):
    ...             if t < 5:
    ...                 X[t, i] = A[t, i]
    ...             elif i == 0:
    ...                 X[t, i] = X[t - 5, i + 1]
    ...             else:
    ...                 X[t, i] = X[t - 5, i - 1]
    ...     return X
    >>> program = exchange.compile(np.ones((12, 2)), schedule=cy.Schedule().space("i"))
    >>> try:
    ...     cy.run(program.with_machine(cy.Machine(link=cy.Link(depth=2))), backend="sim")
    ... except cy.DeadlockError as error:
    ...     print(error.code)
    CYC801
    """


class BackendUnavailable(CyclotronError, RuntimeError):  # noqa: N818 (the name of the design)
    """A backend is not installed.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> try:
    ...     cy.run(program, backend="gpu")
    ... except cy.BackendUnavailable as error:
    ...     print(error.code)
    CYC720
    """


class ExecutionError(CyclotronError, RuntimeError):
    """A PE failed while running, or a loop did not end.

    Attributes
    ----------
    result : Result or None
        What was computed until then, where a ``while`` took its most steps (CYC719).

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> try:
    ...     cy.run(program, backend="local").cycles
    ... except cy.ExecutionError as error:
    ...     print(error.code)
    CYC712
    """

    result: Any = None

    @property
    def operator_failed(self) -> bool:
        """True where an operator is not defined for the numbers that it was given (CYC701)."""
        return self.code == "CYC701"


class NotMeasuredError(ExecutionError, AttributeError):
    """A result has not measured what is asked of it (CYC712): `hasattr` is False, as of attributes."""


class PerformanceWarning(CyclotronError, UserWarning):  # noqa: N818 (the name of Python's warnings)
    """A program is slower than it could be: a default schedule, or a loop that runs to its bound; says why.

    Given by ``warnings.warn`` once a compilation.

    Examples
    --------
    >>> import warnings
    >>> @cy.kernel
    ... def symmetric(A, B):
    ...     C = A @ B
    ...     return C.T + C
    >>> links = cy.LinkMap("(i, j) -> (i, (j + 1) % 8)"), cy.LinkMap("(i, j) -> ((i + 1) % 8, j)")
    >>> one_way = cy.Machine(topology=links, grid=(8, 8))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", cy.PerformanceWarning)
    ...     program = symmetric.compile(np.ones((8, 8)), np.ones((8, 8)), machine=one_way)
    >>> [warning.message.code for warning in caught]
    ['CYC330']
    """


class InternalError(CyclotronError, RuntimeError):
    """A bug of Cyclotron's own.

    Examples
    --------
    >>> issubclass(cy.InternalError, cy.CyclotronError)
    True
    """


def render(error: CyclotronError) -> str:
    """Return the text of an error, for terminals and notebooks alike, in at most 15 lines.

    Parameters
    ----------
    error : CyclotronError
        The error.

    Returns
    -------
    str
        Message and code, place, source line with carets, notes, and help.
    """
    first, *rest = error.message.splitlines() or [""]
    lines = [f"{first} [{error.code}]", *rest]
    width = _number_width(error)
    if error.span is not None:
        lines += _excerpt(error, error.span, "-->", width)
    tail = [
        f"{' ' * width}= help: {line}" if n == 0 else f"{' ' * width}        {line}"
        for n, line in enumerate((error.help or "").splitlines())
    ]
    for number, (where, text) in enumerate(error.notes):
        note = [f"{' ' * width}= note: {text}"]
        if where is not None:
            note += _excerpt(error, where, "-->", width)
        left = len(error.notes) - number - 1
        if len(lines) + len(note) + len(tail) + (left > 0) > _LONGEST_RENDERING:
            lines.append(f"{' ' * width}= note: {left + 1} more")
            break
        lines += note
    return "\n".join([*lines[: _LONGEST_RENDERING - len(tail)], *tail])


def _known(span: tuple[str, int, int, int, int] | None) -> Span | None:
    return Span(*span) if span is not None and span[1] > 0 else None


def _rebuild(cls: type[CyclotronError], message: str, fields: dict[str, Any]) -> CyclotronError:
    return cls(message, **fields)


def _number_width(error: CyclotronError) -> int:
    """Width of the gutter: five columns as in the examples, more for long files."""
    places = (error.span, *(where for where, _ in error.notes))
    return max([5, *(len(str(place.line)) + 1 for place in places if place is not None)])


def _excerpt(error: CyclotronError, span: Span, arrow: str, width: int) -> list[str]:
    name = error._files.get(span.file, span.file)
    place = f"{' ' * (width - 3)}{arrow} {name}:{span.line}:{span.column + 1}"
    text = error._lines.get((span.file, span.line), "")
    if not text.strip():
        return [place]
    end = span.end_column if span.end_line == span.line else len(text)
    end = min(max(end, span.column + 1), max(len(text), span.column + 1))
    # Tabs stay tabs in the padding, so that the carets line up whatever their width.
    padding = "".join(c if c == "\t" else " " for c in text[: span.column])
    return [place, f"{span.line:>{width}} | {text}", f"{' ' * width} | {padding}{'^' * (end - span.column)}"]


def display_name(file: str) -> str:
    """Shorten a file name: a notebook cell by its number, a file below the working directory relatively."""
    interactive = sys.modules.get("IPython")
    if interactive is not None:
        shell = interactive.get_ipython()
        name = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
        if name:
            return " ".join(name)
    try:
        relative = os.path.relpath(file)
    except (ValueError, OSError):
        return file
    return file if relative.startswith("..") or file.startswith("<") else relative

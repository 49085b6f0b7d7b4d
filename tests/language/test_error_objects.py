"""Errors as objects: rendering, pickling, and cells of notebooks."""

from __future__ import annotations

import copy
import linecache
import pickle
import sys
from pathlib import Path

import pytest

from cyclotron.support import errors
from cyclotron.support.errors import CyclotronError, ScheduleError, Span

CLASSES = {
    errors.TraceError: ValueError,
    errors.ShapeError: ValueError,
    errors.ScheduleError: ValueError,
    errors.LegalityError: ValueError,
    errors.CapacityError: MemoryError,
    errors.ProgramError: ValueError,
    errors.DeadlockError: RuntimeError,
    errors.BackendUnavailable: RuntimeError,
    errors.ExecutionError: RuntimeError,
    errors.InternalError: RuntimeError,
}


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScheduleError:
    """The example of the house style."""
    monkeypatch.chdir(tmp_path)
    lines = ["\n"] * 8 + ["        acc[i, k] = acc[i, k-1] + a[i, k] * b[k]\n", "\tX[i] = 1\n"]
    (tmp_path / "dot.py").write_text("".join(lines))
    return ScheduleError(
        "`acc[i, k-1]` is read at cycle i - k but written one cycle later",
        code="CYC302",
        span=(str(tmp_path / "dot.py"), 9, 20, 9, 31),
        notes=[((str(tmp_path / "dot.py"), 10, 1, 10, 5), "the schedule is set here"), (None, "so it is")],
        help='give k a positive coefficient,\nfor example "i + k"',
    )


def test_rendering(example: ScheduleError) -> None:
    assert str(example).split("\n") == [
        "`acc[i, k-1]` is read at cycle i - k but written one cycle later [CYC302]",
        "  --> dot.py:9:21",
        "    9 |         acc[i, k] = acc[i, k-1] + a[i, k] * b[k]",
        "      |                     ^^^^^^^^^^^",
        "     = note: the schedule is set here",
        "  --> dot.py:10:2",
        "   10 | \tX[i] = 1",
        "      | \t^^^^",
        "     = note: so it is",
        "     = help: give k a positive coefficient,",
        '             for example "i + k"',
    ]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_cross_processes(example: ScheduleError, protocol: int) -> None:
    """With all fields, and the text of the source, which the other side may not have."""
    text = str(example)
    dumped = pickle.dumps(example, protocol)
    assert example.span is not None
    Path(example.span.file).unlink()
    linecache.clearcache()
    loaded = pickle.loads(dumped)
    assert type(loaded) is ScheduleError
    assert str(loaded) == text
    assert (loaded.code, loaded.span, loaded.notes, loaded.help) == (
        example.code,
        example.span,
        example.notes,
        example.help,
    )
    assert str(copy.copy(example)) == text


@pytest.mark.parametrize("kind", [ScheduleError, errors.PerformanceWarning])
def test_arguments_make_it_anew(example: ScheduleError, kind: type[CyclotronError]) -> None:
    """As pytest-xdist does with warnings; they are of builtin types, which it can send."""
    error = kind(
        example.message, code=example.code, span=example.span, notes=example.notes, help=example.help
    )
    assert str(kind(*error.args)) == str(error)
    parts: list[object] = [error.args]
    for part in parts:
        parts += part if isinstance(part, tuple) else []
    assert {type(part) for part in parts} <= {tuple, str, int, type(None)}


@pytest.mark.parametrize("kind", CLASSES)
def test_classes(kind: type[CyclotronError]) -> None:
    error = kind("it is wrong", code="CYC999")
    assert isinstance(error, CLASSES[kind])
    assert isinstance(error, CyclotronError)
    assert str(error) == "it is wrong [CYC999]"
    assert (error.span, error.notes, error.help) == (None, (), None)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_an_unknown_place_is_none() -> None:
    assert CyclotronError("x", span=("", 0, 0, 0, 0)).span is None
    missing = CyclotronError("x", code="CYC999", span=("/nowhere/gone.py", 3, 4, 3, 9))
    assert str(missing) == "x [CYC999]\n  --> /nowhere/gone.py:3:5"


def test_spans_of_several_lines_mark_the_first(example: ScheduleError) -> None:
    assert isinstance(example.span, Span)
    error = CyclotronError("x", span=example.span._replace(end_line=10, end_column=3))
    assert str(error).splitlines()[-1].count("^") == len("acc[i, k-1] + a[i, k] * b[k]")


def test_long_errors_are_cut(example: ScheduleError) -> None:
    """At most 15 lines; the help stays."""
    error = CyclotronError("x", span=example.span, notes=[(example.span, "here")] * 9, help="do that")
    lines = str(error).splitlines()
    assert len(lines) <= 15
    assert lines[-1].endswith("help: do that")
    assert lines[-2].endswith("note: 7 more")


def test_cells_of_a_notebook() -> None:
    """A kernel in a cell is traced, and its errors name the cell and show its text."""
    testing = pytest.importorskip("IPython.testing.globalipapp")
    shell = testing.start_ipython() or testing.get_ipython()
    cell = "\n".join(
        [
            "import cyclotron as cy",
            "@cy.kernel",
            "def cell(x):",
            "    y = cy.empty_like(x)",
            "    for i in range(len(x)):",
            "        y[i] = x[i * i]",
            "    return y",
            "caught = None",
            "try:",
            "    cell.recurrences(cy.spec(3))",
            "except cy.TraceError as error:",
            "    caught = str(error)",
        ]
    )
    shell.run_cell(cell, store_history=True).raise_error()
    lines = shell.user_ns["caught"].splitlines()
    assert lines[1].startswith("  --> Cell In[")
    assert lines[1].endswith("]:6:18" if sys.version_info >= (3, 11) else "]:6:9")
    assert lines[2] == "    6 |         y[i] = x[i * i]"

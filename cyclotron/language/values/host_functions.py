"""Functions of the user that kernels call, over constants: the arrays around them are as those of kernels."""

from __future__ import annotations

import dis
import os
import sysconfig
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import Any, TypeGuard

import numpy as np

from cyclotron.language.values.blocked import Blocked
from cyclotron.language.values.host_arrays import captured

_INSTALLED = ("<frozen ", *{sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib", "platlib")})
_ASSIGNING = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF")


def names_outside(code: CodeType) -> set[str]:
    """The names of globals and attributes in a function and the functions in it."""
    inner = (names_outside(part) for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*inner)


def reads_arrays(value: object) -> bool:
    """Return whether a value is an array, or a function of the user which, or which by others, reads some."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, (np.ndarray, Blocked)):
            return True
        if _is_made_anew(one) and id(one) not in seen:
            seen.add(id(one))
            pending += [value for _, value in around(one)]
    return False


def over_constants(function: FunctionType, *, known: dict[int, FunctionType] | None = None) -> FunctionType:
    """The same function, with arrays among its globals, defaults and the variables around it captured.

    So are those of the user's functions that it calls; `known` are those that are made already.
    """
    made = {} if known is None else known
    if id(function) in made:
        return made[id(function)]
    outside = _Outside(function.__globals__)
    cells = tuple(CellType() if _holds_arrays(cell) else cell for _, cell in _cells(function))
    new = FunctionType(function.__code__, outside, function.__name__, function.__defaults__, cells)
    made[id(function)] = new

    for name in names_outside(function.__code__) & outside.keys():
        outside.capture(name, made)
    for cell, (name, old) in zip(cells, _cells(function), strict=True):
        if cell is not old:
            cell.cell_contents = outer(old.cell_contents, name=name, known=made)
    defaults = {name: outer(value, name=name, known=made) for name, value in _defaults(function)}
    new.__defaults__ = tuple(defaults[name] for name in _with_defaults(function)) or None
    new.__kwdefaults__ = {name: defaults[name] for name in function.__kwdefaults__ or ()} or None
    new.__dict__ = function.__dict__  # also what it assigns of its own attributes
    return new


class _Outside(dict[str, Any]):
    """The globals of a function when it reads them, with those that hold arrays captured.

    Python asks for each by `__getitem__`, but for a few, as `__builtins__`, that are here as they are there.
    """

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(names)
        self._names = names
        self._captured: dict[str, tuple[Any, Any]] = {}

    def capture(self, name: str, known: dict[int, FunctionType]) -> None:
        """Capture what a name holds now."""
        value = self._names[name]
        self._captured[name] = value, outer(value, name=name, known=known)

    def __getitem__(self, name: str) -> Any:
        value = self._names[name]
        before, captured = self._captured.get(name, (None, None))
        return captured if value is before else value


def outer(value: Any, *, name: str, known: dict[int, FunctionType] | None = None) -> Any:
    """Return a variable around a function as kernels read it; arrays are captured, also of functions."""
    if _is_made_anew(value):
        return over_constants(value, known=known) if reads_arrays(value) else value
    return captured(value, name=name)


def is_of_user(value: object) -> TypeGuard[FunctionType]:
    """Return whether a value is a function of the user's: of no library."""
    if not isinstance(value, FunctionType) or (value.__module__ or "").partition(".")[0] == "cyclotron":
        return False
    return not value.__code__.co_filename.startswith(_INSTALLED)


def _is_made_anew(value: object) -> TypeGuard[FunctionType]:
    """Return whether a value is a function of the user's without effects on names."""
    return is_of_user(value) and not _assigns(value.__code__)


def _assigns(code: CodeType) -> bool:
    """Return whether a function assigns variables around it."""
    around = set(code.co_freevars)
    return any(
        instruction.opname in _ASSIGNING and ("GLOBAL" in instruction.opname or instruction.argval in around)
        for instruction in dis.get_instructions(code)
    ) or any(_assigns(part) for part in code.co_consts if isinstance(part, CodeType))


def around(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the variables around a function that it reads, by name."""
    for name in names_outside(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    yield from ((name, cell.cell_contents) for name, cell in _cells(function) if not _is_empty(cell))
    yield from _defaults(function)


def _cells(function: FunctionType) -> Iterator[tuple[str, CellType]]:
    yield from zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)


def _is_empty(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def _holds_arrays(cell: CellType) -> bool:
    return not _is_empty(cell) and reads_arrays(cell.cell_contents)


def _defaults(function: FunctionType) -> Iterator[tuple[str, Any]]:
    yield from zip(_with_defaults(function), function.__defaults__ or (), strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def _with_defaults(function: FunctionType) -> tuple[str, ...]:
    code, count = function.__code__, len(function.__defaults__ or ())
    return code.co_varnames[code.co_argcount - count : code.co_argcount]

"""A failing case as a file for others: `save_repro`."""

from __future__ import annotations

import inspect
import io
import json
import sys
import textwrap
import traceback
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from cyclotron.compiler.case import Case, last_case
from cyclotron.language import Kernel, Spec
from cyclotron.language.syntax.source import closure_of
from cyclotron.support.data import to_json
from cyclotron.support.environment import configuration
from cyclotron.support.errors import ProgramError, TraceError
from cyclotron.support.files import write_file

_README = """\
A case of Cyclotron, as saved by cyclotron.save_repro.

repro.py        runs it again: python repro.py
arguments.json  name, dtype, shape and tile of each array, value of each other argument; no numbers of arrays
versions.json   what it ran with
error.txt       the error, with its traceback
"""


def save_repro(path: str | Path, error: BaseException | None = None) -> None:
    """Bundle the last kernel that was compiled or run in this process, as a zip file to attach to a report.

    It holds the kernel's text with the texts of kernels and functions that it calls and the numbers that it
    refers to, the schedule and the machine, the shapes and dtypes of arguments (random numbers of a fixed
    seed take the place of theirs), versions, and the error. ``python repro.py`` in the unpacked folder runs
    the case again.

    Parameters
    ----------
    path : str or Path
        By habit ``*.zip``; replaced only when the bundle is complete.
    error : BaseException, optional
        By default the one that is being handled, or the last one that ended a statement at a prompt.

    Returns
    -------
    None
        Once the bundle is on disk.

    Raises
    ------
    ProgramError
        If nothing was compiled yet, nothing refers to that kernel any more, or the error is none (CYC622).
    OSError
        If it cannot be written.

    Examples
    --------
    >>> import cyclotron as cy, numpy as np, pathlib, tempfile, zipfile
    >>> @cy.kernel
    ... def double(x):
    ...     return 2 * x
    >>> program = double.compile(np.ones(3))
    >>> path = pathlib.Path(tempfile.mkdtemp(), "double.zip")
    >>> cy.save_repro(path)
    >>> sorted(zipfile.ZipFile(path).namelist())
    ['README.txt', 'arguments.json', 'repro.py', 'versions.json']
    """
    if not (error is None or isinstance(error, BaseException)):
        raise _not_saved(
            f"the error of save_repro() is a `{type(error).__name__}`",
            "give the error that was caught, or none: the kernel is that of the last compilation or run",
        )
    case = last_case()
    if case is None:
        raise _not_saved(
            "no kernel was compiled in this process",
            "call save_repro after the compilation or the run that fails",
        )
    kernel = case.kernel()
    if kernel is None:
        raise _not_saved(
            "the kernel that was compiled or run last is gone: nothing refers to it any more",
            "call save_repro where the error is caught, or keep the kernel",
        )
    error = error or sys.exc_info()[1] or getattr(sys, "last_value", None)
    files = {
        "README.txt": _README,
        "repro.py": _script(kernel, case),
        "arguments.json": to_json(_arguments(kernel, case), indent=2),
        "versions.json": json.dumps(configuration(), indent=2),
    }
    if error is not None:
        files["error.txt"] = "".join(traceback.format_exception(error))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, text in files.items():
            bundle.writestr(name, text)
    write_file(path, content.getvalue())


def _arguments(kernel: Kernel, case: Case) -> list[dict[str, Any]]:
    """Each argument by what the compiler needs to know of it."""
    named = zip(kernel.signature.parameters, case.values, strict=True)
    return [
        {"name": name, "dtype": value.dtype, "shape": value.shape, "tile": value.tile}
        if isinstance(value, Spec)
        else {"name": name, "value": repr(value)}
        for name, value in named
    ]


def _script(kernel: Kernel, case: Case) -> str:
    """The text of ``repro.py``."""
    lines: dict[str, None] = dict.fromkeys(["import numpy as np", "", "import cyclotron as cy", ""])
    _define(kernel.name, kernel, lines, set())
    arguments = [f"    {_argument(value)}," for value in case.values]
    lines |= dict.fromkeys(["", "rng = np.random.default_rng(0)"])
    text = [*lines, f"program = {kernel.name}.compile(", *arguments]
    if case.schedule is not None:
        text.append(f"    schedule={case.schedule!r},")
    if case.machine is not None:
        text.append(f"    machine={case.machine!r},")
    if case.tile is not None:
        tile = dict(case.tile) if isinstance(case.tile, Mapping) else case.tile
        text.append(f"    tile={tile!r},")
    text += [")", "print(program.explain())"]
    if case.backend is not None:
        options = "".join(f", {name}={value!r}" for name, value in case.options.items())
        text.append(f"print(cy.run(program, backend={case.backend!r}{options}).outputs)")
    return "\n".join(text) + "\n"


def _argument(value: Any) -> str:
    """The code of an argument: random numbers, positive so that roots and divisions are defined."""
    if not isinstance(value, Spec):
        return repr(value)
    array = f"(rng.random({value.shape!r}) * 9 + 1).astype({value.dtype!r})"
    return array if value.tile is None else f"cy.blocked({array}, {value.tile!r})"


def _define(name: str, value: Any, lines: dict[str, None], done: set[str]) -> None:
    """Add the code that defines a name of the kernel's surroundings, after those that it needs itself."""
    if name in done or (name in ("np", "cy") and isinstance(value, ModuleType)):
        return
    done.add(name)
    if isinstance(value, ModuleType):
        lines[f"import {value.__name__} as {name}"] = None
    elif isinstance(value, Kernel | FunctionType):
        function = value._function if isinstance(value, Kernel) else value
        around = {**function.__globals__, **closure_of(function)}
        for other in _names(function):
            if other in around:
                _define(other, around[other], lines, done)
        lines[f"\n{_text(value)}\n"] = None
    elif isinstance(value, np.ndarray):
        array = _argument(Spec(value.shape, value.dtype.name, None))
        lines[f"{name} = {array}".replace("rng.random(", "np.random.random_sample(")] = None
    elif isinstance(value, bool | int | float | complex | str | np.generic | np.dtype) or value is None:
        lines[f"{name} = {_literal(value)}"] = None
    elif isinstance(value, type) and value.__module__ != "__main__":
        lines[f"from {value.__module__} import {value.__qualname__} as {name}"] = None
    else:
        lines[f"{name} = None  # a `{type(value).__name__}`, which is not in this bundle"] = None


def _literal(value: Any) -> str:
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name}({value.item()!r})"
    if isinstance(value, float) and not np.isfinite(value):
        return f"float({str(value)!r})"
    return f"np.dtype({value.name!r})" if isinstance(value, np.dtype) else repr(value)


def _names(function: FunctionType) -> tuple[str, ...]:
    """The names that a function and functions inside it refer to."""
    codes, names = [function.__code__], dict.fromkeys(function.__code__.co_freevars)
    while codes:
        code = codes.pop()
        names |= dict.fromkeys(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, type(code))]
    return tuple(names)


def _text(value: Kernel | FunctionType) -> str:
    try:
        text = value.source if isinstance(value, Kernel) else inspect.getsource(value)
    except (OSError, TypeError, TraceError) as error:
        return f"# the text of {value!r} is not here: {error}"
    return textwrap.dedent(text).strip()


def _not_saved(message: str, help: str) -> ProgramError:
    return ProgramError(message, code="CYC622", help=help)

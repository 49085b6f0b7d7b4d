"""Errors of Python in a kernel's text while it is recorded, told as those of the compiler."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from cyclotron.language.syntax.source import Source, managers
from cyclotron.language.syntax.trees import walk
from cyclotron.language.trace.with_blocks import fuse
from cyclotron.language.values.hints import MEANINGS
from cyclotron.language.values.numpy_functions import NAMES, refused, unknown_option
from cyclotron.language.values.source_span import ours_raise, user_frame
from cyclotron.support.errors import Span, TraceError

OF_TYPES = (TypeError, AttributeError)  # what values of the host say where arrays were meant
OF_VALUES = (ValueError, LookupError, ArithmeticError, NameError, StopIteration)  # what they say of values


def told(error: Exception, source: Source, hosts: Mapping[str, Any]) -> TraceError | None:
    """The error of the compiler for one of Python; None where the user's own code raises it.

    Parameters
    ----------
    error : Exception
        A `RecursionError`, or one of `OF_TYPES` or `OF_VALUES`, caught while a kernel was recorded; those
        that a function of the user raises, or `raise` or `assert`, are not told.
    source : Source
        The kernel.
    hosts : dict
        Its arguments that are no arrays, by parameter.
    """
    found = user_frame(error)
    if isinstance(error, RecursionError):
        return _of_recursion(found[1] if found is not None else source.span(source.node))
    if (
        found is not None
        and isinstance(error, TypeError)
        and "cannot be interpreted as an integer" in str(error)
    ):
        return _error(
            "what the program computes is used as a whole number of Python's in a function that it calls",
            found[1],
            "Python runs the function while the kernel is compiled: write its loop in the kernel",
        )
    is_of_kernel = found is not None and found[0].co_filename == source.file and _is_within(found[1], source)
    is_of_values = isinstance(error, OF_VALUES)
    if found is not None and is_of_values and not isinstance(error, ZeroDivisionError) and ours_raise(error):
        return _of_arguments(error, found[1])
    if found is not None and "array element with a sequence" in str(error):
        return _of_arrays(found[1])
    if found is None or not is_of_kernel:
        return None
    span = found[1]
    if isinstance(error, ValueError) and str(error).endswith("is read-only"):
        return _of_a_constant(error, span)  # `w.sort()`, `np.add(w, 1, out=w)`
    if "numpy boolean" in str(error):
        return _of_truth_values(error, span)
    of_user = [node for node in walk(source.node) if _is_of_user(node, source)]
    if any(place.line <= span.line <= place.end_line for place in map(source.span, of_user)):
        return None
    if is_of_values:
        return _of_host(error, span)
    named = {node.id for node in walk(source.node) if isinstance(node, ast.Name) and _on(node, source, span)}
    missing = _missing_function(error) or _unknown_option(error)
    if missing is not None:
        return TraceError(missing.message, code=missing.code, span=span, help=missing.help)
    given = [
        f"`{name}` is {_text(value)}"
        for name, value in hosts.items()
        if name in named and f"'{type(value).__name__}'" in str(error)
    ]
    methods = [
        f".{node.func.attr}"
        for node in walk(source.node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _on(node, source, span)
    ]
    advice = [MEANINGS[name] for name in methods if name in MEANINGS]
    help = "arrays have no values while a kernel is recorded, and have operators and functions of NumPy"
    if given:
        help = (
            f"{' and '.join(given)}, no array: pass an array, or `cy.spec(...)`, where the kernel takes one"
        )
    return _error(str(error), span, help if given else [*advice, help][0])


def _of_arrays(span: Span) -> TraceError:
    return TraceError(
        "what a kernel computes is assigned to an array of NumPy in a function that it calls",
        code="CYC106",
        span=span,
        help="make the array by `cy.zeros(n)` or `np.zeros_like(x)`, which make one of the kernel",
    )


def _is_of_user(node: ast.AST, source: Source) -> bool:
    """Return whether a statement is run by Python as it stands: of its errors nothing else is to be said."""
    if not isinstance(node, ast.With):
        return isinstance(node, ast.Raise | ast.Assert)
    return managers(source, node) != [fuse]


def _missing_function(error: Exception) -> TraceError | None:
    """Return the error that names what there is instead of a function that the package does not have."""
    module = getattr(error, "obj", None)
    if not isinstance(error, AttributeError) or not isinstance(module, ModuleType):
        return None
    package, *inner = module.__name__.replace(".language.functions", "").split(".")
    return refused(".".join(["cy", *inner, str(error.name)])) if package == "cyclotron" else None


def _unknown_option(error: Exception) -> TraceError | None:
    """Return the error for an argument by name that a function of NumPy's has there alone."""
    found = re.match(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", str(error))
    return unknown_option(f"np.{found[1]}", found[2]) if found and found[1] in NAMES else None


def _error(message: str, span: Span, help: str, *, code: str = "CYC105") -> TraceError:
    return TraceError(message, code=code, span=span, help=help)


def _of_arguments(error: Exception, span: Span) -> TraceError:
    help = (
        "the function does not take these arguments; those that NumPy's function of this name documents are"
        " numbers of the host"
    )
    return _error(str(error), span, help)


def _of_truth_values(error: Exception, span: Span) -> TraceError:
    help = "write `~x` instead of `-x`, and `x ^ y` instead of `x - y`; where data choose, both are recorded"
    return _error(str(error).split(", use ", maxsplit=1)[0], span, help, code="CYC121")


def _of_host(error: Exception, span: Span) -> TraceError:
    said = str(error.args[-1]) if error.args else type(error).__name__
    said = f"there is no key {error}" if isinstance(error, KeyError) else said
    help = "Python evaluates this when the kernel is compiled, with values of the host"
    if isinstance(error, ArithmeticError):
        help += "; data that are divided by 0 or too large are infinite or NaN, as in NumPy"
    return _error(said, span, help)


def _of_recursion(span: Span) -> TraceError:
    said = f"calls stand more than {sys.getrecursionlimit():,} deep in each other, Python's limit"
    help = "functions run while the kernel is compiled: write a loop instead of the recursion"
    return _error(said, span, help, code="CYC116")


def _is_within(span: Span, source: Source) -> bool:
    """Return whether a place is in the kernel's text, its sums and branches included."""
    whole = source.span(source.node)
    return span.file == whole.file and whole.line <= span.line <= whole.end_line


def _of_a_constant(error: Exception, span: Span) -> TraceError:
    help = (
        "programs keep it as it was when they were compiled: sort or fill a copy, e.g. `np.sort(w)`, or"
        " change it outside of kernels"
    )
    return _error(f"an array of the host cannot be assigned: {error}", span, help, code="CYC106")


def _on(node: ast.expr, source: Source, span: Any) -> bool:
    return bool(source.span(node).line == span.line)


def _text(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 30 else f"a `{type(value).__name__}`"

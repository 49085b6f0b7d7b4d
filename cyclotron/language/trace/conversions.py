"""Conversions by Python's and NumPy's types in kernels: `float(i)`, `np.float32(x[i])`."""

from __future__ import annotations

import numbers
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from cyclotron.language.trace.conditions import truth
from cyclotron.language.trace.trace import active_trace
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import SymbolicArray
from cyclotron.language.values.condition import Condition, Extremum, Piecewise
from cyclotron.language.values.dispatch import Arithmetic, PartialArray
from cyclotron.language.values.host_state import of_generators, state_of
from cyclotron.language.values.nodes import Element
from cyclotron.language.values.operations import cast, element, whole_number
from cyclotron.language.values.scalars import as_python
from cyclotron.language.values.source_span import trace_error
from cyclotron.language.values.tensor import SymbolicTensor

_DTYPES = {float: "float64", complex: "complex128"}


def converted(kind: type[Any], value: Any) -> Any:
    """``il.converted(float, i)``: what a type makes of an index, of data, or of a value of the host.

    Python's numbers adopt the dtypes of their neighbours; those of NumPy's types have their own.

    Raises
    ------
    TraceError
        CYC105 where Python makes a whole number of a floating one that indices make.
    ShapeError
        CYC120 for types that arrays do not have, and whole numbers that do not fit them.
    """
    if not isinstance(value, (Affine, Arithmetic, Condition, Extremum, Piecewise)):
        return kind(value)
    if issubclass(kind, np.generic):
        return cast(value, np.dtype(kind).name)  # which refuses dtypes that arrays do not have
    if kind is bool:
        known = truth(value)
        return as_python(known, "bool") if isinstance(known, Element) else known
    if kind is int:
        return value if isinstance(value, (Affine, Extremum, Piecewise)) else whole_number(value)
    if isinstance(value, SymbolicArray) and value.shape:
        return kind(value)  # which arrays refuse
    return as_python(element(value), _DTYPES[kind])


def of_numpy(value: Any) -> Any:
    """``il.of_numpy(x).astype("int8")``: the owner of a method that Python's own numbers do not have.

    Raises
    ------
    TraceError
        CYC105 for an element that is a number of Python's.
    """
    if isinstance(value, Element) and value.type.weak:
        raise trace_error(
            "CYC105",
            "`.astype` is asked of a number of Python's, which has no such method",
            help="write `float(...)` or the type itself, e.g. `np.int8(...)`",
        )
    return value


def is_instance(value: Any, kinds: Any) -> bool:
    """``il.is_instance(x, np.ndarray)``: as of what Python and NumPy have where a kernel has symbols."""
    is_array = isinstance(value, (SymbolicTensor, PartialArray))
    if is_array or (isinstance(value, SymbolicArray) and value.shape):
        return isinstance(np.empty(0), kinds)
    if isinstance(value, (Affine, Extremum, Piecewise)):
        return isinstance(0, kinds)
    if isinstance(value, (Arithmetic, Condition)):
        kind = element(value).type
        one = np.zeros((), kind.dtype)[()]
        return isinstance(one.item() if kind.weak else one, kinds)
    return isinstance(value, kinds)


def is_scalar(value: Any) -> bool:
    """``il.is_scalar(x)``: as `np.isscalar` of what Python and NumPy have where a kernel has symbols."""
    return is_instance(value, (np.generic, numbers.Number, str, bytes))


def host_items(value: Any) -> Any:
    """``il.host_items(w)[0] = x``: what holds items, which loops and conditions on data do not change.

    Raises
    ------
    TraceError
        CYC101 for containers and iterators of the host inside of those, which are recorded once.
    """
    trace = active_trace()
    is_recorded_once = len(trace.scopes) > max(trace.entered, 1)
    if is_recorded_once and isinstance(value, (list, dict, set, bytearray, deque, Iterator)):
        raise trace_error(
            "CYC101",
            f"a `{type(value).__name__}` of the host is changed in a loop or branch, which is recorded once",
            help="use an array, e.g. `w = cy.zeros(n)` before the loop, or names, which loops carry",
        )
    return value


def steady(function: Any) -> Any:
    """``il.steady(f)(x)``: a function of the host, which may not change with each call what is recorded once.

    Raises
    ------
    TraceError
        CYC105 where it draws random numbers, or changes something in a loop or branch.
    """
    trace = active_trace()
    is_recorded_once = len(trace.scopes) > max(trace.entered, 1)
    if not callable(function) or hasattr(function, "call_within"):
        return function

    def called(*args: Any, **kwargs: Any) -> Any:
        before = state_of(function, (args, kwargs))
        result = function(*args, **kwargs)
        after = state_of(function, (args, kwargs))
        draws = of_generators(before) != of_generators(after)
        if draws or (is_recorded_once and before != after):
            name = getattr(function, "__name__", "the function")
            what = "draws random numbers" if draws else "changes something of the host at each call"
            raise trace_error(
                "CYC105",
                f"`{name}` {what}, and {'a kernel is' if draws else 'a loop or branch is'} recorded once",
                help="make the values before and pass them to the kernel, as an array for a loop: `for r in"
                " numbers:`",
            )
        return result

    return called


def known(value: Any) -> Any:
    """``str(il.known(x))``: a value of the host, whose text, class and equals Python knows.

    Raises
    ------
    TraceError
        CYC105 for data and indices, which have none while a kernel is recorded.
    """
    if isinstance(value, (Affine, Arithmetic, SymbolicArray)):
        raise trace_error(
            "CYC105",
            "the text, the class or the set of what is known only when the program runs is asked for",
            help="compare numbers, e.g. `x[i] == 1.5`, and types by `x.dtype`; print with `cy.debug.print`",
        )
    return value

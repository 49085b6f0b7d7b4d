"""The functions of kernels: one decorated function is one, in every place that lists them.

`numpy_function` fills the dispatch of NumPy's functions and methods on arrays, the public names of
`cyclotron` and `cyclotron.language`, the names that errors suggest, and the tables by which the text of a
kernel is read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from cyclotron.language.values import numpy_functions
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import SymbolicArray
from cyclotron.language.values.condition import Condition, Extremum, Piecewise
from cyclotron.language.values.context import ACTIVE, Reference
from cyclotron.language.values.dispatch import Arithmetic
from cyclotron.language.values.operations import element
from cyclotron.language.values.reference import ReferenceRagged, ScalarView, Value
from cyclotron.language.values.scalars import of_numpy

_Function = TypeVar("_Function", bound=Callable[..., Any])
Role = Literal["whole arrays", "new array", "declaration", "creation"]

_INDICES = (Affine, Condition, Extremum, Piecewise)

PUBLIC: dict[str, Callable[..., Any]] = {}
"""The functions of `cyclotron` by name."""
OF_WHOLE_ARRAYS: dict[object, str] = {}
"""Functions that only kernels with whole-array statements call; as those below, with their names."""
NEW_ARRAYS: dict[object, str] = {}
"""Functions that return a new array whatever their arguments are."""
DECLARATIONS: dict[object, str] = {}
"""Functions that declare a tensor, ``C = cy.empty(...)``."""
OF_NUMPY: dict[object, str] = {}
"""NumPy's functions that make an array, which a name gets as a tensor of the kernel."""
_TABLES: Mapping[Role, Sequence[dict[object, str]]] = {
    "whole arrays": [OF_WHOLE_ARRAYS],
    "new array": [NEW_ARRAYS],
    "declaration": [DECLARATIONS],
    "creation": [DECLARATIONS, NEW_ARRAYS],
}


def numpy_function(
    *numpy: Callable[..., Any],
    method: str | None = None,
    elementwise: bool = False,
    or_numpy: bool = True,
    role: Role | None = None,
    public: bool = True,
) -> Callable[[_Function], _Function]:
    """Decorate the meaning of a function of NumPy on symbolic arrays.

    Parameters
    ----------
    *numpy : callable
        NumPy's functions that it is when they are called on arrays of a kernel.
    method : str, optional
        The method of arrays that it is.
    elementwise : bool
        Whether it computes each element by itself, and so takes elements and slices by data too.
    or_numpy : bool
        Whether calls without symbolic operands go to the first of `numpy`, not to the decorated function.
    role : {"whole arrays", "new array", "declaration", "creation"}, optional
        How a kernel's text is read where it calls the function: only kernels with whole-array statements do;
        it returns a new array; ``C = f(...)`` declares the tensor C in the intermediate language; all of the
        latter two, as NumPy's function does too.
    public : bool
        Whether `cyclotron` has it, under its own name.
    """

    def decorated(function: _Function) -> _Function:
        known = _or_numpy(function, numpy[0], elementwise) if numpy and or_numpy else function
        for one in () if role in ("declaration", "creation") else numpy:
            if isinstance(one, np.ufunc):
                numpy_functions.UFUNCS[one] = known
            else:
                numpy_functions.FUNCTIONS[one] = known
            if elementwise:
                numpy_functions.ELEMENTWISE.add(one)
        if method is not None:
            numpy_functions.METHODS[method] = known
        for table in _TABLES[role] if role is not None else ():
            table[known] = function.__name__
        if role in ("declaration", "creation"):
            made: dict[object, str] = dict.fromkeys(numpy, function.__name__)
            (DECLARATIONS if role == "declaration" else OF_NUMPY).update(made)
            if role == "creation":
                NEW_ARRAYS.update(made)
        if public:
            PUBLIC[function.__name__] = known
            numpy_functions.NAMES.add(function.__name__)
        return known

    return decorated


def named(function: _Function, name: str, text: str | None = None, **words: object) -> _Function:
    """Give a function that others differ from in words its name, and the docstring with the words in it.

    Parameters
    ----------
    function : callable
        Made by another one.
    name : str
        Its name.
    text : str, optional
        The docstring, by default its own; in braces the names of words.
    **words : object
        What the docstring has for each name.
    """
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (text or function.__doc__ or "").format(name=name, **words)
    return function


def plain_result(result: Any, *operands: Any) -> Any:
    """A new array of a plain run: whole if an operand is, else an element; elsewhere NumPy's result."""
    if isinstance(result, (ReferenceRagged, bool, int, float, complex)) and not isinstance(
        result, np.generic
    ):
        return result
    if not isinstance(ACTIVE.get(), Reference):
        return result
    whole = any(np.ndim(value) and not isinstance(value, Value) for value in operands)
    return np.asarray(result).view(ScalarView if whole else Value)


_OF_PYTHON = (np.real, np.imag)  # which make Python's numbers of such


def _or_numpy(function: _Function, numpy: Callable[..., Any], elementwise: bool) -> _Function:
    """A function of symbolic operands that is NumPy's of all others."""

    @functools.wraps(function)
    def of_arrays(*args: Any, **kwargs: Any) -> Any:
        return (function if _has_array((*args, *kwargs.values())) else numpy)(*args, **kwargs)

    @functools.wraps(function)
    def of_elements(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if any(isinstance(value, (Arithmetic, *_INDICES)) for value in values):
            named = {name: _operand(value) for name, value in kwargs.items()}
            result = function(*map(_operand, args), **named)
            return result if numpy in _OF_PYTHON else of_numpy(result)
        return plain_result(numpy(*args, **kwargs), *values)

    known: Any = of_elements if elementwise else of_arrays
    result: _Function = known
    return result


def _has_array(values: Iterable[Any], symbolic: type | tuple[type, ...] = SymbolicArray) -> bool:
    """True where there is a symbolic array, or a list of such or of elements."""
    return any(
        _has_array(value, (SymbolicArray, Arithmetic))
        if isinstance(value, (list, tuple))
        else isinstance(value, symbolic)
        for value in values
    )


def _operand(value: Any) -> Any:
    """An argument with operators: lists as arrays, forms of indices as elements."""
    if isinstance(value, _INDICES):
        return element(value)
    return np.asarray(value) if isinstance(value, (list, tuple)) else value

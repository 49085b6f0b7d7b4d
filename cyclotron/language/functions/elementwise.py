"""Functions of elements, as `cy.exp`: symbolic while tracing, NumPy otherwise."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.language.functions.registry import named, numpy_function, plain_result
from cyclotron.language.functions.signatures import Elementwise, Magnitude, Test
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values import operations, powers, products
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.condition import Condition, Extremum, OfIndices
from cyclotron.language.values.context import ACTIVE
from cyclotron.language.values.dispatch import Arithmetic, Array, PartialArray
from cyclotron.language.values.nodes import Element
from cyclotron.language.values.numpy_functions import UFUNC_METHODS, refused
from cyclotron.language.values.operations import where_of_numpy
from cyclotron.language.values.operators import OPERATORS
from cyclotron.language.values.reference import ChosenValue, ReferenceRagged, Value
from cyclotron.language.values.scalars import of_numpy
from cyclotron.support.dtypes import is_whole, kind_of

_HOSTS = (np.ndarray, np.generic, int, float, complex, list, tuple)


_OF_NUMPY: Mapping[str, Callable[..., Any]] = {
    "power": operations.power_of_numpy,
    **{op: functools.partial(operations.rounded, op) for op in ("floor", "ceil")},
    **{op: functools.partial(operations.of_truths, op) for op in operations.OF_TRUTHS},
}
"""Functions that are other operators for some operands."""


def _elementwise(name: str, about: str, op: str = "") -> Any:
    """The function of an elementwise operator of the registry, by default of the same name."""
    known = op or name
    numpy = OPERATORS[known].numpy
    applied = _OF_NUMPY.get(known) or functools.partial(operations.apply, known)
    binary = getattr(numpy, "nin", 1) == 2
    names = "x, y" if binary else "x"
    one, other = (
        ("np.array([0.25, 0.5])", "0.5") if "f" in OPERATORS[known].kinds else ("np.array([6, 3])", "1")
    )
    operands = f"{one}, {other}" if binary else one

    def function(*values: Any) -> Any:
        """{about}

        Parameters
        ----------
        {names} : array, tile or scalar
            Of shapes that broadcast as in NumPy.

        Returns
        -------
        array, tile or scalar
            Of the operands' broadcast shape.

        Raises
        ------
        ShapeError
            If the shapes do not broadcast (CYC122), or the operator is not defined for the dtype (CYC121).

        Examples
        --------
        >>> @cy.kernel
        ... def f({names}):
        ...     return cy.{name}({names})
        >>> {names} = {operands}
        >>> np.allclose(f({names}), np.{name}({names}))
        True
        """
        traced = isinstance(ACTIVE.get(), Trace) and not builtins.all(isinstance(v, _HOSTS) for v in values)
        return of_numpy(applied(*map(_truth_of_numpy, values))) if traced else numpy(*values)

    named(function, name, about=about, names=names, operands=operands)
    if isinstance(numpy, np.ufunc):
        vars(function).update((method, getattr(numpy, method)) for method in UFUNC_METHODS)
    return numpy_function()(function)


def _truth_of_numpy(value: Any) -> Any:
    """A truth value of Python's, with which its operators count, as the one that NumPy's functions take."""
    value = operations.element(value) if isinstance(value, Condition) else value
    is_truth = isinstance(value, Element) and value.type.weak and value.dtype == "bool"
    return of_numpy(value) if is_truth else value


sqrt: Elementwise = _elementwise("sqrt", "The square root of each scalar, floating or complex.")
exp: Elementwise = _elementwise("exp", "The exponential of each scalar, floating or complex.")
log: Elementwise = _elementwise("log", "The natural logarithm of each scalar, floating or complex.")
log1p: Elementwise = _elementwise("log1p", "log(1 + x) of each scalar x, exact for small ones, floating.")
expm1: Elementwise = _elementwise("expm1", "exp(x) - 1 of each scalar x, exact for small ones, floating.")
cbrt: Elementwise = _elementwise("cbrt", "The cube root of each scalar, floating.")
arctan: Elementwise = _elementwise("arctan", "The angle of each tangent, in radians, floating.")
sin: Elementwise = _elementwise("sin", "The sine of each scalar, in radians, floating or complex.")
cos: Elementwise = _elementwise("cos", "The cosine of each scalar, in radians, floating or complex.")
sinh: Elementwise = _elementwise("sinh", "The hyperbolic sine of each scalar, floating or complex.")
cosh: Elementwise = _elementwise("cosh", "The hyperbolic cosine of each scalar, floating or complex.")
tanh: Elementwise = _elementwise("tanh", "The hyperbolic tangent of each scalar, floating or complex.")
arctan2: Elementwise = _elementwise("arctan2", "The angle of each point (y, x), in radians, floating.")
hypot: Elementwise = _elementwise("hypot", "The length of each vector (a, b), floating.")
abs: Magnitude = _elementwise("abs", "The absolute value of each scalar, real.", op="absolute")
sign: Elementwise = _elementwise("sign", "-1, 0 or 1 by the sign of each real scalar.")
floor: Elementwise = _elementwise("floor", "The largest whole number not above each real scalar.")
ceil: Elementwise = _elementwise("ceil", "The least whole number not below each real scalar.")
conj: Elementwise = _elementwise("conj", "The complex conjugate of each scalar.")
copy: Elementwise = _elementwise(
    "copy", "Each scalar, through a register: it takes the time of an operator, where assigning takes none."
)
maximum: Elementwise = _elementwise("maximum", "The larger of each pair of scalars; NaN where one is NaN.")
minimum: Elementwise = _elementwise("minimum", "The smaller of each pair of scalars; NaN where one is NaN.")
isnan: Test = _elementwise("isnan", "True where a scalar is NaN.", op="is_nan")
isfinite: Test = _elementwise("isfinite", "True where a scalar is neither infinite nor NaN.", op="is_finite")
logical_and: Test = _elementwise("logical_and", "True where both of each pair of scalars are not zero.")
logical_or: Test = _elementwise("logical_or", "True where one of each pair of scalars is not zero.")
logical_xor: Test = _elementwise("logical_xor", "True where exactly one of each pair is not zero.")
logical_not: Test = _elementwise("logical_not", "True where a scalar is zero.")

add: Elementwise = _elementwise("add", "The sum of each pair of scalars.")
subtract: Elementwise = _elementwise("subtract", "The difference of each pair of scalars.")
multiply: Elementwise = _elementwise("multiply", "The product of each pair of scalars.")
divide: Elementwise = _elementwise("divide", "The quotient of each pair of scalars, floating or complex.")
true_divide: Elementwise = _elementwise("true_divide", "The quotient of each pair, as `divide`.", op="divide")
floor_divide: Elementwise = _elementwise("floor_divide", "The quotient of each pair, rounded down.")
remainder: Elementwise = _elementwise("remainder", "What `floor_divide` of each pair leaves.")
mod: Elementwise = _elementwise("mod", "What `floor_divide` of each pair leaves.", op="remainder")
power: Elementwise = _elementwise("power", "The first of each pair of scalars to the power of the second.")
bitwise_and: Elementwise = _elementwise("bitwise_and", "The bits that both have.", op="bit_and")
bitwise_or: Elementwise = _elementwise("bitwise_or", "The bits that one of both has.", op="bit_or")
bitwise_xor: Elementwise = _elementwise("bitwise_xor", "The bits that exactly one of both has.", op="bit_xor")
invert: Elementwise = _elementwise("invert", "The bits that each scalar does not have.", op="bit_not")
left_shift: Elementwise = _elementwise("left_shift", "The bits of the first, moved up by the second.")
right_shift: Elementwise = _elementwise("right_shift", "The bits of the first, moved down by the second.")
negative: Elementwise = _elementwise("negative", "Each scalar with the other sign.")
absolute: Magnitude = _elementwise("absolute", "The absolute value of each scalar, real.")
conjugate: Elementwise = _elementwise("conjugate", "The complex conjugate of each scalar.", op="conj")
equal: Test = _elementwise("equal", "True where both of each pair of scalars are equal.")
not_equal: Test = _elementwise("not_equal", "True where both of each pair of scalars differ.")
less: Test = _elementwise("less", "True where the first of each pair of scalars is less.")
less_equal: Test = _elementwise("less_equal", "True where the first of each pair is not greater.")
greater: Test = _elementwise("greater", "True where the first of each pair of scalars is greater.")
greater_equal: Test = _elementwise("greater_equal", "True where the first of each pair is not less.")


@numpy_function(np.square, elementwise=True)
def square(x: Any) -> Any:
    """The square of each scalar, a number.

    Parameters
    ----------
    x : array, tile or scalar
        Of any shape.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.square(x)
    >>> f(np.array([1.0, -2.0])).tolist()
    [1.0, 4.0]
    """
    return _as_number(x) ** 2


@numpy_function(np.reciprocal, elementwise=True)
def reciprocal(x: Any) -> Any:
    """One over each scalar; of whole numbers the whole part, and the least number of zero.

    Parameters
    ----------
    x : array, tile or scalar
        Of any shape.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.reciprocal(x)
    >>> f(np.array([2.0, 4.0])).tolist()
    [0.5, 0.25]
    """
    x = _as_number(x)
    if not is_whole(x.dtype):
        return powers.reciprocal_of_complex(x) if kind_of(x.dtype) == "c" else 1 / x
    with np.errstate(divide="ignore", invalid="ignore"):
        of_zero = int(np.reciprocal(np.zeros(1, x.dtype))[0])
    return where(x == 0, of_zero, where(abs(x) == 1, x, 0))


def _as_number(x: Any) -> Any:
    """An operand of a function that NumPy computes of truth values in int8."""
    return cast(x, "int8") if np.dtype(x.dtype).kind == "b" else x


@numpy_function(np.where, elementwise=True, or_numpy=False)
def where(condition: Any, a: Any = None, b: Any = None) -> Any:
    """Choose each scalar of `a` where the condition holds, else of `b`; both are computed.

    Parameters
    ----------
    condition : bool, scalar, tile or array
        A comparison of data, or a condition on indices.
    a, b : scalar, tile or array, one dtype
        The values; of two numbers an array without axes, of their dtype (`a if condition else b` is a number,
        which adopts the dtype of its neighbours).

    Returns
    -------
    scalar, tile or array
        Shaped as all three broadcast.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.where(x > 2, x, 0)
    >>> f(np.array([1, 2, 3])).tolist()
    [0, 0, 3]
    """
    symbolic = (Condition, Arithmetic, Affine, Extremum)
    if builtins.any(isinstance(value, symbolic) for value in (condition, a, b)):
        if b is None:
            raise refused("np.where(mask)")
        return where_of_numpy(condition, a, b)
    if b is None:
        return np.where(condition, *([] if a is None else [a]))  # the places, or NumPy's error
    result = plain_result(np.where(condition, a, b), condition, a, b)
    return result.view(ChosenValue) if type(result) is Value and not result.ndim else result


@numpy_function()
def cast(x: Any, dtype: DTypeLike) -> Any:
    """Convert each scalar to a dtype, as NumPy's ``astype`` does.

    Complex scalars convert to complex dtypes and bool only; `cy.real` gives their real part.

    Parameters
    ----------
    x : array, tile or scalar
        Of any shape.
    dtype : dtype
        The dtype to convert to.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand.

    Raises
    ------
    ShapeError
        If the dtype is not supported (CYC120), or a complex number would lose its imaginary part (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.cast(x, "int64")
    >>> f(np.array([1.7, -1.7])).tolist()
    [1, -1]
    """
    if isinstance(x, (Element, Affine, OfIndices)):
        return operations.cast(operations.element(x), dtype)
    if isinstance(x, (Array, PartialArray)):
        return x.astype(dtype)  # type: ignore[union-attr]
    return plain_result(x.astype(dtype) if isinstance(x, ReferenceRagged) else np.asarray(x).astype(dtype), x)


@numpy_function(np.outer, or_numpy=False)
def outer(a: Any, b: Any) -> Any:
    """The products of all pairs of scalars of two vectors, as a tile or array; of two elements the product.

    Parameters
    ----------
    a, b : array, tile or scalar
        Vectors of m and n scalars.

    Returns
    -------
    array, tile or scalar
        (m, n); of arrays without axes and numbers (1, 1).

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.outer(x, x)
    >>> f(np.array([1, 2])).tolist()
    [[1, 2], [2, 4]]
    """
    if isinstance(a, (Array, PartialArray)) or isinstance(b, (Array, PartialArray)):
        return products.outer(a, b)
    if isinstance(a, Element) or isinstance(b, Element):
        return operations.outer(a, b)
    if isinstance(a, Value) and isinstance(b, Value) and not (a.ndim or b.ndim):
        return a * b
    return np.multiply.outer(np.ravel(a), np.ravel(b))


def _of_tiles(name: str, kind: str, axis: int) -> Callable[..., Any]:
    """The function that folds each row or column of a tile."""

    def function(x: Any) -> Any:
        """The {fold} of each {line} of a tile, as one {other}; of a scalar the scalar.

        Parameters
        ----------
        x : tile or scalar
            (n, m).

        Returns
        -------
        tile or scalar
            With size 1 along the axis that is folded.

        Raises
        ------
        ShapeError
            If the operator is not defined for the dtype (CYC121).

        Examples
        --------
        >>> X = np.array([[1.0, 2.0], [3.0, 5.0]])
        >>> np.array_equal(cy.{name}(X), X.{kind}(axis={axis}, keepdims=True))
        True
        """
        return getattr(x, kind)(axis=axis, keepdims=True) if isinstance(x, Element) or np.ndim(x) else x

    folds = {"sum": "sum", "max": "maximum", "min": "minimum"}
    line, other = ("row", "column") if axis else ("column", "row")
    named(function, name, fold=folds[kind], line=line, other=other, kind=kind, axis=axis)
    return numpy_function()(function)


row_sum, row_max, row_min = (_of_tiles(f"row_{kind}", kind, -1) for kind in ("sum", "max", "min"))
col_sum, col_max, col_min = (_of_tiles(f"col_{kind}", kind, 0) for kind in ("sum", "max", "min"))

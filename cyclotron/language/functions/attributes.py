"""Functions of NumPy that are operators, attributes and methods of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.values import products
from cyclotron.language.values.array import axis_of

dot = numpy_function(np.dot, or_numpy=False, role="whole arrays")(products.dot)


@numpy_function(np.transpose, or_numpy=False, public=False)
def _transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose(*(axes or ()))


@numpy_function(np.copy, elementwise=True, or_numpy=False, public=False)
def _copy(a: Any) -> Any:
    return a.copy()


@numpy_function(np.real, elementwise=True)
def real(val: Any) -> Any:
    """The real part of each scalar; of arrays a view.

    Parameters
    ----------
    val : array, tile or scalar
        Of any shape.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand, real.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.real(x)
    >>> f(np.array([1 + 2j])).tolist()
    [1.0]
    """
    return val.real


@numpy_function(np.imag, elementwise=True)
def imag(val: Any) -> Any:
    """The imaginary part of each scalar; of complex arrays a view.

    Parameters
    ----------
    val : array, tile or scalar
        Of any shape.

    Returns
    -------
    array, tile or scalar
        Shaped as the operand, real.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.imag(x)
    >>> f(np.array([1 + 2j])).tolist()
    [2.0]
    """
    return val.imag


@numpy_function(np.shape, or_numpy=False, public=False)
def _shape(a: Any) -> Any:
    return a.shape


@numpy_function(np.ndim, or_numpy=False, public=False)
def _ndim(a: Any) -> int:
    return int(a.ndim)


@numpy_function(np.size, or_numpy=False, public=False)
def _size(a: Any, axis: int | None = None) -> Any:
    return a.size if axis is None else a.shape[axis_of(axis, a.ndim, "size")]

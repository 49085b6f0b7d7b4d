"""Functions of NumPy that are operators, attributes and methods of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.values import products
from cyclotron.language.values.axes import axis_of

dot = numpy_function(np.dot, or_numpy=False, role="whole arrays")(products.dot)


@numpy_function(np.transpose, role="whole arrays")
def transpose(a: Any, axes: Any = None) -> Any:
    """The array with its axes in another order, by default in reverse.

    Parameters
    ----------
    a : array
        Of any shape.
    axes : sequence of int, optional
        All axes, in the order in which they are in the result.

    Returns
    -------
    array
        A view.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.transpose(x)
    >>> f(np.array([[1, 2], [3, 4], [5, 6]])).tolist()
    [[1, 3, 5], [2, 4, 6]]
    """
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


@numpy_function(np.shape)
def shape(a: Any) -> Any:
    """The numbers of elements of an array along each axis.

    Parameters
    ----------
    a : array
        Of any shape.

    Returns
    -------
    tuple of int
        Of kernels that work for several shapes numbers of the host.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return x * cy.shape(x)[0]
    >>> f(np.array([[1, 2], [3, 4], [5, 6]])).tolist()
    [[3, 6], [9, 12], [15, 18]]
    """
    return a.shape


@numpy_function(np.ndim)
def ndim(a: Any) -> Any:
    """The number of axes of an array.

    Parameters
    ----------
    a : array
        Of any shape.

    Returns
    -------
    int
        A number of the host.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return x * cy.ndim(x)
    >>> f(np.array([[1, 2], [3, 4], [5, 6]])).tolist()
    [[2, 4], [6, 8], [10, 12]]
    """
    return int(a.ndim)


@numpy_function(np.size)
def size(a: Any, axis: int | None = None) -> Any:
    """The number of elements of an array, or of those along an axis.

    Parameters
    ----------
    a : array
        Of any shape.
    axis : int, optional
        By default all.

    Returns
    -------
    int
        A number of the host.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return x * cy.size(x)
    >>> f(np.array([[1, 2], [3, 4], [5, 6]])).tolist()
    [[6, 12], [18, 24], [30, 36]]
    """
    return a.size if axis is None else a.shape[axis_of(axis, a.ndim, "size")]

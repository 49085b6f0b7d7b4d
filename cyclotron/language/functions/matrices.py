"""Products of vectors and matrices, and small systems: symbolic while tracing, NumPy otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.language.functions import elementwise as f
from cyclotron.language.functions.joining import blocks, stack
from cyclotron.language.functions.rearrangement import concatenate, diagonal, eye
from cyclotron.language.functions.reductions import any as any_of
from cyclotron.language.functions.reductions import max as max_of
from cyclotron.language.functions.reductions import prod
from cyclotron.language.functions.reductions import sum as sum_of
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.functions.search import arange, argmax
from cyclotron.language.trace.loops import inner_loop
from cyclotron.language.values import broadcasting
from cyclotron.language.values.array import SymbolicArray, combine, materialized, operand
from cyclotron.language.values.broadcasting import text, whole_numbers
from cyclotron.language.values.host_arrays import constant
from cyclotron.language.values.operations import cast
from cyclotron.language.values.operators import named_dtype
from cyclotron.language.values.scalar_type import check_accumulator, check_storable
from cyclotron.language.values.scalars import check_numbers
from cyclotron.support.dtypes import kind_of

_MOST = 32
"""Rows of matrices that `solve` and its likes take: each row is a step of the program."""


@numpy_function(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Assign the diagonal of a matrix, as NumPy's.

    Parameters
    ----------
    a : ndarray
        Of two axes; changed in place.
    val : scalar or vector
        One number, or one for each element of the diagonal.
    wrap : bool
        False: the diagonal of a tall matrix does not start again below itself.

    Returns
    -------
    None
        `a` is assigned.

    Raises
    ------
    ShapeError
        CYC122 of arrays with other axes, wrapped diagonals, and vectors of other lengths.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     y = x.copy()
    ...     np.fill_diagonal(y, 0)
    ...     return y
    >>> f(np.array([[1, 2], [3, 4]])).tolist()
    [[0, 2], [3, 0]]
    """
    array, given = operand(a), materialized(operand(val))
    count = min(whole_numbers(array.shape, "the array"))
    if array.ndim != 2 or wrap or given.shape not in ((), (1,), (count,)):
        raise unfit(
            f"`fill_diagonal` of shapes {text(array.shape)}, the array, and {text(given.shape)}, the values",
            "the array has two axes, and the values are one or as many as the diagonal has, not wrapped",
        )
    check_numbers(val, array.dtype_name)
    with inner_loop("i", count) as i:
        array[i, i] = given.at(broadcasting.along([i], given.shape))


@numpy_function(np.matmul, role="whole arrays")
def matmul(x1: Any, x2: Any, *, dtype: DTypeLike | None = None) -> Any:
    """The matrix product, ``x1 @ x2``.

    Parameters
    ----------
    x1, x2 : array
        Vectors, matrices, or stacks of matrices.
    dtype : dtype, optional
        To which the elements are converted before: the sums are kept in it. Without one narrow integers wrap.

    Returns
    -------
    array
        As `numpy.matmul`.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), the operation is not defined for the dtype (CYC121), or elements do not
        fit the dtype that is asked for (CYC120).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.matmul(x, x, dtype=np.int32)
    >>> f(np.array([[100, 2], [3, 4]], np.int8)).tolist()
    [[10006, 208], [312, 22]]
    """
    if dtype is None:
        return x1 @ x2
    name = named_dtype(dtype)
    for one in (x1, x2):
        check_accumulator(str(np.dtype(one.dtype).name), name)
        check_storable(str(np.dtype(one.dtype).name), name, in_place="matmul")
    return cast(x1, name) @ cast(x2, name)


@numpy_function(np.inner, role="whole arrays")
def inner(a: Any, b: Any) -> Any:
    """The products of all rows of both: the sums along the last axis of each.

    Parameters
    ----------
    a, b : array
        As long along the last axis.

    Returns
    -------
    array
        Of two vectors a scalar, of matrices ``a @ b.T``.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     return cy.inner(x, y)
    >>> f(np.array([1, 2]), np.array([3, 4])).tolist()
    11
    """
    return a @ b if b.ndim == 1 else a @ b.T


@numpy_function(np.vdot, role="whole arrays")
def vdot(a: Any, b: Any) -> Any:
    """The sum of the products of all elements of both, of the first one conjugated.

    Parameters
    ----------
    a, b : array
        Of one shape.

    Returns
    -------
    array
        Without axes.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     return cy.vdot(x, y)
    >>> f(np.array([1, 2]), np.array([3, 4])).tolist()
    11
    """
    first, second = operand(a), operand(b)
    if kind_of(first.dtype) == kind_of(second.dtype) == "b":
        return any_of(first & second)
    products = first.conj() * second
    return sum_of(products).astype(products.dtype)  # whole numbers wrap, unlike sums


@numpy_function(np.kron, role="whole arrays")
def kron(a: Any, b: Any) -> Any:
    """The second array times each element of the first, as blocks of one array.

    Parameters
    ----------
    a, b : array
        Vectors or matrices; a vector beside a matrix is its one row. The first one small.

    Returns
    -------
    array
        As large along each axis as the product of both.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     return cy.kron(x, y)
    >>> f(np.array([1, 2]), np.array([3, 4])).tolist()
    [3, 4, 6, 8]
    """
    one, other = operand(a), operand(b)
    if not {one.ndim, other.ndim} <= {1, 2}:
        raise unfit(
            f"`kron` of arrays of shapes {text(one.shape)} and {text(other.shape)}",
            "give vectors or matrices, e.g. `cy.kron(x, A)`",
        )
    if one.ndim != other.ndim:
        one, other = (x[None] if x.ndim == 1 else x for x in (one, other))
    sizes = whole_numbers(one.shape, f"`{one.name}`")
    if 0 in sizes:
        whole = tuple(n * m for n, m in zip(sizes, whole_numbers(other.shape, "`kron`"), strict=True))
        return constant(np.zeros(whole, np.result_type(one.dtype, other.dtype)))
    if one.ndim == 1:
        return concatenate([one[i] * other for i in range(sizes[0])])
    return blocks([[one[i, j] * other for j in range(sizes[1])] for i in range(sizes[0])])


@numpy_function(np.cross, role="whole arrays")
def cross(a: Any, b: Any) -> Any:
    """The vectors that are orthogonal to both: of those along the last axis.

    Parameters
    ----------
    a, b : array
        Of 3 elements along the last axis.

    Returns
    -------
    array
        Of 3 elements along the last axis.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     return cy.cross(x, y)
    >>> f(np.array([1, 0, 0]), np.array([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    one, other = operand(a), operand(b)
    if {one.shape[-1], other.shape[-1]} != {3}:
        raise unfit(
            f"`cross` of arrays of shapes {text(one.shape)} and {text(other.shape)}",
            "the vectors along the last axis have 3 elements",
        )
    x, y = ([whole[..., n] for n in range(3)] for whole in (one, other))
    return stack([x[n - 2] * y[n - 1] - x[n - 1] * y[n - 2] for n in range(3)], axis=-1)


@numpy_function(np.linalg.inv, public=False, role="whole arrays")
def inv(a: Any) -> Any:
    """The inverse of a small matrix, by elimination with exchange of rows.

    Parameters
    ----------
    a : array, (n, n)
        Of at most 32 rows; of a singular one the result is infinite or NaN.

    Returns
    -------
    array
        (n, n), floating or complex.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.linalg.inv(x)
    >>> f(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    if not isinstance(a, SymbolicArray):
        return np.linalg.inv(a)
    square = _square(a, "inv")
    return solve(square, eye(len(square), dtype=square.dtype_name))


@numpy_function(np.linalg.det, public=False, role="whole arrays")
def det(a: Any) -> Any:
    """The determinant of a small matrix, by elimination with exchange of rows.

    Parameters
    ----------
    a : array, (n, n)
        Of at most 32 rows.

    Returns
    -------
    array
        Without axes, floating or complex.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.linalg.det(x)
    >>> f(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
    8.0
    """
    if not isinstance(a, SymbolicArray):
        return np.linalg.det(a)
    square = _square(a, "det")
    rows, sign = _eliminated(square)
    return (sign * prod(diagonal(rows))).astype(square.dtype_name)


@numpy_function(np.linalg.solve, public=False, role="whole arrays")
def solve(a: Any, b: Any) -> Any:
    """The solution of a small system of linear equations, by elimination with exchange of rows.

    Parameters
    ----------
    a : array, (n, n)
        Of at most 32 rows; of a singular one the result is infinite or NaN.
    b : array, (n,) or (n, m)
        The right-hand sides.

    Returns
    -------
    array
        Shaped as `b`, floating or complex.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     return cy.linalg.solve(x, y)
    >>> f(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    if not isinstance(a, SymbolicArray) and not isinstance(b, SymbolicArray):
        return np.linalg.solve(a, b)
    square, right = _square(operand(a), "solve"), operand(b)
    n = len(square)
    if right.ndim not in (1, 2) or right.shape[0] != n:
        raise unfit(
            f"`solve` has {n} equations and right-hand sides of shape {text(right.shape)}",
            "give a vector, or a matrix of columns, with as many rows",
        )
    rows, _ = _eliminated(concatenate([square, right if right.ndim == 2 else right[:, None]], 1))
    solved: list[Any] = []
    for k in reversed(range(n)):
        known = sum((rows[k, k + 1 + j] * one for j, one in enumerate(solved)), rows[k, n:] * 0)
        solved.insert(0, materialized((rows[k, n:] - known) / rows[k, k]))
    result = stack(solved)
    return result if right.ndim == 2 else result[:, 0]


def _square(a: SymbolicArray, what: str) -> SymbolicArray:
    """A matrix of as many rows as columns, floating or complex."""
    sizes = whole_numbers(a.shape, f"`{a.name}`")
    if len(sizes) != 2 or sizes[0] != sizes[1] or not 0 < sizes[0] <= _MOST:
        raise unfit(
            f"`{what}` of an array of shape {text(sizes)}",
            f"it takes a matrix of as many rows as columns, of 1 to {_MOST}; for larger ones see cy.linalg",
        )
    return a if kind_of(a.dtype) in "fc" else a.astype("float64")


def _eliminated(rows: SymbolicArray) -> tuple[SymbolicArray, Any]:
    """The rows of a system, upper triangular, and the sign of their order: the largest pivot first."""
    n, sign, number = len(rows), 1.0, arange(len(rows))[:, None]
    rows = materialized(rows.copy())
    for k in range(n - 1):
        pivot = materialized(argmax(abs(rows[k:, k])) + k)
        first = materialized(sum_of(f.where(number == pivot, rows, 0), axis=0))
        rows = materialized(f.where(number == k, first, f.where(number == pivot, rows[k], rows)))
        divisor = f.where(rows[k, k] == 0, 1, rows[k, k])  # below a pivot of 0 all is 0
        factor = f.where(number > k, rows[:, k : k + 1] / divisor, 0)
        rows = materialized(rows - factor * rows[k])
        sign = sign * f.where(pivot == k, 1.0, -1.0)
    return rows, sign


@numpy_function(np.linalg.cholesky, public=False, role="whole arrays")
def cholesky(a: Any) -> Any:
    """The lower Cholesky factor of a small matrix as a whole array, a column at a time; zeros above."""
    rows = _square(a, "cholesky")
    n, columns = len(rows), list[Any]()
    number = arange(n)
    for k in range(n):
        known = sum((column * column[k].conj() for column in columns), rows[:, k] * 0)
        left = materialized(rows[:, k] - known)
        columns.append(materialized(f.where(number >= k, left / combine("cholesky", (left[k].real,)), 0)))
    return stack(columns, axis=1)


@numpy_function(np.linalg.qr, public=False, role="whole arrays")
def qr(a: Any) -> Any:
    """The orthogonal and the upper triangular factor of a small matrix.

    Parameters
    ----------
    a : array, (m, n)
        Real, of at most 32 rows, and of no more columns than rows.

    Returns
    -------
    tuple of array
        (m, n) with orthonormal columns, and (n, n); by Householder's reflections, with the signs of LAPACK.

    Raises
    ------
    ShapeError
        If the matrix is larger or of another shape (CYC122).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     Q, R = cy.linalg.qr(x)
    ...     return R
    >>> f(np.array([[3.0, 0.0], [0.0, 4.0]])).tolist()
    [[3.0, 0.0], [0.0, 4.0]]
    """
    if not isinstance(a, SymbolicArray):
        return tuple(np.linalg.qr(a))
    m, n = _tall(a)
    rows = materialized((a if kind_of(a.dtype) == "f" else a.astype("float64")).copy())
    turned: Any = eye(m, dtype=rows.dtype_name)
    number = arange(m)
    for k in range(min(m - 1, n)):
        largest = max_of(abs(rows[k:, k]))  # the mirror of a column is that of its multiples
        column = materialized(f.where(number >= k, rows[:, k] / f.where(largest == 0, 1.0, largest), 0))
        below = materialized(sum_of(f.where(number > k, column * column, 0)))
        length = f.sqrt(below + column[k] * column[k])
        pivot = materialized(f.where(column[k] < 0, column[k] - length, column[k] + length))
        mirror = materialized(f.where(number == k, pivot, column))
        is_zero = max_of(abs(rows[k + 1 :, k])) == 0
        scale = materialized(f.where(is_zero, 0.0, 2.0 / f.where(is_zero, 1.0, below + pivot * pivot)))
        rows = materialized(rows - (scale * mirror)[:, None] * (mirror @ rows))
        turned = materialized(turned - (turned @ mirror)[:, None] * (scale * mirror))
    return turned[:, :n], f.where(arange(n)[:, None] <= arange(n), rows[:n], 0)


def _tall(a: SymbolicArray) -> tuple[int, int]:
    sizes = whole_numbers(a.shape, f"`{a.name}`")
    if len(sizes) != 2 or not 0 < sizes[1] <= sizes[0] <= _MOST or kind_of(a.dtype) == "c":
        raise unfit(
            f"`qr` of a {a.dtype_name} array of shape {text(sizes)}",
            f"it takes a real matrix of at most {_MOST} rows, and of no more columns",
        )
    return sizes[0], sizes[1]

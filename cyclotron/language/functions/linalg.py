"""`cy.linalg`: linear algebra on elements (scalars or tiles), symbolic while tracing, NumPy otherwise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cyclotron.language.values import operations
from cyclotron.language.values.nodes import Element, strip_transpose
from cyclotron.language.values.numpy_functions import NAMES
from cyclotron.language.values.source_span import trace_error

__all__ = ["cholesky", "inv_triangular", "ldl", "lu", "solve_triangular"]
NAMES.update(f"linalg.{name}" for name in __all__)


def __dir__() -> list[str]:
    return __all__


def solve_triangular(
    a: Any,
    b: Any,
    *,
    side: str = "left",
    lower: bool = True,
    trans: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """Solve a triangular system by substitution.

    Parameters
    ----------
    a : scalar or array, (n, n), floating or complex
        The triangular matrix; its other triangle is not read.
    b : scalar or array, (n, m) or (n,), or (m, n) for ``side="right"``
        The right-hand sides.
    side : {"left", "right"}
        Solve ``op(a) X = b`` or ``X op(a) = b``.
    lower : bool
        Whether `a` is lower triangular, as stored.
    trans : bool
        Whether ``op(a)`` is ``a.T`` instead of ``a``.
    unit_diagonal : bool
        Whether to take the diagonal as ones without reading it.

    Returns
    -------
    scalar or array
        X, shaped as `b`.
    """
    if side not in ("left", "right"):
        raise trace_error("CYC105", f"side is {side!r}", help='use "left" or "right"')
    if isinstance(a, Element) or isinstance(b, Element):
        stored, transposed = strip_transpose(operations.element(a))
        # The flag `lower` describes the matrix as stored.
        flags = {
            "lower": bool(lower) != transposed,
            "transpose_a": bool(trans) != transposed,
            "right_side": side == "right",
            "unit_diagonal": bool(unit_diagonal),
        }
        return operations.apply("solve_triangular", stored, b, flags=_set(flags))
    matrix, rhs = _square(np.asarray(a)), np.asarray(b)
    result = np.array(rhs, dtype=np.result_type(matrix, rhs, np.float32), order="C")
    columns = result if result.ndim in (1, 2) else _square(result)
    op = matrix.T if trans else matrix
    is_lower = bool(lower) != bool(trans)
    if side == "right":
        op, columns, is_lower = op.T, columns.T, not is_lower
    n = op.shape[0]
    for i in range(n) if is_lower else reversed(range(n)):
        known = slice(0, i) if is_lower else slice(i + 1, n)
        columns[i] -= op[i, known] @ columns[known]
        if not unit_diagonal:
            columns[i] /= op[i, i]
    return _as(b, result)


def cholesky(a: Any) -> Any:
    """Return the lower Cholesky factor, zeros above.

    Parameters
    ----------
    a : scalar or array, (n, n), floating or complex
        Symmetric (Hermitian) and positive definite; only the lower triangle is read.

    Returns
    -------
    scalar or array
        The factor, shaped as `a`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.
    """
    if isinstance(a, Element):
        return operations.cholesky(a)
    matrix = np.asarray(a)
    square = _square(matrix)
    factor = np.zeros(square.shape, np.result_type(square, np.float32))
    for j in range(len(square)):
        pivot = (square[j, j] - factor[j, :j] @ factor[j, :j].conj()).real
        if not 0 < pivot < np.inf:
            raise np.linalg.LinAlgError(f"the matrix is not positive definite: pivot {j} is {pivot}")
        factor[j, j] = np.sqrt(pivot)
        factor[j + 1 :, j] = (square[j + 1 :, j] - factor[j + 1 :, :j] @ factor[j, :j].conj()) / factor[j, j]
    return _as(a, factor.reshape(matrix.shape))


def inv_triangular(a: Any, *, lower: bool = True, unit_diagonal: bool = False) -> Any:
    """Return the inverse of a triangular matrix, zeros in the other triangle.

    Parameters
    ----------
    a : scalar or array, (n, n), floating or complex
        The triangular matrix; its other triangle is not read.
    lower : bool
        Whether `a` is lower triangular.
    unit_diagonal : bool
        Whether to take the diagonal as ones without reading it.

    Returns
    -------
    scalar or array
        The inverse, shaped as `a`.

    Raises
    ------
    ShapeError
        If the matrix is not square (CYC737).

    Examples
    --------
    >>> cy.linalg.inv_triangular(np.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    if isinstance(a, Element):
        flags = _set({"lower": bool(lower), "unit_diagonal": bool(unit_diagonal)})
        return operations.apply("inv_triangular", a, flags=flags)
    matrix = np.asarray(a)
    square = _square(matrix)
    identity = np.eye(len(square), dtype=np.result_type(square, np.float32))
    inverse = solve_triangular(square, identity, lower=lower, unit_diagonal=unit_diagonal)
    return _as(a, (np.tril if lower else np.triu)(inverse).reshape(matrix.shape))


def lu(a: Any) -> Any:
    """Return the LU factors without exchange of rows, in one array: U, and below it L without its ones.

    Parameters
    ----------
    a : scalar or array, (n, n), floating or complex
        The matrix; all pivots must differ from zero.

    Returns
    -------
    scalar or array
        ``L - I + U`` where ``L @ U`` is `a`, shaped as `a`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a pivot is zero.

    Examples
    --------
    >>> cy.linalg.lu(np.array([[2.0, 1.0], [4.0, 5.0]])).tolist()
    [[2.0, 1.0], [2.0, 3.0]]
    """
    if isinstance(a, Element):
        return operations.apply("lu", a)
    matrix = np.asarray(a)
    factors = np.array(_square(matrix), dtype=np.result_type(matrix, np.float32))
    for k in range(len(factors)):
        _require_pivot(factors[k, k], k)
        factors[k + 1 :, k] /= factors[k, k]
        factors[k + 1 :, k + 1 :] -= np.multiply.outer(factors[k + 1 :, k], factors[k, k + 1 :])
    return _as(a, factors.reshape(matrix.shape))


def ldl(a: Any) -> Any:
    """Return the LDL factors without exchange of rows, in one array: D, and below it L without its ones.

    Parameters
    ----------
    a : scalar or array, (n, n), floating or complex
        Symmetric (Hermitian); only the lower triangle is read. All pivots must differ from zero.

    Returns
    -------
    scalar or array
        ``L - I + D`` where ``L @ D @ L.conj().T`` is `a`, shaped as `a`; zeros above the diagonal.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a pivot is zero.

    Examples
    --------
    >>> cy.linalg.ldl(np.array([[4.0, 2.0], [2.0, 3.0]])).tolist()
    [[4.0, 0.0], [0.5, 2.0]]
    """
    if isinstance(a, Element):
        return operations.apply("ldl", a)
    matrix = np.asarray(a)
    factors = np.tril(np.array(_square(matrix), dtype=np.result_type(matrix, np.float32)))
    for k in range(len(factors)):
        factors[k, k] = factors[k, k].real
        _require_pivot(factors[k, k], k)
        column = factors[k + 1 :, k].copy()
        factors[k + 1 :, k] /= factors[k, k]
        factors[k + 1 :, k + 1 :] -= np.tril(np.multiply.outer(factors[k + 1 :, k], column.conj()))
    return _as(a, factors.reshape(matrix.shape))


def _square(tile: Any) -> Any:
    """A tile as a matrix: a scalar is one by one; of more dimensions than two all but the last are rows."""
    *rows, columns = tile.shape or (1,)
    return tile.reshape(math.prod(rows), columns)


def _require_pivot(pivot: complex, k: int) -> None:
    if pivot == 0:
        raise np.linalg.LinAlgError(f"the factorization has a zero pivot: pivot {k} is 0")


def _set(flags: dict[str, bool]) -> list[str]:
    """The names of the flags that are on."""
    return [name for name, on in flags.items() if on]


def _as(like: Any, value: Any) -> Any:
    """Give a result the class of an argument, so that scalars of a plain run keep `@`."""
    return value.view(type(like)) if isinstance(like, np.ndarray) else value

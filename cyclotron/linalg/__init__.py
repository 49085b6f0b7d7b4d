"""`cy.linalg`: operators on the elements of kernels, and whole matrices on a backend.

In a kernel, and without ``backend=``, the functions are operators on one element: a scalar or a tile, as
NumPy computes it; options of a backend are refused then. With ``backend="mpi"`` (or another), or of
distributed arrays, `matmul`, `syrk`, `solve_triangular` and `cholesky`, and `solve` and `inv` of matrices
that are positive definite or triangular, choose tiles, ranks and a schedule for the whole matrix by what
`cyclotron.calibrate` measured. `lstsq`, `qr`, `eigh`, and `solve` and `inv` of other matrices, are LAPACK's
on one process: on several ranks a `PerformanceWarning` says so.

Examples
--------
>>> cy.linalg.cholesky(np.array([[4.0]])).tolist()
[[2.0]]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np

from cyclotron.language.functions import linalg as elements
from cyclotron.language.functions import matrices
from cyclotron.language.functions.matrices import det
from cyclotron.language.functions.reductions import norm
from cyclotron.language.values.array import SymbolicArray
from cyclotron.language.values.nodes import Element
from cyclotron.linalg.dispatch import form_of, options_of, plan, run_cholesky, run_matmul, run_solve, run_syrk
from cyclotron.linalg.gathered import run_eigh, run_least_squares, run_qr
from cyclotron.linalg.operands import (
    check_element,
    check_element_sides,
    element_product,
    is_conjugated,
    is_transposed,
    trans_refused,
    unfit,
)
from cyclotron.linalg.plans import Plan
from cyclotron.linalg.systems import kind_of, run_inv, run_system
from cyclotron.mpi.layout import Layout
from cyclotron.support.arguments import invalid_option
from cyclotron.support.interruptible import interruptibly

__all__ = [
    "Plan",
    "cholesky",
    "det",
    "eigh",
    "inv",
    "inv_triangular",
    "ldl",
    "lstsq",
    "lu",
    "matmul",
    "norm",
    "plan",
    "qr",
    "solve",
    "solve_triangular",
    "syrk",
]


def matmul(
    a: Any,
    b: Any,
    *,
    backend: str | None = None,
    ranks: int | None = None,
    plan: Plan | None = None,
    layout: Layout | None = None,
    verbose: bool = False,
) -> Any:
    """Return the product of two matrices, or of a matrix and a vector, as `numpy.matmul`.

    Parameters
    ----------
    a : array or Distributed, (m, k) or (k,)
    b : array or Distributed, (k, n) or (k,)
        Without a backend also elements of a kernel.
    backend : {"mpi", "local", "sim", "numpy"}, optional
        Where the whole product is computed; ``mpi`` where an operand is distributed.
    ranks : int, optional
        MPI processes, or threads; by default as `cyclotron.run`, or those of a distributed operand.
    plan : Plan, optional
        How, instead of the best that the model finds.
    layout : Layout, optional
        Of a distributed result; by default that of a distributed operand, the first that is on a grid.
    verbose : bool
        Print the plan and what it was chosen from.

    Returns
    -------
    array or Distributed
        In the operands' common dtype; on ``mpi`` distributed where an operand is, but for the one number that
        two vectors make.

    Raises
    ------
    ShapeError
        If the shapes or dtypes do not fit, or the plan is for others (CYC737).
    ExecutionError
        If `ranks` is no number of ranks, or an option is given without a backend (CYC733); if a distributed
        operand is on another number of ranks (CYC736).
    BackendUnavailable
        If there is no such backend (CYC720), or MPI is missing (CYC722).

    Examples
    --------
    >>> cy.linalg.matmul(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]), backend="local").tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    options = options_of(backend, ranks, plan, verbose, a, b, layout=layout)
    if options is not None:
        return run_matmul(a, b, options)
    return a @ b if _traced(a, b) else element_product(a, b)


def solve_triangular(
    a: Any,
    b: Any,
    *,
    side: str = "left",
    lower: bool = True,
    trans: bool | int | str = False,
    unit_diagonal: bool = False,
    backend: str | None = None,
    ranks: int | None = None,
    plan: Plan | None = None,
    layout: Layout | None = None,
    verbose: bool = False,
) -> Any:
    """Solve a triangular system by substitution.

    Parameters
    ----------
    a : scalar or array, (n, n), floating or complex, or Distributed
        The triangular matrix; its other triangle is not read.
    b : scalar or array, (n, m) or (n,), or (m, n) for ``side="right"``; or Distributed, (n, m)
        The right-hand sides.
    side : {"left", "right"}
        Solve ``op(a) X = b`` or, without a backend, ``X op(a) = b``.
    lower : bool
        Whether `a` is lower triangular, as stored.
    trans : bool, 0, 1, 2, "N", "T" or "C"
        Whether ``op(a)`` is ``a.T`` instead of ``a``. 2 and "C" are ``a.conj().T``, of whole matrices.
    unit_diagonal : bool
        Whether to take the diagonal as ones without reading it.
    backend, ranks, plan, layout, verbose
        As in `matmul`.

    Returns
    -------
    scalar, array or Distributed
        X, shaped as `b`; distributed where an operand is.

    Raises
    ------
    ShapeError
        If the shapes or dtypes do not fit, or `lower`, `trans` or `unit_diagonal` is none of these (CYC737).
    ExecutionError
        If the matrix is singular; tells the first zero of the diagonal (CYC701). Without a backend it is
        divided by, as NumPy does. Else as in `matmul`.
    BackendUnavailable
        As in `matmul`.

    Examples
    --------
    >>> cy.linalg.solve_triangular(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0])).tolist()
    [1.0, 2.0]
    """
    form = form_of(side, lower, trans, unit_diagonal)
    options = options_of(backend, ranks, plan, verbose, a, b, layout=layout)
    if options is not None:
        return run_solve(a, b, form, options)
    if is_conjugated(trans):
        trans_refused(trans, "an element")
    if not _traced(a, b):
        check_element_sides(a, b, side)
    return elements.solve_triangular(
        a, b, side=side, lower=form.lower, trans=is_transposed(trans), unit_diagonal=form.unit_diagonal
    )


def cholesky(
    a: Any,
    *,
    backend: str | None = None,
    ranks: int | None = None,
    plan: Plan | None = None,
    layout: Layout | None = None,
    verbose: bool = False,
) -> Any:
    """Return the lower Cholesky factor, zeros above.

    Parameters
    ----------
    a : scalar or array, (n, n), floating or complex, or Distributed
        Symmetric (Hermitian) and positive definite; only the lower triangle is read.
    backend, ranks, plan, layout, verbose
        As in `matmul`.

    Returns
    -------
    scalar, array or Distributed
        The factor, shaped as `a`.

    Raises
    ------
    ExecutionError
        If the matrix is not positive definite; tells the first leading minor that is not (CYC701). Without a
        backend it is `numpy.linalg.LinAlgError`, as NumPy's. Else as in `matmul`.
    ShapeError
        If the matrix is not square, or of another dtype (CYC737).
    BackendUnavailable
        As in `matmul`.

    Examples
    --------
    >>> cy.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 2.0]])).tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    options = options_of(backend, ranks, plan, verbose, a, layout=layout)
    if options is not None:
        return run_cholesky(a, options)
    if isinstance(a, SymbolicArray):
        return matrices.cholesky(a)
    if not _traced(a):
        check_element("cholesky", a)
    return elements.cholesky(a)


def syrk(
    a: Any,
    *,
    backend: str | None = None,
    ranks: int | None = None,
    plan: Plan | None = None,
    layout: Layout | None = None,
    verbose: bool = False,
) -> Any:
    """Return ``a @ a.T``, symmetric; half of it is computed.

    Parameters
    ----------
    a : array or Distributed, (n, k)
        Of complex numbers none is conjugated, as in BLAS.
    backend, ranks, plan, layout, verbose
        As in `matmul`.

    Returns
    -------
    array or Distributed
        (n, n), both triangles; distributed where `a` is.

    Raises
    ------
    ShapeError
        If it is no matrix, or of another dtype (CYC737).
    ExecutionError, BackendUnavailable
        As in `matmul`.

    Examples
    --------
    >>> cy.linalg.syrk(np.array([[1.0, 2.0], [0.0, 1.0]]), backend="local").tolist()
    [[5.0, 2.0], [2.0, 1.0]]
    """
    options = options_of(backend, ranks, plan, verbose, a, layout=layout)
    return a @ a.T if options is None else run_syrk(a, options)


def solve(
    a: Any,
    b: Any,
    *,
    assume_a: str = "general",
    backend: str | None = None,
    ranks: int | None = None,
    verbose: bool = False,
) -> Any:
    """Solve a system of linear equations, as `numpy.linalg.solve`.

    Parameters
    ----------
    a : array, (n, n), or Distributed
        In kernels of at most 32 rows; of a singular one the result is infinite or NaN there.
    b : array, (n,) or (n, m), or Distributed
        The right-hand sides.
    assume_a : {"general", "positive definite", "lower triangular", "upper triangular"}
        As of SciPy, "gen" and "pos" too. The first is elimination with exchange of rows, by LAPACK on one
        process; the second Cholesky and two triangular solves, all distributed, by the lower triangle.
    backend, ranks, verbose
        As in `matmul`.

    Returns
    -------
    array or Distributed
        Shaped as `b`; distributed where an operand is.

    Raises
    ------
    ShapeError
        If the shapes or dtypes do not fit, or `assume_a` is none of these (CYC737; in kernels CYC12x).
    ExecutionError
        If the matrix is singular, or not positive definite (CYC701); without a backend it is
        `numpy.linalg.LinAlgError`, as NumPy's. Else as in `matmul`.
    BackendUnavailable
        As in `matmul`.

    Examples
    --------
    >>> a = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> cy.linalg.solve(a, np.array([3.0, 3.0]), assume_a="pos", backend="local").round(12).tolist()
    [1.0, 1.0]
    """
    options = options_of(backend, ranks, None, verbose, a, b)
    if options is not None:
        return run_system(a, b, assume_a, options)
    _require_general("solve", assume_a)
    return interruptibly(matrices.solve, a, b)


def inv(
    a: Any,
    *,
    assume_a: str = "general",
    backend: str | None = None,
    ranks: int | None = None,
    verbose: bool = False,
) -> Any:
    """Return the inverse of a matrix, as `numpy.linalg.inv`.

    Parameters
    ----------
    a : array, (n, n), or Distributed
        In kernels of at most 32 rows; of a singular one the result is infinite or NaN there.
    assume_a, backend, ranks, verbose
        As in `solve`.

    Returns
    -------
    array or Distributed
        (n, n); distributed where `a` is.

    Raises
    ------
    ShapeError, ExecutionError, BackendUnavailable
        As in `solve`.

    Examples
    --------
    >>> cy.linalg.inv(np.array([[2.0, 0.0], [0.0, 4.0]]), backend="local").tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    options = options_of(backend, ranks, None, verbose, a)
    if options is not None:
        return run_inv(a, assume_a, options)
    _require_general("inv", assume_a)
    return interruptibly(matrices.inv, a)


def lstsq(
    a: Any,
    b: Any,
    rcond: float | None = None,
    *,
    backend: str | None = None,
    ranks: int | None = None,
    verbose: bool = False,
) -> tuple[Any, Any, int, Any]:
    """Return the least-squares solution of a linear system, as `numpy.linalg.lstsq`.

    By LAPACK on one process.

    Parameters
    ----------
    a : array or Distributed, (m, n)
    b : array or Distributed, (m,) or (m, k)
    rcond : float, optional
        Singular values below this share of the largest count as zero; by default eps times the larger extent.
    backend, ranks, verbose
        As in `matmul`.

    Returns
    -------
    x : array or Distributed
        (n,) or (n, k); distributed where an operand is.
    residuals : ndarray
        (k,) sums of squares, where m > n and the rank is n; else empty.
    rank : int
    singular values : ndarray
        (min(m, n),)

    Raises
    ------
    ShapeError
        If the shapes or dtypes do not fit, or `rcond` is no number (CYC737).
    ExecutionError
        If the singular values are not found (CYC701); without a backend it is `numpy.linalg.LinAlgError`.
        Else as in `matmul`.
    BackendUnavailable
        As in `matmul`.

    Examples
    --------
    >>> x, *_ = cy.linalg.lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))
    >>> x.round(12).tolist()
    [2.0]
    """
    options = options_of(backend, ranks, None, verbose, a, b)
    if options is not None:
        return run_least_squares(a, b, rcond, options)
    x, residuals, rank, values = interruptibly(lambda a, b: np.linalg.lstsq(a, b, rcond=rcond), a, b)
    return x, residuals, int(rank), values


def qr(
    a: Any,
    mode: str = "reduced",
    *,
    backend: str | None = None,
    ranks: int | None = None,
    verbose: bool = False,
) -> Any:
    """Return the orthogonal and the upper triangular factor of a matrix, as `numpy.linalg.qr`.

    By Householder's reflections, with the signs of LAPACK, which does it on one process.

    Parameters
    ----------
    a : array or Distributed, (m, n)
        In kernels real, of at most 32 rows, and of no more columns than rows.
    mode : {"reduced", "complete", "r"}
        The sizes of the factors, or R alone; in kernels "reduced".
    backend, ranks, verbose
        As in `matmul`.

    Returns
    -------
    tuple of array or Distributed, or one
        (m, k) with orthonormal columns, and (k, n): k is min(m, n), or m where `mode` is "complete".
        Distributed where `a` is.

    Raises
    ------
    ShapeError
        If it is no matrix, or of another dtype, or `mode` is none of these (CYC737; in a kernel CYC122).
    ExecutionError, BackendUnavailable
        As in `matmul`.

    Examples
    --------
    >>> Q, R = cy.linalg.qr(np.array([[3.0, 0.0], [0.0, 4.0]]))
    >>> abs(R).tolist()
    [[3.0, 0.0], [0.0, 4.0]]
    """
    options = options_of(backend, ranks, None, verbose, a)
    if options is not None:
        return run_qr(a, mode, options)
    if isinstance(a, SymbolicArray):
        return matrices.qr(a)
    found = interruptibly(lambda a: np.linalg.qr(a, mode=mode), a)  # type: ignore[call-overload]
    return found if mode == "r" else tuple(found)


def eigh(
    a: Any, UPLO: str = "L", *, backend: str | None = None, ranks: int | None = None, verbose: bool = False
) -> tuple[Any, Any]:
    """Return the eigenvalues and eigenvectors of a symmetric (Hermitian) matrix, as `numpy.linalg.eigh`.

    By LAPACK on one process.

    Parameters
    ----------
    a : array or Distributed, (n, n)
    UPLO : {"L", "U"}
        The triangle that is read.
    backend, ranks, verbose
        As in `matmul`.

    Returns
    -------
    eigenvalues : ndarray
        (n,), real, increasing.
    eigenvectors : array or Distributed
        (n, n), a column for each; distributed where `a` is.

    Raises
    ------
    ShapeError
        If the matrix is not square, or of another dtype, or `UPLO` is neither (CYC737).
    ExecutionError
        If the iteration does not end, as with NaN (CYC701); without a backend it is
        `numpy.linalg.LinAlgError`. Else as in `matmul`.
    BackendUnavailable
        As in `matmul`.

    Examples
    --------
    >>> values, vectors = cy.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]]))
    >>> values.tolist()
    [1.0, 2.0]
    """
    options = options_of(backend, ranks, None, verbose, a)
    if options is not None:
        return run_eigh(a, UPLO, options)
    triangle: Any = UPLO
    values, vectors = interruptibly(lambda a: np.linalg.eigh(a, UPLO=triangle), a)
    return values, vectors


def _require_general(operation: str, assume_a: str) -> None:
    if kind_of(assume_a) != "general":
        raise invalid_option(
            f"assume_a={assume_a!r} of {operation} without a backend",
            'say where the whole matrix is: backend="mpi" or "local"; in kernels use cy.linalg.cholesky',
        )


def _of_a_square(function: Callable[..., Any]) -> Callable[..., Any]:
    """The operator on an element, which is looked at first where it is an array."""

    allowed = list(signature(function).parameters)[1:]

    @wraps(function)
    def checked(a: Any, **flags: Any) -> Any:
        for flag in flags:
            if flag not in allowed:
                raise unfit(
                    f"cy.linalg.{function.__name__} has no option `{flag}`",
                    f"it has: {', '.join(allowed)}"
                    if allowed
                    else "it is an operator on one tile, in kernels",
                )
        if not _traced(a):
            check_element(function.__name__, a)
        return function(a, **flags)

    return checked


inv_triangular = _of_a_square(elements.inv_triangular)
ldl = _of_a_square(elements.ldl)
lu = _of_a_square(elements.lu)


def _traced(*operands: Any) -> bool:
    """Tell if an operand is of a kernel, where the core checks elements."""
    return any(isinstance(operand, Element) for operand in operands)


def __dir__() -> list[str]:
    return list(__all__)

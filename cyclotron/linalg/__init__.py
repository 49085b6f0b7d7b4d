"""`cy.linalg`: operators on the elements of kernels, and whole matrices on a backend.

In a kernel, and without ``backend=``, the functions are operators on one element: a scalar or a tile, as
NumPy computes it; options of a backend are refused then. With ``backend="mpi"`` (or another), or of
distributed arrays, `matmul`, `solve_triangular` and `cholesky` choose tiles, ranks and a schedule for the
whole matrix by what `cyclotron.calibrate` measured.

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

from cyclotron.language.functions import linalg as elements
from cyclotron.language.functions import matrices
from cyclotron.language.functions.matrices import det, inv, qr, solve
from cyclotron.language.functions.reductions import norm
from cyclotron.language.values.array import SymbolicArray
from cyclotron.language.values.nodes import Element
from cyclotron.linalg.dispatch import form_of, options_of, plan, run_cholesky, run_matmul, run_solve
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

__all__ = [
    "Plan",
    "cholesky",
    "det",
    "inv",
    "inv_triangular",
    "ldl",
    "lu",
    "matmul",
    "norm",
    "plan",
    "qr",
    "solve",
    "solve_triangular",
]


def matmul(
    a: Any,
    b: Any,
    *,
    backend: str | None = None,
    ranks: int | None = None,
    plan: Plan | None = None,
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
    options = options_of(backend, ranks, plan, verbose, a, b)
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
        Whether ``op(a)`` is ``a.T`` instead of ``a``. 2 and "C" are ``a.conj().T``, of whole matrices that
        are not distributed.
    unit_diagonal : bool
        Whether to take the diagonal as ones without reading it.
    backend, ranks, plan, verbose
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
    options = options_of(backend, ranks, plan, verbose, a, b)
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
    verbose: bool = False,
) -> Any:
    """Return the lower Cholesky factor, zeros above.

    Parameters
    ----------
    a : scalar or array, (n, n), floating or complex, or Distributed
        Symmetric (Hermitian) and positive definite; only the lower triangle is read.
    backend, ranks, plan, verbose
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
    options = options_of(backend, ranks, plan, verbose, a)
    if options is not None:
        return run_cholesky(a, options)
    if isinstance(a, SymbolicArray):
        return matrices.cholesky(a)
    if not _traced(a):
        check_element("cholesky", a)
    return elements.cholesky(a)


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

"""`cy.linalg`: operators on the elements of kernels, and whole matrices on a backend.

In a kernel, and without ``backend=``, the functions are operators on one element: a scalar or a tile, as
NumPy computes it. With ``backend="mpi"`` (or another), or of distributed arrays, `matmul`, `solve_triangular`
and `cholesky` choose tiles, ranks and a schedule for the whole matrix by what `cyclotron.calibrate` measured.
"""

from __future__ import annotations

from typing import Any

from cyclotron.distributed import Distributed
from cyclotron.language import linalg as elements
from cyclotron.language.linalg import inv_triangular, ldl, lu
from cyclotron.linalg.plans import Plan
from cyclotron.linalg.whole import (
    is_transposed,
    plan,
    run_cholesky,
    run_matmul,
    run_solve,
    trans_refused,
)

__all__ = ["Plan", "cholesky", "inv_triangular", "ldl", "lu", "matmul", "plan", "solve_triangular"]


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
    a : array, (m, k) or (k,), or Distributed, (m, k)
    b : array, (k, n) or (k,), or Distributed, (k, n)
        Without a backend also elements of a kernel.
    backend : {"mpi", "local", "sim", "numpy"}, optional
        Where the whole product is computed; ``mpi`` where an operand is distributed.
    ranks : int, optional
        MPI processes, or threads; by default as `cyclotron.run`.
    plan : Plan, optional
        How, instead of the best that the model finds.
    verbose : bool
        Print the plan and what it was chosen from.

    Returns
    -------
    array or Distributed
        In the operands' common dtype; distributed where an operand is.

    Raises
    ------
    ShapeError
        If the shapes or dtypes do not fit (CYC737).
    """
    if not _whole(backend, a, b):
        return a @ b
    return run_matmul(a, b, backend or "mpi", ranks, plan, verbose)


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
        If the shapes or dtypes do not fit, or `trans` is none of these (CYC737).
    ExecutionError
        If the matrix is singular; tells the first zero of the diagonal (CYC701).
    """
    transposed = is_transposed(trans)
    if not _whole(backend, a, b):
        if transposed and trans in (2, "C"):
            trans_refused(trans, "an element")
        return elements.solve_triangular(
            a, b, side=side, lower=lower, trans=transposed, unit_diagonal=unit_diagonal
        )
    form = (side, bool(lower), trans, bool(unit_diagonal))
    return run_solve(a, b, form, backend or "mpi", ranks, plan, verbose)


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
        backend it is `numpy.linalg.LinAlgError`.
    ShapeError
        If the matrix is not square, or of another dtype (CYC737).
    """
    if not _whole(backend, a):
        return elements.cholesky(a)
    return run_cholesky(a, backend or "mpi", ranks, plan, verbose)


def _whole(backend: str | None, *operands: Any) -> bool:
    return backend is not None or any(isinstance(operand, Distributed) for operand in operands)

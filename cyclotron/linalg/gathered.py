"""Operations that LAPACK does on one process: what is distributed is gathered, and a warning says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.linalg.dispatch import Options
from cyclotron.linalg.operands import (
    array,
    check_matrix,
    check_square,
    common,
    distributed_on,
    matrix,
    require_numbers,
    unfit,
)
from cyclotron.mpi.distributed_array import Distributed
from cyclotron.support.arguments import invalid_option, shown
from cyclotron.support.call_site import warn_at_call
from cyclotron.support.errors import ExecutionError, PerformanceWarning
from cyclotron.support.interruptible import interruptibly

_MODES = ("reduced", "complete", "r")


def run_general_solve(a: Any, b: Any, options: Options) -> Any:
    """Solve by elimination with partial pivoting (LAPACK's gesv); see `cyclotron.linalg.solve`."""
    a, b = floating_operands("solve", a, b)
    return _called("solve", np.linalg.solve, (a, b), options, b if isinstance(b, Distributed) else a)


def run_inverse(a: Any, options: Options) -> Any:
    """Invert by elimination with partial pivoting (LAPACK's gesv); see `cyclotron.linalg.inv`."""
    (a,) = floating_operands("inv", a)
    return _called("inv", np.linalg.inv, (a,), options, a)


def run_least_squares(a: Any, b: Any, rcond: Any, options: Options) -> tuple[Any, Any, int, Any]:
    """Solve by singular values (LAPACK's gelsd); see `cyclotron.linalg.lstsq`."""
    a, b = floating_operands("lstsq", a, b, check=check_matrix)
    if rcond is not None and not (isinstance(rcond, int | float | np.number) and rcond == rcond):
        raise unfit(f"rcond is {shown(rcond)}", "give a number, or None for eps times the larger extent")
    x, residuals, rank, values = _called(
        "lstsq",
        lambda a, b: np.linalg.lstsq(a, b, rcond=None if rcond is None else float(rcond)),
        (a, b),
        options,
        None,
    )
    return _as_operand(x, b if isinstance(b, Distributed) else a), residuals, int(rank), values


def run_qr(a: Any, mode: Any, options: Options) -> Any:
    """Factor by reflections (LAPACK's geqrf); see `cyclotron.linalg.qr`."""
    (a,) = floating_operands("qr", a, check=check_matrix)
    if mode not in _MODES:
        raise unfit(f"mode is {shown(mode)}", f"use one of {', '.join(map(repr, _MODES))}")
    factors = _called("qr", lambda a: np.linalg.qr(a, mode=mode), (a,), options, a)
    return factors if mode == "r" else tuple(factors)


def run_eigh(a: Any, UPLO: Any, options: Options) -> tuple[Any, Any]:
    """Find eigenvalues and vectors (LAPACK's heevd); see `cyclotron.linalg.eigh`."""
    (a,) = floating_operands("eigh", a)
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise unfit(f"UPLO is {shown(UPLO)}", 'use "L" or "U"')
    triangle: Any = UPLO.upper()
    values, vectors = _called("eigh", lambda a: np.linalg.eigh(a, UPLO=triangle), (a,), options, None)
    return values, _as_operand(vectors, a)


def floating_operands(operation: str, *values: Any, check: Callable[[Any, str], None] = check_square) -> Any:
    """Return a matrix that passes a check, and right-hand sides that fit it, in one floating dtype."""
    require_numbers(operation, *values)
    a, *rest = common(*map(array, values), floating=True)
    check(a, operation)
    for b in rest:
        vector, _ = matrix(b, 1)
        if len(vector.shape) != 2 or vector.shape[0] != a.shape[0]:
            raise unfit(
                f"{operation}: right-hand sides {b.dtype} of shape {tuple(b.shape)} for a {a.dtype} matrix "
                f"of shape {tuple(a.shape)}",
                "give a vector, or a matrix of columns, with a row for each row of the matrix",
            )
    return a, *rest


def _called(
    operation: str, function: Callable[..., Any], operands: tuple[Any, ...], options: Options, like: Any
) -> Any:
    """The results of a function of LAPACK on whole operands; distributed as `like` where that is."""
    _require_processes(operation, options)
    workers = options.workers(*operands)
    if options.backend.distributed and workers > 1:
        shape = "x".join(map(str, operands[0].shape))
        warn_at_call(
            PerformanceWarning(
                f"`{operation}` of a {shape} matrix runs on one process, not on {workers} ranks: "
                "LAPACK has all of it",
                code="CYC738",
                help='leave the backend out for arrays; or use what is distributed: assume_a="pos" of solve '
                "and inv, solve_triangular, cholesky, matmul, syrk",
            )
        )
    whole = [value.gather() if isinstance(value, Distributed) else value for value in operands]
    try:
        found = interruptibly(function, *whole)
    except np.linalg.LinAlgError as error:
        raise _failure(operation, whole[0], str(error)) from None
    if isinstance(found, tuple):
        return tuple(_as_operand(one, like) for one in found)
    return _as_operand(found, like)


def _require_processes(operation: str, options: Options) -> None:
    if options.backend.name == "sim":
        raise invalid_option(
            f"`{operation}` has no program to simulate: LAPACK does it on one process",
            'use backend="local" or "mpi"',
        )


def _failure(operation: str, a: NDArray[Any], told: str) -> ExecutionError:
    if operation in ("solve", "inv"):
        return ExecutionError(
            f"the matrix is singular: elimination finds no pivot in a {len(a)}x{len(a)} matrix",
            code="CYC701",
            help=f"{operation} needs a matrix of full rank; lstsq takes others",
        )
    return ExecutionError(
        f"`{operation}` of a {'x'.join(map(str, a.shape))} matrix fails: {told}",
        code="CYC701",
        help="LAPACK's iteration does not end for numbers that are not finite",
    )


def _as_operand(found: Any, like: Any) -> Any:
    """The array, distributed as an operand that is: in its layout where that has a grid of as many axes."""
    if not isinstance(like, Distributed) or not isinstance(found, np.ndarray):
        return found
    layout = like.layout if found.ndim == like.ndim and like.layout.grid is not None else None
    # The first rank's numbers: signs of vectors are a matter of each process's LAPACK.
    return distributed_on(like.ranks, found, layout)

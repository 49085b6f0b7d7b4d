"""Whole matrices on a backend: what is checked, planned and run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cyclotron.calibration import DTYPES as FLOATING
from cyclotron.calibration import calibrate
from cyclotron.config import threads
from cyclotron.distributed import Distributed
from cyclotron.errors import CyclotronError, ExecutionError, ShapeError
from cyclotron.execution import run
from cyclotron.language import Kernel, Spec
from cyclotron.language.trace import DTYPES
from cyclotron.linalg import candidates, kernels
from cyclotron.linalg.plans import Plan

Matrix = NDArray[Any] | Distributed | Spec
Form = tuple[str, bool, bool | int | str, bool]  # side, lower, trans, unit_diagonal

_TRANS = {"N": False, "T": True, "C": True, 0: False, 1: True, 2: True}
# By whether the matrix is lower, and transposed.
_SOLVERS = {
    (True, False): kernels.solve_lower,
    (False, False): kernels.solve_upper,
    (False, True): kernels.solve_upper_transposed,
    (True, True): kernels.solve_lower_transposed,
}


def plan(
    operation: str,
    *operands: Matrix,
    ranks: int | None = None,
    backend: str = "mpi",
    lower: bool = True,
    trans: bool | int | str = False,
    unit_diagonal: bool = False,
) -> Plan:
    """Choose how to do an operation on whole matrices, without doing it.

    Parameters
    ----------
    operation : {"matmul", "solve_triangular", "cholesky"}
    *operands : ndarray, Distributed or Spec
        Matrices; only shapes and dtypes matter.
    ranks : int, optional
        As the operation's.
    backend : str
        As the operation's.
    lower, trans, unit_diagonal
        Of `solve_triangular`.

    Returns
    -------
    Plan
        The one that should take least time; prints with all that it was chosen from. It may be given to the
        operation, on any matrices of these shapes and dtypes.

    Raises
    ------
    ShapeError
        If there is no such operation, or shapes or dtypes do not fit (CYC737).
    """
    form = ("left", lower, trans, unit_diagonal)
    planners: dict[str, tuple[int, Callable[..., Plan]]] = {
        "matmul": (2, _plan_matmul),
        "solve_triangular": (2, lambda a, b, count: _plan_solve(a, b, form, count)),
        "cholesky": (1, _plan_cholesky),
    }
    if operation not in planners or len(operands) != planners[operation][0]:
        raise _unfit(
            f"there is no plan for {operation!r} of {len(operands)} matrices",
            "plan matmul or solve_triangular of two, or cholesky of one",
        )
    return planners[operation][1](*operands, _count(backend, ranks, *operands))


def run_matmul(a: Any, b: Any, backend: str, ranks: int | None, chosen: Plan | None, verbose: bool) -> Any:
    """See `cyclotron.linalg.matmul`."""
    a, b = _array(a), _array(b)
    row, column = a.ndim == 1, b.ndim == 1
    a, b = _common(_as_matrix(a, 0), _as_matrix(b, 1))
    _check_product(a, b)
    shape = (a.shape[0], b.shape[1])
    if 0 in (*shape, a.shape[1]):
        result: Any = np.zeros(shape, a.dtype)
    else:
        chosen = chosen or _plan_matmul(a, b, _count(backend, ranks, a, b))
        result = _run(chosen, (kernels.matmul,), (a, b), backend, verbose)
    if row or column:
        return np.asarray(result).reshape(shape[row : 2 - column])[()]
    return result


def run_solve(
    a: Any, b: Any, form: Form, backend: str, ranks: int | None, chosen: Plan | None, verbose: bool
) -> Any:
    """See `cyclotron.linalg.solve_triangular`."""
    a, b = _array(a), _array(b)
    vector = b.ndim == 1
    a, b = _common(_as_matrix(a, 0), _as_matrix(b, 1), floating=True)
    _check_solve(a, b, form)
    if 0 in b.shape:
        return np.zeros(b.shape[: 2 - vector], b.dtype)
    _, _, trans, unit = form
    conjugated = trans in (2, "C") and str(a.dtype).startswith("complex")
    if conjugated and (isinstance(a, Distributed) or isinstance(b, Distributed)):
        trans_refused(trans, "distributed arrays")
    if isinstance(a, np.ndarray) and not unit:
        zeros = np.flatnonzero(np.diagonal(a) == 0)
        if len(zeros):
            raise ExecutionError(
                f"the triangular matrix is singular: diagonal element {int(zeros[0]) + 1} of {len(a)} is 0",
                code="CYC701",
                help="solve_triangular divides by the diagonal",
            )
    chosen = chosen or _plan_solve(a, b, form, _count(backend, ranks, a, b))
    # op(a) x = b with the conjugate transpose is the conjugate of a.T x = b with b's.
    solver = _SOLVERS[form[1], is_transposed(trans)]
    result = _run(chosen, (solver,), (a, b.conj() if conjugated else b), backend, verbose)
    if isinstance(result, Distributed):
        return result
    result = result.conj() if conjugated else result
    return result[:, 0] if vector else result


def run_cholesky(a: Any, backend: str, ranks: int | None, chosen: Plan | None, verbose: bool) -> Any:
    """See `cyclotron.linalg.cholesky`."""
    a, _ = _common(_array(a), _array(a), floating=True)
    _check_square(a, "cholesky")
    if 0 in a.shape:
        return np.zeros(a.shape, a.dtype)
    chosen = chosen or _plan_cholesky(a, _count(backend, ranks, a))
    try:
        return _run(chosen, (kernels.cholesky, kernels.cholesky_hermitian), (a,), backend, verbose)
    except ExecutionError as error:
        raise _with_minor(error, chosen, a.shape[0]) from None


def _plan_matmul(a: Matrix, b: Matrix, ranks: int) -> Plan:
    _check_product(a, b)
    floating = str(a.dtype) if str(a.dtype) in FLOATING else "float64"
    (m, k), n = a.shape, b.shape[1]
    found = candidates.products(m, k, n, ranks, calibrate(floating))
    # Whole numbers are multiplied by a loop, whose rate is not measured; the order stays.
    operands = [tuple(replace(s, dtype=str(a.dtype)) for s in p.operands) for p in found]
    return _best([replace(p, operands=o) for p, o in zip(found, operands, strict=True)])


def _plan_solve(a: Matrix, b: Matrix, form: Form, ranks: int) -> Plan:
    _check_solve(a, b, form)
    _, lower, trans, unit = form
    kernel: Kernel = _SOLVERS[lower, _TRANS[trans]]
    rows, columns = b.shape
    return _best(candidates.solves(kernel, rows, columns, unit, ranks, calibrate(str(a.dtype))))


def _plan_cholesky(a: Matrix, ranks: int) -> Plan:
    _check_square(a, "cholesky")
    return _best(candidates.factorizations(a.shape[0], ranks, calibrate(str(a.dtype))))


def _best(found: list[Plan]) -> Plan:
    """The plan of least time, with the best of each other name."""
    by_name: dict[str, Plan] = {}
    for candidate in sorted(found, key=lambda plan: plan.seconds):
        by_name.setdefault(candidate.name, candidate)
    first, *others = by_name.values()
    return replace(first, others=tuple(others))


def _run(
    chosen: Plan, kernels_for: tuple[Kernel, ...], operands: tuple[Any, ...], backend: str, verbose: bool
) -> Any:
    if not isinstance(chosen, Plan) or chosen.kernel not in kernels_for:
        what = chosen.name if isinstance(chosen, Plan) else repr(chosen)
        raise _unfit(f"the plan is {what}", "make a plan for this operation: cy.linalg.plan(...)")
    for given, planned in zip(operands, chosen.operands, strict=True):
        if tuple(given.shape) != planned.shape or str(given.dtype) != planned.dtype:
            raise _unfit(
                f"the plan is for {planned.dtype} of {planned.shape}, and a matrix is {given.dtype} "
                f"of {tuple(given.shape)}",
                "make a plan for these matrices: cy.linalg.plan(...)",
            )
    if verbose:
        print(chosen)
    options: dict[str, Any] = {}
    if backend == "mpi":
        options = {"ranks": chosen.ranks, "deal": chosen.deal}
    elif backend in ("local", "sim"):
        options = {"threads": chosen.ranks}
    return run(chosen.compile(), *operands, backend=backend, **options).output  # type: ignore[arg-type]


def _count(backend: str, ranks: int | None, *operands: Any) -> int:
    """How many ranks, or threads, there will be."""
    for operand in operands:
        if isinstance(operand, Distributed):
            return operand.ranks.ranks
    if ranks is not None and ranks < 1:
        raise ExecutionError(f"ranks={ranks}", code="CYC733", help="use at least one rank")
    if backend != "mpi":
        return ranks or threads()
    from cyclotron import mpi

    return mpi.rank_count(ranks)


def _array(value: Any) -> Any:
    return value if isinstance(value, (Distributed, Spec)) else np.asarray(value)


def _as_matrix(value: Any, axis: int) -> Any:
    """A vector as one row (axis 0) or column."""
    return value if value.ndim != 1 else np.expand_dims(value, axis)


def _common(a: Any, b: Any, floating: bool = False) -> tuple[Any, Any]:
    """The operands in their common dtype, which Cyclotron must have."""
    wanted = np.result_type(a.dtype, b.dtype)
    if floating and wanted.kind in "biu":
        wanted = np.dtype("float64")
    if wanted.name not in (FLOATING if floating else DTYPES):
        raise _unfit(f"matrices of dtype {wanted}", f"convert them to one of {', '.join(FLOATING)}")
    result = []
    for value in (a, b):
        if value.dtype != wanted and isinstance(value, Distributed):
            raise _unfit(
                f"a distributed matrix of dtype {value.dtype} where {wanted} is needed",
                "distribute both in one dtype",
            )
        result.append(value if value.dtype == wanted else value.astype(wanted))
    return result[0], result[1]


def _check_product(a: Any, b: Any) -> None:
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0] or str(a.dtype) != str(b.dtype):
        raise _unfit(
            f"matmul of {a.dtype} {tuple(a.shape)} and {b.dtype} {tuple(b.shape)}",
            "the columns of the first are the rows of the second",
        )


def _check_square(a: Any, what: str) -> None:
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise _unfit(f"{what} of a matrix of shape {tuple(a.shape)}", "the matrix is square")


def _check_solve(a: Any, b: Any, form: Form) -> None:
    side, _, trans, _ = form
    _check_square(a, "solve_triangular")
    if side != "left":
        raise _unfit(f"side={side!r} on a backend", "transpose the system: X op(a) = b is op(a).T X.T = b.T")
    is_transposed(trans)
    if len(b.shape) != 2 or b.shape[0] != a.shape[0] or str(a.dtype) != str(b.dtype):
        raise _unfit(
            f"right-hand sides {b.dtype} of shape {tuple(b.shape)} for a {a.dtype} matrix of shape "
            f"{tuple(a.shape)}",
            "give a row for each row of the matrix",
        )


def _with_minor(error: CyclotronError, chosen: Plan, n: int) -> CyclotronError:
    """The error of a tile's pivot with the pivot's number in the whole matrix, as LAPACK tells it."""
    found = re.search(r"its pivot (\d+) is not positive, in PE \((\d+), ", error.message)
    if found is None:
        return error
    tile = (chosen.operands[0].tile or (1,))[0]
    minor = int(found[2]) * tile + int(found[1])
    return type(error)(
        f"the matrix is not positive definite: its leading minor of order {minor} of {n} is not positive",
        code=error.code,
        help=error.help,
    )


def is_transposed(trans: bool | int | str) -> bool:
    """Whether a solver's `trans` transposes; raises `ShapeError` CYC737 where it means nothing."""
    if not isinstance(trans, bool | int | str) or trans not in _TRANS:
        raise _unfit(f"trans is {trans!r}", "use 0, 1, 2, 'N', 'T' or 'C'")
    return _TRANS[trans]


def trans_refused(trans: bool | int | str, what: str) -> NoReturn:
    """Refuse a conjugate transpose of what cannot be conjugated here."""
    raise _unfit(f"trans={trans!r} of {what}", "use trans='T' of conjugates, or of a whole gathered matrix")


def _unfit(what: str, help: str) -> ShapeError:
    return ShapeError(what, code="CYC737", help=help)

"""Whole matrices on a backend: what is planned and run."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from cyclotron import mpi
from cyclotron.explore.calibration import DTYPES as FLOATING
from cyclotron.explore.calibration import Calibration, calibrate, observe
from cyclotron.kernel import Kernel
from cyclotron.language import Spec
from cyclotron.linalg import candidates, kernels
from cyclotron.linalg.operands import (
    Matrix,
    array,
    check_matrix,
    check_product,
    check_solve,
    check_square,
    common,
    flag,
    is_conjugated,
    is_transposed,
    matrix,
    require_numbers,
    reshaped,
    unfit,
)
from cyclotron.linalg.plans import Plan
from cyclotron.mpi.distributed_array import Distributed, ranks_of
from cyclotron.mpi.layout import Layout, require_layout
from cyclotron.runtime.backend import Backend
from cyclotron.runtime.backends import backend_of
from cyclotron.runtime.run import run
from cyclotron.support import arguments
from cyclotron.support.environment import threads
from cyclotron.support.errors import ExecutionError

# By whether the matrix is lower, and transposed, and conjugated.
_SOLVERS: dict[tuple[bool, bool, bool], Kernel[..., Any]] = {
    (True, False, False): kernels.solve_lower,
    (False, False, False): kernels.solve_upper,
    (False, True, False): kernels.solve_upper_transposed,
    (True, True, False): kernels.solve_lower_transposed,
    (False, True, True): kernels.solve_upper_adjoint,
    (True, True, True): kernels.solve_lower_adjoint,
}


# By operation, shapes, dtype and ranks; with the figures that they were made by.
_PLANS: dict[Any, tuple[Calibration, Plan]] = {}
_MOST_PLANS = 256


@dataclass(frozen=True)
class Options:
    """The options of `cyclotron.linalg.matmul`, checked."""

    backend: Backend
    ranks: int | None
    plan: Plan | None
    verbose: bool
    layout: Layout | None = None

    def placed(self, value: Any) -> Any:
        """An operand as the backend takes it."""
        return value.gather() if isinstance(value, Distributed) and not self.backend.distributed else value

    def workers(self, *operands: Any) -> int:
        """The number of ranks or threads that the backend runs on; 1 where it has neither."""
        if "ranks" in self.backend.options:
            holders = ranks_of(operands, self.ranks)
            return mpi.rank_count(self.ranks) if holders is None else holders.ranks
        return (self.ranks or threads()) if "threads" in self.backend.options else 1


@dataclass(frozen=True)
class TriangularForm:
    """The flags of `cyclotron.linalg.solve_triangular`."""

    side: str
    lower: bool
    trans: bool | int | str
    unit_diagonal: bool

    def solver(self, dtype: Any) -> Kernel[..., Any]:
        """Return the kernel that solves it in numbers of a dtype."""
        conjugated = is_conjugated(self.trans) and np.dtype(dtype).kind == "c"
        return _SOLVERS[self.lower, is_transposed(self.trans), conjugated]


def options_of(
    backend: Any, ranks: Any, plan: Any, verbose: bool, *operands: Any, layout: Any = None
) -> Options | None:
    """Check the options of an operation; None where it is of elements, or of arrays as NumPy does it.

    Raises
    ------
    ExecutionError
        If `ranks` is no number of ranks, or an option means nothing here (CYC733).
    BackendUnavailable
        If there is no such backend (CYC720).
    ShapeError
        If the plan is none, or for other ranks (CYC737).
    """
    if backend is None and not any(isinstance(operand, Distributed) for operand in operands):
        options = (("ranks", ranks), ("plan", plan), ("verbose", verbose or None), ("layout", layout))
        for name, value in options:
            if value is not None:
                what = (
                    f"plan {plan.name!r}"
                    if isinstance(plan, Plan) and name == "plan"
                    else f"{name}={value!r}"
                )
                raise arguments.invalid_option(
                    f"{what} without a backend",
                    'say where the whole matrix is computed: backend="mpi" or "local"',
                )
        return None
    chosen = backend_of("mpi" if backend is None else backend)
    if ranks is not None:
        arguments.rank_count(ranks)
        if not {"ranks", "threads"} & set(chosen.options):
            raise arguments.invalid_option(
                f"ranks={ranks} on the {chosen.name} backend", 'use backend="mpi" or "local"'
            )
    if plan is not None:
        if not isinstance(plan, Plan):
            raise unfit(f"the plan is {arguments.shown(plan)}", "make a plan: cy.linalg.plan(...)")
        if ranks not in (None, plan.ranks):
            raise unfit(f"ranks={ranks} and a plan for {plan.ranks}", "leave ranks out, or make another plan")
    return Options(chosen, ranks, plan, verbose, None if layout is None else require_layout(layout))


def form_of(side: Any, lower: Any, trans: Any, unit_diagonal: Any) -> TriangularForm:
    """Check the flags of a triangular system; raises `ShapeError` CYC737."""
    is_transposed(trans)
    return TriangularForm(side, flag("lower", lower), trans, flag("unit_diagonal", unit_diagonal))


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
    operation : {"matmul", "solve_triangular", "cholesky", "syrk"}
    *operands : array_like, Distributed or Spec
        As the operation's; only shapes and dtypes matter.
    ranks : int, optional
        As the operation's.
    backend : str
        As the operation's.
    lower, trans, unit_diagonal
        Of `solve_triangular` alone.

    Returns
    -------
    Plan
        The one that should take least time; prints with all that it was chosen from. It may be given to the
        operation, on any matrices of these shapes and dtypes.

    Raises
    ------
    ShapeError
        If there is no such operation, or shapes, dtypes or flags do not fit (CYC737).
    ExecutionError
        If there is no such number of ranks (CYC733), or a distributed operand is on another (CYC736).
    BackendUnavailable
        If there is no such backend (CYC720).

    Examples
    --------
    >>> plan = cy.linalg.plan("cholesky", cy.spec((64, 64)), ranks=1)
    >>> plan.ranks
    1
    """
    form = form_of("left", lower, trans, unit_diagonal)
    planners: dict[str, tuple[int, Callable[..., Plan]]] = {
        "matmul": (2, _plan_matmul),
        "solve_triangular": (2, lambda a, b, count: _plan_solve(a, b, form, count)),
        "cholesky": (1, _plan_cholesky),
        "syrk": (1, _plan_syrk),
    }
    known = isinstance(operation, str) and operation in planners
    if not known or len(operands) != planners[operation][0]:
        raise unfit(
            f"there is no plan for {arguments.shown(operation)} of {len(operands)} matrices",
            "plan matmul or solve_triangular of two, or cholesky or syrk of one",
        )
    if operation != "solve_triangular" and form != TriangularForm("left", True, False, False):
        raise unfit(
            f"lower={lower}, trans={trans!r}, unit_diagonal={unit_diagonal} of {operation}",
            "these describe the matrix of solve_triangular",
        )
    backend_of(backend)  # None is no backend here
    options = options_of(backend, ranks, None, False)
    assert options is not None
    first, *rest = operands
    product = operation == "matmul"
    floating = operation not in ("matmul", "syrk")
    given = (matrix(first, 0)[0] if product else array(first), *(matrix(value, 1)[0] for value in rest))
    return planners[operation][1](*common(*given, floating=floating), options.workers(*operands))


def run_matmul(a: Any, b: Any, options: Options) -> Any:
    """See `cyclotron.linalg.matmul`."""
    require_numbers("matmul", a, b)
    (a, row), (b, column) = matrix(options.placed(a), 0), matrix(options.placed(b), 1)
    a, b = common(a, b)
    check_product(a, b)
    chosen = options.plan or _plan_matmul(a, b, options.workers(a, b))
    result = _run(chosen, (kernels.matmul,), (), (a, b), options)
    return reshaped(result, result.shape[row : 2 - column]) if row or column else result


def run_solve(a: Any, b: Any, form: TriangularForm, options: Options) -> Any:
    """See `cyclotron.linalg.solve_triangular`."""
    require_numbers("solve_triangular", a, b)
    b, vector = matrix(options.placed(b), 1)
    a, b = common(array(options.placed(a)), b, floating=True)
    check_solve(a, b, form.side)
    if isinstance(a, np.ndarray) and not form.unit_diagonal:
        _require_no_zero(np.diagonal(a))
    chosen = options.plan or _plan_solve(a, b, form, options.workers(a, b))
    try:
        result = _run(chosen, (form.solver(a.dtype),), (form.unit_diagonal,), (a, b), options)
    except ExecutionError as error:
        if error.operator_failed and isinstance(a, Distributed):
            _require_no_zero(a._diagonal())  # the error tells which of its tile
        raise
    return reshaped(result, result.shape[:1]) if vector else result


def run_cholesky(a: Any, options: Options) -> Any:
    """See `cyclotron.linalg.cholesky`."""
    require_numbers("cholesky", a)
    (a,) = common(array(options.placed(a)), floating=True)
    check_square(a, "cholesky")
    chosen = options.plan or _plan_cholesky(a, options.workers(a))
    try:
        return _run(chosen, (kernels.cholesky, kernels.cholesky_hermitian), (), (a,), options)
    except ExecutionError as error:
        raise _with_minor(error, chosen, a) from None


def run_syrk(a: Any, options: Options) -> Any:
    """See `cyclotron.linalg.syrk`."""
    require_numbers("syrk", a)
    (a,) = common(array(options.placed(a)))
    check_matrix(a, "syrk")
    chosen = options.plan or _plan_syrk(a, options.workers(a))
    return _run(chosen, (kernels.syrk,), (), (a,), options)


def _plan_syrk(a: Matrix, ranks: int) -> Plan:
    check_matrix(a, "syrk")
    if 0 in a.shape:
        return candidates.nothing(kernels.syrk, _specs(a), ranks)
    n, k = a.shape
    return _planned(("syrk", n, k), a, ranks, partial(candidates.symmetric_products, n, k, ranks))


def _plan_matmul(a: Matrix, b: Matrix, ranks: int) -> Plan:
    check_product(a, b)
    if 0 in (*a.shape, *b.shape):
        return candidates.nothing(kernels.matmul, _specs(a, b), ranks)
    (m, k), n = a.shape, b.shape[1]
    return _planned(("matmul", m, k, n), a, ranks, partial(candidates.products, m, k, n, ranks))


def _plan_solve(a: Matrix, b: Matrix, form: TriangularForm, ranks: int) -> Plan:
    check_solve(a, b, form.side)
    unit = form.unit_diagonal
    if 0 in b.shape:
        return candidates.nothing(form.solver(a.dtype), _specs(a, b), ranks, (unit,))
    rows, columns = b.shape
    solver = form.solver(a.dtype)
    make = partial(candidates.solves, solver, rows, columns, unit, ranks)
    return _planned((solver, rows, columns, unit), a, ranks, make)


def _plan_cholesky(a: Matrix, ranks: int) -> Plan:
    check_square(a, "cholesky")
    if 0 in a.shape:
        return candidates.nothing(kernels.cholesky, _specs(a), ranks)
    n = a.shape[0]
    home = a.layout if isinstance(a, Distributed) and a.layout.grid is not None else None
    make = partial(candidates.factorizations, n, ranks, home=home)
    return _planned(("cholesky", n, home), a, ranks, make)


def _planned(key: tuple[Any, ...], a: Matrix, ranks: int, make: Callable[[Calibration], list[Plan]]) -> Plan:
    """The best of some plans, from the last ones that were made by the figures of today."""
    dtype = str(a.dtype)
    # Whole numbers are multiplied by a loop, whose rate is not measured; the order stays.
    figures = calibrate(dtype if dtype in FLOATING else "float64")
    key = (*key, dtype, ranks)
    known = _PLANS.get(key)
    if known is not None and known[0] is figures:
        return known[1]
    found = make(figures)
    operands = [tuple(replace(spec, dtype=dtype) for spec in plan.operands) for plan in found]
    best = _best([replace(plan, operands=o) for plan, o in zip(found, operands, strict=True)])
    _PLANS.pop(key, None)
    _PLANS[key] = (figures, best)
    while len(_PLANS) > _MOST_PLANS:
        del _PLANS[next(iter(_PLANS))]
    return best


def _specs(*matrices: Matrix) -> tuple[Spec, ...]:
    return tuple(Spec(tuple(map(int, matrix.shape)), str(matrix.dtype)) for matrix in matrices)


def _best(found: list[Plan]) -> Plan:
    """The plan of least time, with the best of each other name."""
    by_name: dict[str, Plan] = {}
    for candidate in sorted(found, key=lambda plan: plan.seconds):
        by_name.setdefault(candidate.name, candidate)
    first, *others = by_name.values()
    return replace(first, others=tuple(others))


def _run(
    chosen: Plan,
    kernels_for: tuple[Kernel[..., Any], ...],
    flags: tuple[bool, ...],
    operands: tuple[Any, ...],
    options: Options,
) -> Any:
    if chosen.kernel not in kernels_for or chosen.flags != flags:
        told, asked = (f" with the flags {values}" if values else "" for values in (chosen.flags, flags))
        raise unfit(
            f"the plan is {chosen.name} by {chosen.kernel.name}{told}, "
            f"and {' or '.join(kernel.name for kernel in kernels_for)}{asked} is asked for",
            "make a plan for this operation: cy.linalg.plan(...)",
        )
    for given, planned in zip(operands, chosen.operands, strict=True):
        if tuple(given.shape) != planned.shape or str(given.dtype) != planned.dtype:
            raise unfit(
                f"the plan is for {planned.dtype} of {planned.shape}, and a matrix is {given.dtype} "
                f"of {tuple(given.shape)}",
                "make a plan for these matrices: cy.linalg.plan(...)",
            )
    if options.verbose:
        print(chosen)
    more: dict[str, Any] = {}
    if "ranks" in options.backend.options:
        more = {"ranks": chosen.ranks, "deal": chosen.deal}
    elif "threads" in options.backend.options:
        more = {"threads": chosen.ranks}
    done = run(chosen.compile(), *operands, backend=options.backend.name, **more)
    if options.plan is None and len(done.profile) > 1:
        busiest = max(rank["processor_seconds"] for rank in done.profile)
        observe(str(operands[0].dtype), chosen.compute / chosen.share, busiest)
    return _laid_out(done.output, operands, options)


def _laid_out(result: Any, operands: tuple[Any, ...], options: Options) -> Any:
    """A distributed result in the layout that is asked for, or else in that of an operand on a grid."""
    if not isinstance(result, Distributed) or 0 in result.shape:
        return result
    layouts = [value.layout for value in operands if isinstance(value, Distributed)]
    fitting = (layout for layout in layouts if layout.grid is not None and len(layout.grid) == result.ndim)
    wanted = options.layout or next(fitting, None)
    same = wanted is None or (
        wanted.tile(result.shape) == result.tile
        and np.array_equal(wanted.owners(result.shape), result.owners)
    )
    if wanted is None:
        return result
    return result.described(wanted) if same else result.relayout(wanted)


def _require_no_zero(diagonal: Any) -> None:
    zeros = np.flatnonzero(diagonal == 0)
    if len(zeros):
        raise ExecutionError(
            f"the triangular matrix is singular: diagonal element {zeros[0] + 1} of {len(diagonal)} is 0",
            code="CYC701",
            help="solve_triangular divides by the diagonal",
        )


def _with_minor(error: ExecutionError, chosen: Plan, a: Any) -> ExecutionError:
    """The error of a tile's pivot with the pivot's number in the whole matrix, as LAPACK tells it."""
    found = re.search(r"its pivot (\d+) is not (?:positive|finite), in PE \((\d+), ", error.message)
    n = a.shape[0]
    if found is not None:
        tile = (chosen.operands[0].tile or (1,))[0]
        minor = int(found[2]) * tile + int(found[1])
    elif error.operator_failed and isinstance(a, np.ndarray):
        minor = _first_minor(a)  # NumPy does not tell
    else:
        return error
    if minor > n:
        return error
    return _not_definite(minor, n, error.code)


def _not_definite(minor: int, n: int, code: str) -> ExecutionError:
    return ExecutionError(
        f"the matrix is not positive definite: its leading minor of order {minor} of {n} is not positive",
        code=code,
        help="Cholesky needs a symmetric positive definite matrix",
    )


def _first_minor(a: Any) -> int:
    """The order of the first leading minor that is not positive; n + 1 where rounding lets all be."""

    def fails(order: int) -> bool:
        try:
            return not np.isfinite(np.linalg.cholesky(a[:order, :order])).all()
        except np.linalg.LinAlgError:
            return True

    return 1 + bisect_left(range(1, len(a) + 1), True, key=fails)

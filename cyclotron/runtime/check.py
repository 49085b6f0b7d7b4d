"""Comparisons of all backends with the kernel's own Python body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron import mpi
from cyclotron.compiler.program import Program
from cyclotron.language import Blocked
from cyclotron.runtime.backends import backend_of
from cyclotron.runtime.run import run
from cyclotron.support.arguments import rank_count, shown
from cyclotron.support.errors import BackendUnavailable, ExecutionError


@dataclass(frozen=True)
class Check:
    """The outcome of `check`.

    Attributes
    ----------
    errors : dict of str to float
        For each backend the largest difference from the reference, relative to the largest entry.
    skipped : dict of str to str
        Backends that could not run, with the reason.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> cy.check(program, backends=("sim",)).skipped
    {}
    """

    errors: dict[str, float]
    skipped: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{name:6} agrees with the reference to {error:.1e}" for name, error in self.errors.items()]
        lines += [f"{name:6} not run: {reason}" for name, reason in self.skipped.items()]
        return "\n".join(lines)


def check(
    program: Program,
    *inputs: NDArray[Any] | Blocked,
    backends: Sequence[str] = ("sim", "local", "mpi"),
    ranks: int | None = None,
    tolerance: float | None = None,
) -> Check:
    """Run every backend and compare with the kernel's own Python body.

    Parameters
    ----------
    program : Program
    *inputs : ndarray or Blocked, optional
        By default those bound at compile time.
    backends : sequence of str
        Those that are not installed are left out, and the result says why.
    ranks : int, optional
        MPI processes; by default 2, or under a launcher those that it started.
    tolerance : float, optional
        Largest relative difference; by default 100 n eps for float types, n the largest extent, else 0.

    Returns
    -------
    Check
        The largest relative difference of each backend, and why others were left out.

    Raises
    ------
    ExecutionError
        If a backend differs from the reference by more or in a dtype, or in its bits from another backend, or
        the tolerance is no number of at least 0 (CYC714); if there is no such number of ranks (CYC733).
    BackendUnavailable
        If there is no such backend (CYC720).

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> cy.check(program, backends=("sim", "local")).errors
    {'sim': 0.0, 'local': 0.0}
    """
    names: tuple[Any, ...] = tuple(backends) if isinstance(backends, list | tuple) else (backends,)
    for backend in names:
        backend_of(backend)
    if ranks is not None:
        rank_count(ranks)
    if tolerance is not None and not (isinstance(tolerance, Real) and tolerance >= 0):
        raise ExecutionError(
            f"tolerance={shown(tolerance)}",
            code="CYC714",
            help="give a largest relative difference of at least 0",
        )
    if ranks is None and "mpi" in names:
        ranks = None if mpi.is_collective() else 2
    expected = run(program, *inputs, backend="numpy").outputs
    errors: dict[str, float] = {}
    skipped: dict[str, str] = {}
    first: tuple[str, dict[str, NDArray[Any]]] | None = None
    for backend in names:
        try:
            own_ranks = ranks if "ranks" in backend_of(backend).options else None
            outputs = run(program, *inputs, backend=backend, ranks=own_ranks).outputs
        except BackendUnavailable as error:
            skipped[backend] = error.message
            continue
        for name, array in expected.items():
            if outputs[name].dtype != array.dtype:
                raise _differs(
                    f"`{name}` of {backend} has dtype {outputs[name].dtype}, not {array.dtype}",
                    "a number that a condition chooses of two dtypes has that of `np.where`: convert one,"
                    " e.g. `float(n)`; ",
                )
            if outputs[name].shape != array.shape:
                raise _differs(f"`{name}` of {backend} has shape {outputs[name].shape}, not {array.shape}")
        errors[backend] = max((_difference(expected[name], outputs[name]) for name in expected), default=0.0)
        limit = _tolerance(expected) if tolerance is None else tolerance
        if not errors[backend] <= limit:
            raise _differs(
                f"{backend} differs from the reference by {errors[backend]:.1e}, more than {limit:.1e}"
            )
        if first is None:
            first = (backend, outputs)
        elif any(outputs[name].tobytes() != first[1][name].tobytes() for name in expected):
            raise ExecutionError(
                f"{backend} and {first[0]} differ in their bits",
                code="CYC714",
                help="report this with the kernel and the schedule",
            )
    return Check(errors, skipped)


def _differs(message: str, help: str = "") -> ExecutionError:
    return ExecutionError(
        message,
        code="CYC714",
        help=f"{help}compile the kernel again if globals or attributes that it reads have changed since;"
        " else report this with the kernel and the schedule",
    )


def _difference(expected: NDArray[Any], found: NDArray[Any]) -> float:
    """The largest distance of numbers that differ, relative to the largest finite one; inf where NaN does."""
    same = (expected == found) | ((expected != expected) & (found != found))
    if same.all():
        return 0.0
    wide = np.result_type(expected, np.float64)
    sizes = np.abs(expected[np.isfinite(expected)].astype(wide))
    away = np.abs(expected[~same].astype(wide) - found[~same].astype(wide))
    return float(np.nan_to_num(away, nan=np.inf).max()) / (float(sizes.max(initial=0.0)) or 1.0)


def _tolerance(expected: dict[str, NDArray[Any]]) -> float:
    floating = [array for array in expected.values() if array.dtype.kind in "fc"]
    if not floating:
        return 0.0
    extent = max((size for array in floating for size in array.shape), default=1)
    return 100.0 * max(extent, 1) * max(float(np.finfo(array.dtype).eps) for array in floating)

"""Recipes: well-known schedules of a product `C[i, j] = sum(A[i, k] * B[k, j] for k in ...)`.

Each is a plain function from a kernel to a `Schedule`, which can be changed further. The recipes read the
index names from the kernel's text, so operands may be transposed and named freely.

Examples
--------
>>> @cy.kernel
... def matmul(A, B):
...     C = cy.empty((A.shape[0], B.shape[1]))
...     for i in range(A.shape[0]):
...         for j in range(B.shape[1]):
...             C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
...     return C
>>> schedule = cy.schedules.output_stationary(matmul)
>>> float(cy.run(matmul.compile(np.eye(2), np.eye(2), schedule=schedule)).output.trace())
2.0
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import ScheduleError

__all__ = [
    "cannon",
    "hexagonal",
    "input_stationary",
    "johnson",
    "matmul_25d",
    "output_stationary",
    "pumma",
    "summa",
    "weight_stationary",
]


def __dir__() -> list[str]:
    return __all__


class Access(Protocol):
    """An element that an equation reads."""

    @property
    def tensor(self) -> str: ...
    @property
    def subscripts(self) -> Sequence[object]: ...


class Equation(Protocol):
    """The names in an equation of a kernel's text."""

    @property
    def target(self) -> str: ...
    @property
    def subscripts(self) -> Sequence[object]: ...
    @property
    def loops(self) -> Sequence[str]: ...
    @property
    def reductions(self) -> Sequence[str]: ...
    @property
    def operands(self) -> Sequence[Access]: ...


class Kernel(Protocol):
    """A kernel, of which a recipe reads the text."""

    @property
    def name(self) -> str: ...
    def equations_shape(self) -> Sequence[Equation]: ...


class _Product(NamedTuple):
    """A product of two operands: one has the target's row and the reduction, the other the column."""

    row: str
    column: str
    inner: str
    left: str
    right: str


def output_stationary(kernel: Kernel) -> Schedule:
    """Return the schedule that keeps each element of the result in one PE.

    Space is the target's indices, time the reduction; each operand streams along the space index it lacks.
    For a product this is the systolic array of Kung and Leiserson, fed from two sides.

    Parameters
    ----------
    kernel : Kernel
        With one equation that has a reduction, e.g. a product of matrices or of a matrix and a vector.

    Returns
    -------
    Schedule

    Raises
    ------
    ScheduleError
        If the kernel is not of this form.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     C = cy.empty((A.shape[0], B.shape[1]))
    ...     for i in range(A.shape[0]):
    ...         for j in range(B.shape[1]):
    ...             C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    ...     return C
    >>> cy.schedules.output_stationary(matmul)
    cy.Schedule().space("i", "j").time("k").stream("A", along="j").stream("B", along="i")
    """
    equation = _contraction(kernel, "output_stationary")
    space = _plain(equation.subscripts)
    if space is None or len(set(space)) != len(space):
        raise _unfit(kernel, "output_stationary", f"the target {_text(equation.target, equation.subscripts)}")
    schedule = Schedule().space(*space).time(*equation.reductions)
    lacking: dict[str, set[tuple[str, ...]]] = {}
    for access in equation.operands:
        used = set(_names(access.subscripts))
        lacking.setdefault(access.tensor, set()).add(tuple(index for index in space if index not in used))
    for tensor, directions in lacking.items():
        if directions != {()}:
            # A tensor that is read in two ways has no one direction; the compiler chooses for each access.
            schedule = schedule.stream(tensor, along=directions.pop() if len(directions) == 1 else None)
    return schedule


def weight_stationary(kernel: Kernel) -> Schedule:
    """Return the schedule that keeps the first operand in the PEs.

    For ``C[i, j] = sum(A[i, k] * B[k, j] ...)``: space is (i, k), time j; A is loaded before the run, B
    streams along i and the partial sums of C move along k.

    Parameters
    ----------
    kernel : Kernel
        A product of two matrices.

    Returns
    -------
    Schedule

    Raises
    ------
    ScheduleError
        If the kernel is not one.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     C = cy.empty((A.shape[0], B.shape[1]))
    ...     for i in range(A.shape[0]):
    ...         for j in range(B.shape[1]):
    ...             C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    ...     return C
    >>> cy.schedules.weight_stationary(matmul)
    cy.Schedule().space("i", "k").time("j").prefetch("A").stream("B", along="i")
    """
    product = _product(kernel, "weight_stationary")
    schedule = Schedule().space(product.row, product.inner).time(product.column)
    return schedule.prefetch(product.left).stream(product.right, along=product.row)


def input_stationary(kernel: Kernel) -> Schedule:
    """Return the schedule that keeps the second operand in the PEs.

    For ``C[i, j] = sum(A[i, k] * B[k, j] ...)``: space is (j, k), time i; B is loaded before the run, A
    streams along j and the partial sums of C move along k.

    Parameters
    ----------
    kernel : Kernel
        A product of two matrices.

    Returns
    -------
    Schedule

    Raises
    ------
    ScheduleError
        If the kernel is not one.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     C = cy.empty((A.shape[0], B.shape[1]))
    ...     for i in range(A.shape[0]):
    ...         for j in range(B.shape[1]):
    ...             C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    ...     return C
    >>> cy.schedules.input_stationary(matmul)
    cy.Schedule().space("j", "k").time("i").stream("A", along="j").prefetch("B")
    """
    product = _product(kernel, "input_stationary")
    schedule = Schedule().space(product.column, product.inner).time(product.row)
    return schedule.prefetch(product.right).stream(product.left, along=product.column)


def cannon(kernel: Kernel) -> Schedule:
    """Return the schedule of Cannon's algorithm: as `output_stationary`, on a torus.

    Each PE starts with operands of its own, (i + j) along the reduction, and passes them on round the rings,
    so that all PEs work in every step; rows, columns and the reduction have to be equally long. For the
    array that is fed from two sides see `output_stationary` (reading E21 of the Cyclotron paper).

    Parameters
    ----------
    kernel : Kernel
        A product of two matrices.

    Returns
    -------
    Schedule

    Raises
    ------
    ScheduleError
        If the kernel is not one.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     C = cy.empty((A.shape[0], B.shape[1]))
    ...     for i in range(A.shape[0]):
    ...         for j in range(B.shape[1]):
    ...             C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    ...     return C
    >>> cy.schedules.cannon(matmul)
    (cy.Schedule()
        .space("i", "j")
        .time("k")
        .stream("A", along="j")
        .stream("B", along="i")
        .rotate("k", by=("i", "j")))
    """
    product = _product(kernel, "cannon")
    schedule = Schedule().space(product.row, product.column).time(product.inner)
    schedule = schedule.stream(product.left, along=product.column).stream(product.right, along=product.row)
    return schedule.rotate(product.inner, by=(product.row, product.column))


def hexagonal(kernel: Kernel) -> Schedule:
    """Return the schedule of Kung and Leiserson's hexagonal array: all three matrices move.

    Space is (i - k, j - k): A moves along one axis, B along the other and the partial sums of C along the
    diagonal, so it needs ``cy.Machine(topology="hexagonal")``. After H. T. Kung and C. E. Leiserson,
    "Systolic arrays (for VLSI)", 1978.

    Parameters
    ----------
    kernel : Kernel
        A product of two matrices.

    Returns
    -------
    Schedule

    Raises
    ------
    ScheduleError
        If the kernel is not one.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     C = cy.empty((A.shape[0], B.shape[1]))
    ...     for i in range(A.shape[0]):
    ...         for j in range(B.shape[1]):
    ...             C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    ...     return C
    >>> cy.schedules.hexagonal(matmul)
    cy.Schedule().space("i-k", "j-k").time("k")
    """
    row, column, inner, *_ = _product(kernel, "hexagonal")
    return Schedule().space(f"{row}-{inner}", f"{column}-{inner}").time(inner)


def johnson(kernel: Kernel) -> Schedule:
    """Return the schedule of the three-dimensional algorithm: a PE for each product of two elements.

    The operands are broadcast along the axis that they lack, and the sums move along the reduction. After
    R. C. Agarwal et al., "A three-dimensional approach to parallel matrix multiplication", 1995, and
    S. L. Johnsson, 1993.

    Parameters
    ----------
    kernel : Kernel
        A product of two matrices.

    Returns
    -------
    Schedule

    Raises
    ------
    ScheduleError
        If the kernel is not one.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     C = cy.empty((A.shape[0], B.shape[1]))
    ...     for i in range(A.shape[0]):
    ...         for j in range(B.shape[1]):
    ...             C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    ...     return C
    >>> cy.schedules.johnson(matmul)
    cy.Schedule().space("i", "j", "k").broadcast("A", along="j").broadcast("B", along="i")
    """
    product = _product(kernel, "johnson")
    schedule = Schedule().space(product.row, product.column, product.inner)
    return schedule.broadcast(product.left, along=product.column).broadcast(product.right, along=product.row)


def matmul_25d(kernel: Kernel, layers: int) -> Schedule:
    """Return the schedule of the 2.5-D algorithm: `layers` planes of PEs, each with a part of the reduction.

    Each plane is an array as of `output_stationary` and has a block of the reduction index as its own; the
    partial results are then added from plane to plane. One layer is the two-dimensional array, as many as
    the reduction is long are `johnson`'s cube. The sums are in another order than the kernel's, see
    `Schedule.reassociate`. After E. Solomonik and J. Demmel, "Communication-optimal parallel 2.5D matrix
    multiplication and LU factorization algorithms", 2011; feeders at the edges of each plane take the place
    of the operands' replication.

    Parameters
    ----------
    kernel : Kernel
        A product of two matrices.
    layers : int
        Planes of PEs, at least 1.

    Returns
    -------
    Schedule

    Raises
    ------
    ScheduleError
        If the kernel is not one, or there is not at least 1 layer.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     C = cy.empty((A.shape[0], B.shape[1]))
    ...     for i in range(A.shape[0]):
    ...         for j in range(B.shape[1]):
    ...             C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    ...     return C
    >>> cy.schedules.matmul_25d(matmul, layers=2)
    (cy.Schedule()
        .reassociate("k", parts=2, into="l")
        .space("i", "j", "l")
        .time("k")
        .stream("A", along="j")
        .stream("B", along="i"))
    """
    row, column, inner, left, right = _product(kernel, "matmul_25d")
    taken = {
        name
        for equation in kernel.equations_shape()
        for access in equation.operands
        for name in (*equation.loops, *equation.reductions, equation.target, access.tensor)
    }
    layer = next(name for name in ("l", *(f"layer{'_' * n}" for n in range(99))) if name not in taken)
    schedule = Schedule().reassociate(inner, parts=layers, into=layer)
    schedule = schedule.space(row, column, layer).time(inner)
    return schedule.stream(left, along=column).stream(right, along=row)


def summa(kernel: Kernel, panels: int | None = None, distributed: bool = False) -> Schedule:
    """Return the schedule of SUMMA: as `output_stationary`, with both operands broadcast.

    After R. A. van de Geijn and J. Watts, "SUMMA: scalable universal matrix multiplication algorithm", 1997.

    Parameters
    ----------
    kernel : Kernel
        A product of two matrices.
    panels : int, optional
        Panels that the reduction is cut into; those of one are broadcast before the PEs compute with them.
        One is the Cyclotron paper's form (reading E22); by default each step has its own.
    distributed : bool, optional
        The operands lie in the grid as the result does, ``A[i, k]`` in PE (i, k) and ``B[k, j]`` in PE
        (k, j), and are broadcast from there, both ways; by default the grid's edges feed them in. An unfolded
        grid has to be square; folded cyclically, in up to four rounds, any grid will do.

    Returns
    -------
    Schedule

    Raises
    ------
    ScheduleError
        If the kernel is not one.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     C = cy.empty((A.shape[0], B.shape[1]))
    ...     for i in range(A.shape[0]):
    ...         for j in range(B.shape[1]):
    ...             C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    ...     return C
    >>> cy.schedules.summa(matmul)
    cy.Schedule().space("i", "j").time("k").broadcast("A", along="j").broadcast("B", along="i")
    """
    product = _product(kernel, "summa")
    schedule = Schedule().space(product.row, product.column).time(product.inner).panels(product.inner, panels)
    if distributed:
        schedule = schedule.place(product.left, product.row, product.inner)
        schedule = schedule.place(product.right, product.inner, product.column)
    return schedule.broadcast(product.left, along=product.column).broadcast(product.right, along=product.row)


def pumma(kernel: Kernel, broadcast: str | None = None) -> Schedule:
    """Return the schedule of PUMMA: as `output_stationary`, one operand broadcast and the other streamed.

    After J. Choi, J. J. Dongarra and D. W. Walker, "PUMMA: parallel universal matrix multiplication
    algorithms", 1994.

    Parameters
    ----------
    kernel : Kernel
        A product of two matrices.
    broadcast : str, optional
        Name of the operand to broadcast; by default the first.

    Returns
    -------
    Schedule

    Raises
    ------
    ScheduleError
        If the kernel is not one, or has no such operand.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     C = cy.empty((A.shape[0], B.shape[1]))
    ...     for i in range(A.shape[0]):
    ...         for j in range(B.shape[1]):
    ...             C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    ...     return C
    >>> cy.schedules.pumma(matmul)
    cy.Schedule().space("i", "j").time("k").broadcast("A", along="j").stream("B", along="i")
    """
    product = _product(kernel, "pumma")
    operands = {product.left: product.column, product.right: product.row}
    chosen = product.left if broadcast is None else broadcast
    if chosen not in operands:
        raise ScheduleError(
            f"`{chosen}` is no operand of `{kernel.name}`",
            code="CYC304",
            help=f"broadcast one of: {', '.join(operands)}",
        )
    schedule = Schedule().space(product.row, product.column).time(product.inner)
    for tensor, along in operands.items():
        move = schedule.broadcast if tensor == chosen else schedule.stream
        schedule = move(tensor, along=along)
    return schedule


def _contraction(kernel: Kernel, recipe: str) -> Equation:
    """Return the only equation that reduces."""
    if not hasattr(kernel, "equations_shape"):
        help = "pass the kernel, a function under `@cy.kernel`"
        raise ScheduleError(f"`{recipe}` got a `{type(kernel).__name__}`", code="CYC304", help=help)
    reducing = [equation for equation in kernel.equations_shape() if equation.reductions]
    if len(reducing) != 1:
        raise _unfit(kernel, recipe, f"{len(reducing) or 'no'} equations with a reduction")
    return reducing[0]


def _product(kernel: Kernel, recipe: str) -> _Product:
    equation = _contraction(kernel, recipe)
    reads = [(access.tensor, _plain(access.subscripts)) for access in equation.operands]
    target = _plain(equation.subscripts)
    found = ", ".join(_text(access.tensor, access.subscripts) for access in equation.operands)
    unfit = _unfit(
        kernel, recipe, f"{_text(equation.target, equation.subscripts)} computed from {found or 'nothing'}"
    )
    if target is None or len(set(target)) != 2 or len(target) != 2 or len(equation.reductions) != 1:
        raise unfit
    row, column = target
    inner = equation.reductions[0]
    sides = [{row, inner}, {column, inner}]
    left, right = (
        [
            tensor
            for tensor, indices in reads
            if indices is not None and len(indices) == 2 and set(indices) == side
        ]
        for side in sides
    )
    if len(reads) != 2 or len(left) != 1 or len(right) != 1 or left == right:
        raise unfit
    return _Product(row, column, inner, left[0], right[0])


def _unfit(kernel: Kernel, recipe: str, found: str) -> ScheduleError:
    return ScheduleError(
        f"`{kernel.name}` does not fit `{recipe}`: it has {found}",
        code="CYC304",
        help="the recipe is for C[i, j] = sum(A[i, k] * B[k, j] for k in ...); "
        "for other kernels write cy.Schedule().space(...).time(...)",
    )


def _plain(subscripts: Sequence[object]) -> tuple[str, ...] | None:
    """Return the subscripts as index names, or None if one is not a bare index."""
    texts = [str(subscript) for subscript in subscripts]
    return tuple(texts) if texts and all(text.isidentifier() for text in texts) else None


def _names(subscripts: Sequence[object]) -> list[str]:
    """Return the names in the subscripts."""
    return re.findall(r"[^\W\d]\w*", " ".join(map(str, subscripts)))


def _text(tensor: str, subscripts: Sequence[object]) -> str:
    return f"{tensor}[{', '.join(map(str, subscripts))}]"

"""The operands of whole-matrix operations: what they are made of, and whether they fit each other."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cyclotron.explore.calibration import DTYPES as FLOATING
from cyclotron.language import Spec
from cyclotron.language.values.operators import DTYPES
from cyclotron.mpi.distributed_array import Distributed
from cyclotron.mpi.layout import Layout
from cyclotron.mpi.ranks import Ranks
from cyclotron.mpi.sources import Given
from cyclotron.support.arguments import array_of, shown
from cyclotron.support.errors import ShapeError

Matrix = NDArray[Any] | Distributed | Spec

_TRANS = {"N": False, "T": True, "C": True, 0: False, 1: True, 2: True}


def array(value: Any) -> Any:
    """Return what NumPy makes of an operand, or the Distributed or Spec that it is.

    Raises
    ------
    ShapeError
        If it is no array (CYC737).
    """
    return value if isinstance(value, Distributed | Spec) else array_of(value, "a matrix", code="CYC737")


def matrix(value: Any, axis: int) -> tuple[Any, bool]:
    """Return an operand that may be a vector as a matrix, and whether it is one.

    Parameters
    ----------
    value : array_like, Distributed or Spec
    axis : {0, 1}
        Whether a vector is one row (0) or one column.

    Returns
    -------
    matrix : ndarray, Distributed or Spec
        Of two dimensions where `value` has one or two.
    vector : bool
    """
    value = array(value)
    if len(value.shape) != 1:
        return value, False
    shape = (1, *value.shape) if axis == 0 else (*value.shape, 1)
    return (
        replace(value, shape=shape, tile=None) if isinstance(value, Spec) else reshaped(value, shape)
    ), True


def reshaped(value: Any, shape: tuple[int, ...]) -> Any:
    """Return an array in a shape with more or fewer axes of extent 1; without any, a scalar."""
    if not isinstance(value, Distributed):
        return value.reshape(shape)[()]
    return value._reshaped(shape) if shape else value.gather().item()


def common(*values: Any, floating: bool = False) -> tuple[Any, ...]:
    """Return operands in their common dtype.

    Parameters
    ----------
    *values : ndarray, Distributed or Spec
    floating : bool
        Whether whole numbers become float64, as NumPy's solvers have it.

    Raises
    ------
    ShapeError
        If Cyclotron has no such dtype, or it is not a distributed operand's (CYC737).
    """
    for value in values:
        if np.dtype(value.dtype).name not in DTYPES:
            _refuse_dtype(value.dtype)
    wanted = np.result_type(*(np.dtype(value.dtype) for value in values))
    if floating and wanted.kind in "biu":
        wanted = np.dtype("float64")
    if wanted.name not in (FLOATING if floating else DTYPES):
        _refuse_dtype(wanted)
    result = []
    for value in values:
        if value.dtype == wanted:
            result.append(value)
        elif isinstance(value, Distributed):
            raise unfit(
                f"a distributed matrix of dtype {value.dtype} where {wanted} is needed",
                "distribute both in one dtype",
            )
        else:
            spec = isinstance(value, Spec)
            result.append(replace(value, dtype=wanted.name) if spec else value.astype(wanted))
    return tuple(result)


def require_numbers(operation: str, *values: Any) -> None:
    """Raise `ShapeError` CYC737 where an operand is a shape without numbers."""
    for value in values:
        if isinstance(value, Spec):
            raise unfit(
                f"{operation} of a spec of shape {value.shape}, which has no numbers",
                f'pass an array, or only plan: cy.linalg.plan("{operation}", ...)',
            )


def check_product(a: Matrix, b: Matrix) -> None:
    """Raise `ShapeError` CYC737 where two matrices have no product."""
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[0]:
        raise _no_product(a, b)


def check_matrix(a: Matrix, what: str) -> None:
    """Raise `ShapeError` CYC737 where an array is no matrix."""
    if len(a.shape) != 2:
        raise unfit(f"{what} of an array of shape {tuple(a.shape)}", "give a matrix, of two dimensions")


def check_square(a: Matrix, what: str) -> None:
    """Raise `ShapeError` CYC737 where a matrix is not square."""
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise unfit(f"{what} of a matrix of shape {tuple(a.shape)}", "the matrix is square")


def check_solve(a: Matrix, b: Matrix, side: Any) -> None:
    """Raise `ShapeError` CYC737 where a system has other right-hand sides, or is solved from the right."""
    check_square(a, "solve_triangular")
    if not isinstance(side, str) or side != "left":
        raise unfit(
            f"side={shown(side)} on a backend", "transpose the system: X op(a) = b is op(a).T X.T = b.T"
        )
    if len(b.shape) != 2 or b.shape[0] != a.shape[0]:
        raise unfit(
            f"right-hand sides {b.dtype} of shape {tuple(b.shape)} for a {a.dtype} matrix of shape "
            f"{tuple(a.shape)}",
            "give a row for each row of the matrix",
        )


def check_element(operation: str, a: Any) -> None:
    """Raise `ShapeError` CYC737 where an element of a kernel is no square matrix of numbers.

    Of more dimensions than two all but the last are rows, as in tiles.
    """
    shape = element(a).shape
    if shape and math.prod(shape[:-1]) != shape[-1]:
        raise unfit(f"{operation} of a matrix of shape {shape}", "the matrix is square")


def check_element_sides(a: Any, b: Any, side: Any) -> None:
    """Raise `ShapeError` CYC737 where right-hand sides have not a row (a column) for each of a matrix."""
    check_element("solve_triangular", a)
    if not isinstance(side, str) or side not in ("left", "right"):
        raise unfit(f"side is {shown(side)}", 'use "left" or "right"')
    right = side == "right"
    n, values = (np.shape(a) or (1,))[-1], element(b)
    shape = values.shape or (1,)
    rows = shape[0] if len(shape) == 1 else math.prod(shape[:-1])
    if n != (shape[-1] if right else rows):
        raise unfit(
            f"right-hand sides {values.dtype} of shape {shape} for a matrix of shape {np.shape(a)}",
            f"give a {'column' if right else 'row'} for each row of the matrix",
        )


def element_product(a: Any, b: Any) -> Any:
    """Return the product of two elements as NumPy has it; raise `ShapeError` CYC737 where there is none."""
    left, right = element(a), element(b)
    try:
        return a @ b if hasattr(a, "__matmul__") or hasattr(b, "__matmul__") else np.matmul(left, right)
    except (ValueError, TypeError, OverflowError):
        raise _no_product(left, right) from None


def element(value: Any) -> NDArray[Any]:
    """Return an element of a kernel as an array; raise `ShapeError` CYC737 where it has no numbers."""
    found: NDArray[Any] = array_of(value, "an element", code="CYC737")
    if found.dtype.kind not in "biufc":
        _refuse_dtype(found.dtype)
    return found


def is_transposed(trans: Any) -> bool:
    """Tell if a solver's `trans` transposes; raises `ShapeError` CYC737 where it means nothing."""
    value = trans.item() if isinstance(trans, np.generic) else trans
    if not isinstance(value, bool | int | str) or value not in _TRANS:
        raise unfit(f"trans is {shown(trans)}", "use 0, 1, 2, 'N', 'T' or 'C'")
    return _TRANS[value]


def is_conjugated(trans: Any) -> bool:
    """Tell if a solver's `trans`, which means something, conjugates."""
    return trans in (2, "C")


def flag(name: str, value: Any) -> bool:
    """Return a flag; raises `ShapeError` CYC737 where it is neither true nor false, as LAPACK's "U" is."""
    if not isinstance(value, bool | int | np.bool_ | np.integer) or value not in (0, 1):
        raise unfit(f"{name} is {shown(value)}", "use True or False")
    return bool(value)


def trans_refused(trans: Any, what: str) -> NoReturn:
    """Refuse a conjugate transpose of what cannot be conjugated here."""
    raise unfit(f"trans={trans!r} of {what}", "use trans='T' of conjugates, or of a whole gathered matrix")


def unfit(what: str, help: str) -> ShapeError:
    """Return the error of operands that do not fit."""
    return ShapeError(what, code="CYC737", help=help)


def distributed_on(ranks: Ranks, value: NDArray[Any], layout: Layout | None) -> Distributed:
    """Return an array kept by ranks, of which the first one's numbers count.

    Parameters
    ----------
    ranks : Ranks
    value : ndarray
    layout : Layout or None
        None: a block of rows for each.
    """
    return Distributed(ranks, *ranks.distribute(Given(value), layout, 0))


def _no_product(a: Matrix, b: Matrix) -> ShapeError:
    return unfit(
        f"matmul of {a.dtype} {tuple(a.shape)} and {b.dtype} {tuple(b.shape)}",
        "the columns of the first are the rows of the second",
    )


def _refuse_dtype(dtype: Any) -> NoReturn:
    raise unfit(f"matrices of dtype {dtype}", f"convert them to one of {', '.join(FLOATING)}")

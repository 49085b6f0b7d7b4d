"""Products of whole matrices and vectors: `A @ B`, `cy.dot`, `cy.outer`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cyclotron.language.values import broadcasting, dispatch
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import LazyArray, SymbolicArray, combine, materialized, operand
from cyclotron.language.values.broadcasting import box, text
from cyclotron.language.values.nodes import Element, FoldIndex, Reduce
from cyclotron.language.values.operations import apply
from cyclotron.language.values.scalar_type import promote, sum_dtype
from cyclotron.language.values.scalars import converted
from cyclotron.language.values.source_span import here, shape_error
from cyclotron.support.dtypes import ADDED


def matmul(left: object, right: object) -> SymbolicArray:
    """The product of vectors and matrices; of more axes the leading ones broadcast.

    Raises
    ------
    ShapeError
        CYC122 if the inner sizes differ, or an operand has no axes.
    """
    a, b = (materialized(one) if one.costly else one for one in map(operand, (left, right)))
    if not a.shape or not b.shape:
        raise shape_error(
            "CYC122",
            f"`@` has operands of shapes {text(a.shape)} and {text(b.shape)}, and one has no axes",
            help="use `*` to scale an array",
        )
    inner = a.shape[-1], b.shape[-2 if len(b.shape) > 1 else -1]
    if not broadcasting.same(*inner):
        raise shape_error(
            "CYC122",
            f"`@` has operands of shapes {text(a.shape)} and {text(b.shape)}: it sums over"
            f" {inner[0]} elements of one and {inner[1]} of the other",
            help="the last axis of the left operand has the size of the last but one of the right",
        )
    rows, columns = a.shape[-2:-1], b.shape[-1:] if len(b.shape) > 1 else ()
    batch = broadcasting.broadcast([a.shape[:-2], b.shape[:-2]])
    dtype = promote("multiply", a.type, b.type)[1].dtype
    wide = sum_dtype(dtype)
    span = here()

    def element_at(index: Sequence[Affine]) -> Element:
        k = FoldIndex("fold", span)
        form = Affine({k: 1}, 0)
        outer = index[: len(batch)]
        row = index[len(batch) : len(batch) + len(rows)]
        column = index[len(batch) + len(rows) :]
        first = a.at((*broadcasting.along(outer, a.shape[:-2]), *row, form))
        second = b.at((*broadcasting.along(outer, b.shape[:-2]), form, *column))
        term = apply("multiply", converted(first, wide), converted(second, wide))
        return Reduce("sum", k, (box([(k, inner[0])]),), term, span)

    shape = (*batch, *rows, *columns)
    product = LazyArray(shape, wide, element_at, (a, b), costly=True, label="product")
    return product if wide == dtype or dtype in ADDED else product.astype(dtype)  # as NumPy's `@`


def dot(a: Any, b: Any) -> Any:
    """The product of two vectors, of a matrix and a vector or of two matrices, as NumPy's ``dot``.

    Parameters
    ----------
    a, b : ndarray
        The last axis of `a` has the size of the first of `b`; of three axes or more only one of the two.

    Returns
    -------
    ndarray or scalar
        Summed in an order that is not promised, as in NumPy.

    Raises
    ------
    ShapeError
        CYC122 if sizes differ, or in a kernel `b` has more than two axes and `a` more than one.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.dot(x, x)
    >>> f(np.array([1.0, 2.0])).tolist()
    5.0
    """
    if not (isinstance(a, SymbolicArray) or isinstance(b, SymbolicArray)):
        return np.dot(a, b)
    left, right = operand(a), operand(b)
    if not (left.shape and right.shape):
        return combine("multiply", (left, right))
    if left.ndim > 1 and right.ndim > 2:
        raise shape_error(
            "CYC122",
            f"`dot` has operands of {left.ndim} and {right.ndim} axes, and at most two of the second are"
            " supported",
            help="use `@`, which multiplies stacks of matrices pair by pair, or `A @ B[k]` in a loop over k",
        )
    product = matmul(left, right)
    dtype = promote("multiply", left.type, right.type)[1].dtype
    return product if product.dtype_name == dtype else product.astype(dtype)


def outer(a: Any, b: Any) -> SymbolicArray:
    """The products of all pairs of elements of two vectors, as a matrix.

    Raises
    ------
    ShapeError
        CYC122 if one has more axes, which NumPy would flatten.
    """
    left, right = (one if one.shape else one[None] for one in map(operand, (a, b)))
    if left.ndim > 1 or right.ndim > 1:
        raise shape_error(
            "CYC122",
            f"`outer` has operands of {left.ndim} and {right.ndim} axes, and it takes vectors",
            help="multiply with new axes instead, e.g. `A[:, :, None] * x`",
        )
    return combine("multiply", (left[:, None], right[None, :]))


dispatch.implement(matmul=matmul, dot=dot)

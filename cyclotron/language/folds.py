"""Reductions of whole arrays, `cy.sum(x, axis=0)`: symbolic while tracing, NumPy otherwise."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cyclotron.errors import ShapeError
from cyclotron.language.affine import Affine
from cyclotron.language.broadcasting import text, whole_numbers
from cyclotron.language.elements import Element, Reduce, apply
from cyclotron.language.elementwise import combine, settled
from cyclotron.language.naming import FoldIndex
from cyclotron.language.position import here
from cyclotron.language.regions import box
from cyclotron.language.whole import Expression, Whole, axes_of

_KINDS = {"sum": "sum", "max": "maximum", "min": "minimum", "any": "sum", "all": "product"}


def fold(kind: str, array: Whole, axis: Any, keepdims: bool) -> Whole:
    """Fold an array over axes, in the order of the elements.

    Raises
    ------
    ShapeError
        CYC122 if there is no such axis, or nothing to take the maximum of.
    """
    if kind == "mean":
        total = fold("sum", array, axis, keepdims)
        sizes = tuple(array.shape[one] for one in axes_of(axis, array.ndim, "mean"))
        return combine("divide", (total, math.prod(whole_numbers(sizes, "the mean"))))
    if array.costly:
        array = settled(array)
    if kind in ("any", "all") and array.dtype_name != "bool":
        array = array != 0
    if kind == "sum" and array.dtype_name in ("bool", "int32"):
        array = array.astype("int64")  # as NumPy's sum
    if kind in ("max", "min") and array.dtype.kind == "c":
        raise ShapeError(
            f"`{kind}` is not defined on {array.dtype_name} arrays",
            code="CYC121",
            span=here(),
            help="take it of the absolute values, e.g. `cy.max(cy.abs(x))`",
        )
    folded = axes_of(axis, array.ndim, kind)
    if kind in ("max", "min") and builtins.any(array.shape[one] == 0 for one in folded):
        raise ShapeError(
            f"`{kind}` of an array of shape {text(array.shape)} has no elements to choose from",
            code="CYC122",
            span=here(),
            help="fold over axes that have elements",
        )
    kept = [one for one in range(array.ndim) if one not in folded]
    shape = (1 if n in folded else array.shape[n] for n in range(array.ndim) if keepdims or n in kept)
    span = here()

    def element_at(index: Sequence[Affine]) -> Element:
        at: dict[int, Affine] = {}
        for position, n in enumerate(range(array.ndim) if keepdims else kept):
            at[n] = index[position]
        indices = {n: FoldIndex("fold", span) for n in folded}
        at |= {n: Affine({fold_index: 1}, 0) for n, fold_index in indices.items()}
        element = array.at([at[n] for n in range(array.ndim)])
        for n in reversed(folded):
            domain = (box([(indices[n], array.shape[n])]),)
            element = Reduce(_KINDS[kind], indices[n], domain, element, span)
        return element

    return Expression(tuple(shape), array.dtype_name, element_at, (array,), costly=True, label=kind)


def _reduction(kind: str, about: str) -> Any:
    numpy = getattr(np, kind)

    def function(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if isinstance(a, Whole):
            return fold(kind, a, axis, keepdims)
        if isinstance(a, Element):
            return getattr(a, kind)(axis, keepdims)
        return numpy(a, axis=axis, keepdims=keepdims)

    function.__name__ = function.__qualname__ = kind
    function.__doc__ = f"""{about}

    Parameters
    ----------
    a : ndarray
        Any shape.
    axis : int or tuple of int, optional
        The axes to fold, by default all.
    keepdims : bool
        Whether folded axes stay, with one element.

    Returns
    -------
    ndarray
        Without the folded axes; of all axes one scalar. Folded in the order of the elements, the last axis
        fastest, where NumPy adds in pairs: floating sums may differ in the last bits.
    """
    return function


sum = _reduction("sum", "The sum over axes; of int32 and bool in int64, as NumPy's.")
max = _reduction("max", "The maximum over axes; NaN where there is one.")
min = _reduction("min", "The minimum over axes; NaN where there is one.")
any = _reduction("any", "Whether some element is not zero, over axes; bool.")
all = _reduction("all", "Whether no element is zero, over axes; bool.")
mean = _reduction("mean", "The sum over axes divided by the number of elements.")


def norm(x: Any) -> Any:
    """The root of the sum of the squares of all elements of an array: of a vector its length (float)."""
    if not isinstance(x, Whole):
        return np.linalg.norm(np.ravel(x))
    size = abs(x) if x.dtype.kind == "c" else x.astype("float64") if x.dtype.kind in "bi" else x
    return apply("sqrt", fold("sum", size * size, None, False))

"""Reductions of whole arrays, `cy.sum(x, axis=0)`: symbolic while tracing, NumPy otherwise."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.language.functions.forms import broadcast_to
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import named, numpy_function
from cyclotron.language.values import dispatch
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import LazyArray, SymbolicArray, combine, materialized, operand
from cyclotron.language.values.axes import axes_of
from cyclotron.language.values.broadcasting import Size, box, text, whole_numbers
from cyclotron.language.values.nodes import Element, FoldIndex, Reduce
from cyclotron.language.values.numpy_functions import OF_UFUNCS, check_options
from cyclotron.language.values.operations import apply, where_of_numpy
from cyclotron.language.values.operators import named_dtype
from cyclotron.language.values.scalar_type import check_accumulator, counted_dtype, sum_dtype
from cyclotron.language.values.source_span import here
from cyclotron.support.arguments import shown
from cyclotron.support.dtypes import ADDED, kind_of

_KINDS = {"sum": "sum", "max": "maximum", "min": "minimum", "any": "sum", "all": "product", "prod": "product"}


def fold(kind: str, array: SymbolicArray, axis: Any, keepdims: bool) -> SymbolicArray:
    """Fold an array over axes, in the order of the elements.

    Raises
    ------
    ShapeError
        CYC122 if there is no such axis, or nothing to take the maximum of.
    """
    if kind in ("sum", "prod", "mean") and array.dtype_name != sum_dtype(array.dtype_name):
        return fold(kind, array.astype(sum_dtype(array.dtype_name)), axis, keepdims).astype(array.dtype_name)
    if kind == "mean":
        if kind_of(array.dtype) in "biu":
            array = array.astype("float64")  # whole numbers might not hold their sum
        total = fold("sum", array, axis, keepdims)
        sizes = tuple(array.shape[one] for one in axes_of(axis, array.ndim, "mean"))
        return combine("divide", (total, _number(sizes)))
    if array.costly:
        array = materialized(array)
    if kind in ("any", "all") and array.dtype_name != "bool":
        array = array != 0
    if kind in ("sum", "prod") and array.dtype_name != counted_dtype(array.dtype_name):
        array = array.astype(counted_dtype(array.dtype_name))
    if kind in ("max", "min") and kind_of(array.dtype) == "c":
        raise unfit(
            f"`{kind}` is not defined on {array.dtype_name} arrays",
            "take it of the absolute values, e.g. `cy.max(cy.abs(x))`",
            code="CYC121",
        )
    folded = axes_of(axis, array.ndim, kind)
    if kind in ("max", "min") and builtins.any(
        isinstance(array.shape[one], int) and array.shape[one] == 0 for one in folded
    ):
        raise unfit(
            f"`{kind}` of an array of shape {text(array.shape)} has no elements to choose from",
            "fold over axes that have elements",
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

    return LazyArray(tuple(shape), array.dtype_name, element_at, (array,), costly=True, label=kind)


def _number(sizes: Sequence[Size]) -> Any:
    """The number of elements along axes, which is an element where loops tell it."""
    counts = [size if isinstance(size, int) else apply("maximum", size, 0) for size in sizes]
    return math.prod(counts, start=1)


_COMBINED = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
_NEUTRAL = {"sum": 0, "prod": 1, "any": 0, "all": 1}


def _fold_where(
    kind: str, array: SymbolicArray, axis: Any, keepdims: bool, initial: Any, where: Any
) -> SymbolicArray:
    """Fold the elements that count, and a number.

    Raises
    ------
    ShapeError
        CYC122 if nothing is known to count, or the function has no such number.
    """
    if initial is not None and kind not in _COMBINED:
        raise unfit(f"`{kind}` has initial={shown(initial)}", "leave it out: NumPy's does not take it")
    if where is not True:
        if kind in ("max", "min") and initial is None:
            raise unfit(f"`{kind}` has where= alone", "give `initial=` too, as NumPy asks")
        mask = broadcast_to(operand(where), whole_numbers(array.shape, "an array"))
        if kind == "mean":
            array = array.astype("float64") if kind_of(array.dtype) in "biu" else array
            total = _fold_where("sum", array, axis, keepdims, None, mask)
            return combine("divide", (total, fold("sum", mask, axis, keepdims).astype(total.dtype)))
        array = operand(where_of_numpy(mask, array, _NEUTRAL.get(kind, initial)))
    result = fold(kind, array, axis, keepdims)
    return result if initial is None else combine(_COMBINED[kind], (result, initial))


_DTYPE_OPTION = """
        dtype : dtype, optional
            To which the elements are converted before, and in which whole numbers wrap."""


def _reduction(kind: str, about: str) -> Any:
    numpy = getattr(np, kind)
    converts = kind in ("sum", "prod", "mean")
    option = _DTYPE_OPTION if converts else ""

    def function(
        a: Any,
        axis: Any = None,
        dtype: DTypeLike | None = None,
        *out: object,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        """{about}

        Parameters
        ----------
        a : ndarray
            Any shape.
        axis : int or tuple of int, optional
            The axes to fold, by default all.
        keepdims : bool
            Whether folded axes stay, with one element.{option}
        initial : number, optional
            What is combined with the result; not of `any`, `all` and `mean`.
        where : array of bool, optional
            The elements that count, of a shape that broadcasts to that of `a`; `max`, `min` need `initial`
            then.

        Returns
        -------
        ndarray
            Without the folded axes; of all axes one scalar. Their order is not promised, as NumPy, which adds
            in pairs, promises none: floating sums may differ in the last bits.

        Raises
        ------
        ShapeError
            If the array has no such axis (CYC122), the operation is not defined for the dtype (CYC121), or
            whole numbers do not fit the dtype that is asked for (CYC120).

        Examples
        --------
        >>> @cy.kernel
        ... def f(x):
        ...     return cy.{name}(x, axis=0)
        >>> x = np.array([[1, 0], [3, 2]])
        >>> np.array_equal(f(x), np.{name}(x, axis=0))
        True
        """
        check_options(f"np.{kind}", ["out" for one in out if one is not None])
        _require_flag(kind, keepdims)
        if dtype is not None and isinstance(a, (SymbolicArray, Element)):
            if kind != "mean":
                check_accumulator(str(np.dtype(a.dtype).name), named_dtype(dtype))
            a = a.astype(dtype)
        if isinstance(a, SymbolicArray):
            result = _fold_where(kind, a, axis, keepdims, initial, where)
            return result if dtype is None else result.astype(dtype)
        if isinstance(a, Element):
            return getattr(a, kind)(axis, keepdims=keepdims)
        options = {"dtype": dtype, "initial": initial, "where": None if where is True else where}
        given = {name: value for name, value in options.items() if value is not None}
        return numpy(a, axis=axis, keepdims=keepdims, **given)

    def undated(
        a: Any, axis: Any = None, *out: object, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        return function(a, axis, None, *out, keepdims=keepdims, initial=initial, where=where)

    chosen = named(function if converts else undated, kind, function.__doc__, about=about, option=option)
    also = [getattr(np, f"a{kind}")] if kind in ("max", "min") else []
    return numpy_function(numpy, *also, method=kind, or_numpy=False, role="whole arrays")(chosen)


sum = _reduction(
    "sum", "The sum over axes; of whole numbers in 64 bits, of float16 in float32 and then rounded."
)
prod = _reduction(
    "prod", "The product over axes; of whole numbers in 64 bits, of float16 in float32 and then rounded."
)
max = _reduction("max", "The maximum over axes; NaN where there is one.")
min = _reduction("min", "The minimum over axes; NaN where there is one.")
any = _reduction("any", "True where some element is not zero, over axes; bool.")
all = _reduction("all", "True where no element is zero, over axes; bool.")
mean = _reduction("mean", "The sum over axes divided by the number of elements.")
OF_UFUNCS["reduce"] = {
    getattr(np, op): globals()[kind]
    for kind, op in {**_COMBINED, "all": "logical_and", "any": "logical_or"}.items()
}


def _require_flag(kind: str, keepdims: object) -> None:
    """Refuse what NumPy takes third, a dtype or an array, where the flag is expected."""
    if not isinstance(keepdims, bool | int | np.bool_):
        raise unfit(
            f"`{kind}` has keepdims={keepdims!r}",
            "it is True or False; give a dtype by its name, as in cy.sum(x, 0, dtype=cy.float32)",
        )


@numpy_function(np.var, method="var", or_numpy=False, role="whole arrays")
def var(
    a: Any, axis: Any = None, dtype: DTypeLike | None = None, *, ddof: float = 0, keepdims: bool = False
) -> Any:
    """The mean of the squared distances from the mean, over axes; `ddof` fewer of them than there are.

    Parameters
    ----------
    a : array
        Of any shape, numbers.
    axis : int or tuple of int, optional
        The axes to sum over; by default all.
    dtype : dtype, optional
        A wider one, to which the elements are converted before.
    ddof : float
        What is subtracted from the number of elements.
    keepdims : bool
        Whether these axes stay, with size 1.

    Returns
    -------
    array
        Shaped as `a` without these axes.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.var(x)
    >>> f(np.array([1.0, 3.0])).tolist()
    1.0
    """
    if not isinstance(a, SymbolicArray):
        return np.var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)
    if dtype is not None:
        if not np.can_cast(a.dtype, named_dtype(dtype), "safe"):
            raise unfit(
                f"a variance of {a.dtype} is kept in {named_dtype(dtype)}, which is narrower",
                "convert the elements before, or the result",
                "CYC120",
            )
        a = a.astype(dtype)
    sizes = tuple(a.shape[n] for n in axes_of(axis, a.ndim, "var"))
    number = _number(sizes)
    is_half = a.dtype_name != sum_dtype(a.dtype_name)  # whose sum NumPy rounds, other than for a mean
    away = a - (fold("sum", a, axis, True) / number if is_half else fold("mean", a, axis, True))
    squares = away.real * away.real + away.imag * away.imag if kind_of(away.dtype) == "c" else away * away
    return fold("sum", squares, axis, keepdims) / (apply("maximum", number - ddof, 0))


@numpy_function(np.std, method="std", or_numpy=False, role="whole arrays")
def std(
    a: Any, axis: Any = None, dtype: DTypeLike | None = None, *, ddof: float = 0, keepdims: bool = False
) -> Any:
    """The root of the variance over axes, as `var`.

    Parameters
    ----------
    a : array
        Of any shape, numbers.
    axis : int or tuple of int, optional
        The axes to sum over; by default all.
    dtype : dtype, optional
        A wider one, to which the elements are converted before.
    ddof : float
        What is subtracted from the number of elements.
    keepdims : bool
        Whether these axes stay, with size 1.

    Returns
    -------
    array
        Shaped as `a` without these axes.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.std(x)
    >>> f(np.array([1.0, 3.0])).tolist()
    1.0
    """
    if not isinstance(a, SymbolicArray):
        return np.std(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims)
    return apply("sqrt", var(a, axis, dtype, ddof=ddof, keepdims=keepdims))


# Norms of matrices by their sums along an axis: which of the two axes, and whether the largest counts.
_OF_MATRICES = {1: (0, True), -1: (0, False), np.inf: (1, True), -np.inf: (1, False)}


@numpy_function(np.linalg.norm, or_numpy=False, role="whole arrays")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The length of a vector; of a matrix the root of the sum of the squares of its elements (Frobenius).

    Norms of matrices by singular values are not known.

    Parameters
    ----------
    x : ndarray
        Any shape and dtype; without `axis` all elements count, unless `ord` is given.
    ord : {None, "fro"} or number
        Of vectors: None and 2 for the length, inf for the largest absolute value and -inf for the least, 0
        for how many are not 0, another number p for ``sum(abs(x) ** p) ** (1 / p)``. Of matrices: None and
        "fro", 1 for the largest sum of the absolute values of a column, inf for that of a row, -1 and -inf
        for the least of them.
    axis : int or pair of int, optional
        The axis of the vectors, or those of the matrices.
    keepdims : bool
        Whether folded axes stay, with one element.

    Returns
    -------
    array
        Without axes, or shaped as `x` without `axis`; real.

    Raises
    ------
    ShapeError
        CYC122 for another `ord`, or more axes.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.norm(x)
    >>> f(np.array([3.0, 4.0])).tolist()
    5.0
    """
    if not isinstance(x, SymbolicArray):
        if ord is None and axis is None and not keepdims:
            return np.linalg.norm(np.ravel(x))
        return np.linalg.norm(x, ord, axis, keepdims)
    folded = axes_of(axis, x.ndim, "norm")
    ord = ord.item() if isinstance(ord, np.generic) else ord  # powers keep the dtype
    ord = None if isinstance(ord, str) and ord in ("f", "fro") and len(folded) == 2 else ord
    allowed = axis is None or len(folded) in (1, 2)
    if ord is not None:
        number = isinstance(ord, int | float) and ord == ord
        allowed = number and (len(folded) == 1 or (len(folded) == 2 and ord in _OF_MATRICES))
    if not allowed:
        raise unfit(
            f"`norm` has ord={shown(ord)} over {len(folded)} axes",
            'of vectors any number, of matrices 1, -1, inf, -inf and "fro", e.g. `cy.norm(A, ord=1, axis=0)`',
        )
    dtype = "float64" if kind_of(x.dtype) in "biu" or x.dtype_name in ADDED else x.dtype_name
    x = x if x.dtype_name == dtype else x.astype(dtype)
    if ord is not None and len(folded) == 2:
        summed, largest = _OF_MATRICES[ord]
        sums = fold("sum", abs(x), (folded[summed],), True)
        return fold("max" if largest else "min", sums, folded, keepdims)
    if ord == 0:
        return fold("sum", (x != 0).astype(abs(x).dtype_name), folded, keepdims)
    if ord in (1, np.inf, -np.inf):
        return fold("sum" if ord == 1 else "max" if ord == np.inf else "min", abs(x), folded, keepdims)
    if ord not in (None, 2):
        return fold("sum", abs(x) ** ord, folded, keepdims) ** (1.0 / ord)
    if dtype != sum_dtype(dtype) and axis is None and (ord is None or x.ndim == 1):
        x = x.astype(sum_dtype(dtype))  # of all elements NumPy takes a product of vectors, rounded once
    squares = x.real * x.real + x.imag * x.imag if kind_of(x.dtype) == "c" else x * x
    total = fold("sum", squares, folded, keepdims)
    rounds = kind_of(dtype) != "c" and total.dtype_name != dtype
    return apply("sqrt", total.astype(dtype) if rounds else total)


dispatch.implement(fold=fold)

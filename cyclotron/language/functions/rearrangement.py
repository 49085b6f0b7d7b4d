"""Arrays of the elements of others in other places: accesses while tracing, NumPy otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.language.functions.creation import default_dtype_here
from cyclotron.language.functions.forms import broadcast_to, by_pieces, ravel, zero_of
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.trace.trace import Trace
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import LazyArray, SymbolicArray, operand
from cyclotron.language.values.axes import axes_of, axis_of, whole_shift, whole_size
from cyclotron.language.values.broadcasting import text, whole_numbers
from cyclotron.language.values.context import ACTIVE
from cyclotron.language.values.nodes import Choose, Constant, Element
from cyclotron.language.values.operators import named_dtype
from cyclotron.language.values.reference import ScalarView
from cyclotron.language.values.scalars import check_numbers, explicit_cast
from cyclotron.language.values.source_span import here
from cyclotron.language.values.subscripts import Pick, count
from cyclotron.support.dtypes import kind_of
from cyclotron.support.errors import ShapeError


@numpy_function(np.flip, role="whole arrays")
def flip(m: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """The array with its elements in reverse along axes, by default all.

    Parameters
    ----------
    m : array
        Of any shape.
    axis : int or tuple of int, optional
        The axes to reverse; by default all.

    Returns
    -------
    array
        Shaped as `m`.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.flip(x)
    >>> f(np.array([1, 2, 3])).tolist()
    [3, 2, 1]
    """
    axes = axes_of(axis, m.ndim, "flip")
    return m[tuple(slice(None, None, -1 if n in axes else 1) for n in range(m.ndim))]


@numpy_function(np.swapaxes, method="swapaxes", role="whole arrays")
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """The array with two axes in each other's place.

    Parameters
    ----------
    a : array
        Of at least one axis.
    axis1, axis2 : int
        The axes to exchange.

    Returns
    -------
    array
        Shaped as `a`, with the two sizes exchanged.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.swapaxes(x, 0, 1)
    >>> f(np.array([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    one, other = (axis_of(axis, a.ndim, "swapaxes") for axis in (axis1, axis2))
    order = list(range(a.ndim))
    order[one], order[other] = other, one
    return a.transpose(order)


@numpy_function(np.diff, role="whole arrays")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along an axis, `n` times.

    Parameters
    ----------
    a : array
        Of at least one axis.
    n : int
        How many times differences are taken, 0 or more.
    axis : int
        The axis along which.
    prepend, append : array or number, optional
        Elements before and after those of `a` along the axis.

    Returns
    -------
    array
        Shaped as `a` with these, `n` elements shorter along the axis.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.diff(x)
    >>> f(np.array([1, 4, 9])).tolist()
    [3, 5]
    """
    along, times = axis_of(axis, a.ndim, "diff"), whole_shift(n, "diff")
    if times < 0:
        raise unfit(f"`diff` is taken {times} times", "give 0 or more")
    if times and not (prepend is None and append is None):
        beside = [[] if one is None else [_beside(one, a, along)] for one in (prepend, append)]
        a = concatenate([*beside[0], a, *beside[1]], along)
    for _ in range(min(times, whole_numbers(a.shape, f"`{a.name}`")[along])):  # then nothing is left
        before = (slice(None),) * along
        later, earlier = (a[before + (part,)] for part in (slice(1, None), slice(None, -1)))  # noqa: RUF005
        a = later != earlier if a.dtype_name == "bool" else later - earlier
    return a


def _beside(value: Any, a: SymbolicArray, along: int) -> SymbolicArray:
    """An array that is joined to another one; of a number as many as that has rows."""
    whole = operand(np.asarray(value)[()] if isinstance(value, (bool, int, float, complex)) else value)
    sizes = whole_numbers(a.shape, f"`{a.name}`")
    return whole if whole.shape else broadcast_to(whole, (*sizes[:along], 1, *sizes[along + 1 :]))


@numpy_function(np.diagonal, method="diagonal", role="whole arrays")
def diagonal(a: Any, offset: int = 0) -> Any:
    """The diagonal of a matrix, or one `offset` places right of it.

    Parameters
    ----------
    a : array
        (n, m).
    offset : int
        Which diagonal: 0 is the main one, 1 the one right of it.

    Returns
    -------
    array
        One axis, as long as the diagonal.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.diagonal(x)
    >>> f(np.array([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    rows, columns = _matrix(a, "diagonal")
    offset = whole_shift(offset, "diagonal")
    down, right = max(-offset, 0), max(offset, 0)
    size = max(min(rows - down, columns - right), 0)
    picks = [Pick(Affine({}, by), 1, 0) for by in (down, right)]
    return a.taken(picks, (size,), "the diagonal of an array")


@numpy_function(np.trace, method="trace", or_numpy=False)
def trace(a: Any, offset: int = 0) -> Any:
    """The sum of the diagonal of a matrix.

    Parameters
    ----------
    a : array
        (n, m).
    offset : int
        Which diagonal, as for `diagonal`.

    Returns
    -------
    array
        Without axes.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.trace(x)
    >>> f(np.array([[1, 2], [3, 4]])).tolist()
    5
    """
    return diagonal(a, offset).sum()


@numpy_function(np.tril, role="whole arrays")
def tril(m: Any, k: int = 0) -> Any:
    """The matrix with zeros above a diagonal, the one `k` places right of the main one.

    Parameters
    ----------
    m : array
        (n, m).
    k : int
        The last diagonal that stays.

    Returns
    -------
    array
        Shaped as `m`.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.tril(x)
    >>> f(np.array([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    return _part(m, k, lower=True)


@numpy_function(np.triu, role="whole arrays")
def triu(m: Any, k: int = 0) -> Any:
    """The matrix with zeros below a diagonal, the one `k` places right of the main one.

    Parameters
    ----------
    m : array
        (n, m).
    k : int
        The first diagonal that stays.

    Returns
    -------
    array
        Shaped as `m`.

    Raises
    ------
    ShapeError
        If the array has no such axis (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.triu(x)
    >>> f(np.array([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    return _part(m, k, lower=False)


@numpy_function(role="new array")
def eye(n: int, m: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Any:
    """A matrix with ones on a diagonal, the one `k` places right of the main one, and zeros.

    Parameters
    ----------
    n, m : int
        Rows, and columns, by default as many.
    k : int
        Which diagonal.
    dtype : dtype, optional
        As for `zeros`, that of the kernel's inputs.

    Returns
    -------
    array
        (n, m).

    Raises
    ------
    ShapeError
        If the dtype is not supported (CYC120).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return x + cy.eye(2)
    >>> f(np.array([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[2.0, 2.0], [3.0, 5.0]]
    """
    name = default_dtype_here() if dtype is None else named_dtype(dtype)
    n, m = whole_size(n, "eye"), whole_size(n if m is None else m, "eye")
    k = whole_shift(k, "eye")
    if not isinstance(ACTIVE.get(), Trace):
        made = np.eye(n, m, k, dtype=name)
        return made.view(ScalarView) if ACTIVE.get() is not None else made

    def element_at(index: Sequence[Affine]) -> Element:
        on = index[1].plus(index[0].times(-1)) == k
        one, zero = (explicit_cast(Constant(number, here()), name) for number in (1, 0))
        return Choose(on, one, zero, here())

    return LazyArray((n, m), name, element_at, ())


@numpy_function(np.concatenate, role="whole arrays")
def concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Arrays one after the other along an axis, along which alone they may differ in size.

    Parameters
    ----------
    arrays : sequence of array
        Of the same shape, except along the axis.
    axis : int or None
        The axis along which they are put one after the other; None for all elements in one row.

    Returns
    -------
    array
        As long as all of them along the axis.

    Raises
    ------
    ShapeError
        CYC122 if they have other axes, or differ along those.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.concatenate([x, x])
    >>> f(np.array([1, 2])).tolist()
    [1, 2, 1, 2]
    """
    wholes = [operand(array) for array in arrays]
    if axis is None:
        wholes, axis = [ravel(one) for one in wholes], 0
    along = axis_of(axis, wholes[0].ndim, "concatenate")
    shapes = [whole_numbers(one.shape, f"`{one.name}`") for one in wholes]
    if len({(len(shape), *shape[:along], -1, *shape[along + 1 :]) for shape in shapes}) > 1:
        raise unfit(
            f"`concatenate` has arrays of shapes {' and '.join(map(text, shapes))}",
            f"they may differ along axis {along} only",
        )
    dtype = np.result_type(*(one.dtype for one in wholes)).name
    wholes = [one.astype(dtype) if one.dtype_name != dtype else one for one in wholes]
    parts = [one for one, shape in zip(wholes, shapes, strict=True) if shape[along]]
    ends = [0, *accumulate(shape[along] for shape in shapes if shape[along])]

    def element_at(index: Sequence[Affine]) -> Element:
        def of_part(number: int) -> Element:
            place = index[along].plus(Affine({}, -ends[number]))
            return parts[number].at((*index[:along], place, *index[along + 1 :]))

        return by_pieces(index[along], ends[1:], of_part) if parts else zero_of(dtype)

    shape = (*shapes[0][:along], ends[-1], *shapes[0][along + 1 :])
    return LazyArray(shape, dtype, element_at, wholes)


@numpy_function(np.pad, or_numpy=False, role="whole arrays")
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    """The array with `pad_width` elements of constants around it.

    Parameters
    ----------
    array : ndarray
    pad_width : int, pair, or pair for each axis
        How many elements before and after, as for ``numpy.pad``.
    mode : {"constant", "edge", "reflect", "symmetric", "wrap"}
    constant_values : number, pair, or pair for each axis
        What they are before and after, converted to the dtype of the array.

    Returns
    -------
    array
        Larger by what is put around it.

    Raises
    ------
    ShapeError
        CYC122 for other modes, widths that are negative, or widths or constants of other axes.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.pad(x, 1)
    >>> f(np.array([1, 2])).tolist()
    [0, 1, 2, 0]
    """
    if not isinstance(array, SymbolicArray):
        options = {"constant_values": constant_values} if mode == "constant" else {}
        return np.pad(array, pad_width, mode, **options)  # type: ignore[call-overload]
    if not isinstance(mode, str) or mode not in _MODES:
        raise unfit(f"`pad` has the mode {mode!r}", f"use one of {', '.join(_MODES)}")
    widths = _by_side(pad_width, np.int64, array.ndim)
    if widths is None or any(width < 0 for pair in widths for width in pair):
        raise _sides(array, "widths", pad_width)
    if mode != "constant":
        for axis, pair in enumerate(widths):
            array = _padded(array, axis, (pair[0], pair[1]), mode)
        return array
    values = _by_side(constant_values, array.dtype, array.ndim)
    if values is None:
        raise _sides(array, "constants", constant_values)
    given = np.asarray(constant_values)
    if (
        kind_of(array.dtype) == "i" or not np.isfinite(given).all()
    ):  # those without sign wrap around, as NumPy's
        check_numbers(given.ravel().tolist(), array.dtype_name)
    sizes = whole_numbers(array.shape, f"`{array.name}`")

    def element_at(index: Sequence[Affine]) -> Element:
        result: Element = array.at([i.plus(Affine({}, -b)) for i, (b, _) in zip(index, widths, strict=True)])
        for i, (before, _), size, fill in zip(index, widths, sizes, values, strict=True):
            first, last = (explicit_cast(Constant(one, here()), array.dtype_name) for one in fill)
            result = Choose(i < before, first, Choose(i < before + size, result, last, here()), here())
        return result

    shape = tuple(size + before + after for size, (before, after) in zip(sizes, widths, strict=True))
    return LazyArray(shape, array.dtype_name, element_at, (array,))


_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _runs(size: int, before: int, after: int, mode: str) -> list[tuple[int, int, int]]:
    """The elements along a padded axis: to before a place, the one at place 0 if it went on, the step.

    Beyond the ends the elements recur, in turn backwards but for "wrap"; of "reflect" without the ends.
    """
    whole = before + size + after
    if mode == "edge" or (mode == "reflect" and size == 1):
        ends = [(before, 0, 0)] if before else [], [(whole, size - 1, 0)] if after else []
        return [*ends[0], (before + size, -before, 1), *ends[1]]
    length = size - 1 if mode == "reflect" else size
    runs = []
    for turn in range(-before // length, -((-size - after) // length)):
        first = before + turn * length  # the place where it begins
        backwards = mode != "wrap" and turn % 2 == 1
        run = (first + length - (mode == "symmetric"), -1) if backwards else (-first, 1)
        runs.append((min(first + length, whole), *run))
    return runs


def _padded(array: SymbolicArray, axis: int, widths: tuple[int, int], mode: Any) -> SymbolicArray:
    """An array with elements of its own before and after those along an axis."""
    size = whole_numbers(array.shape, f"`{array.name}`")[axis]
    if not size and any(widths):
        raise unfit(f"`pad` has the mode {mode!r} of an axis without elements", "pad it with a constant")
    before, after = widths
    runs = _runs(size, before, after, mode)

    def element_at(index: Sequence[Affine]) -> Element:
        def of_run(number: int) -> Element:
            _, first, step = runs[number]
            place = index[axis].times(step).plus(Affine({}, first))
            return array.at((*index[:axis], place, *index[axis + 1 :]))

        return (
            by_pieces(index[axis], [end for end, *_ in runs], of_run) if runs else zero_of(array.dtype_name)
        )

    shape = (*array.shape[:axis], before + size + after, *array.shape[axis + 1 :])
    return LazyArray(shape, array.dtype_name, element_at, (array,))


def _by_side(values: Any, dtype: DTypeLike, ndim: int) -> list[list[Any]] | None:
    """For each axis what is before and after it, of one value, a pair, or pairs; None where it is none."""
    try:
        given = np.asarray(values)
        if not np.can_cast(given.dtype, dtype, "same_kind" if dtype is np.int64 else "unsafe"):
            return None
        with np.errstate(invalid="ignore"):  # NaN, which `check_numbers` refuses
            sides: list[list[Any]] = np.broadcast_to(given.astype(dtype), (ndim, 2)).tolist()
    except (TypeError, ValueError, OverflowError):
        return None
    return sides


def _sides(array: SymbolicArray, what: str, given: object) -> ShapeError:
    return unfit(
        f"`pad` of an array that has {count(array.ndim, 'axis', 'axes')} has the {what} {given!r}",
        "give one number, a pair (before, after), or a pair for each axis",
    )


def _matrix(a: SymbolicArray, what: str) -> tuple[int, int]:
    sizes = whole_numbers(a.shape, f"`{a.name}`")
    if len(sizes) != 2:
        raise unfit(
            f"`{what}` of an array that has {count(len(sizes), 'axis', 'axes')}",
            "take it of a matrix, e.g. of `A[0]`",
        )
    return sizes[0], sizes[1]


def _part(m: SymbolicArray, k: int, *, lower: bool) -> SymbolicArray:
    what = "tril" if lower else "triu"
    _matrix(m, what)
    k = whole_shift(k, what)

    def element_at(index: Sequence[Affine]) -> Element:
        right = index[1].plus(index[0].times(-1))
        inside = right <= k if lower else right >= k
        return Choose(inside, m.at(index), zero_of(m.dtype_name), here())

    return LazyArray(m.shape, m.dtype_name, element_at, (m,))

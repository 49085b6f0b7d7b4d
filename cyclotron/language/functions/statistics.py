"""Statistics and finite differences of whole arrays: composed while tracing, NumPy otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from cyclotron.language.functions import elementwise as f
from cyclotron.language.functions import reductions
from cyclotron.language.functions.along_axis import take_along_axis
from cyclotron.language.functions.forms import at_axis, ravel, with_axes
from cyclotron.language.functions.rearrangement import concatenate, diagonal, diff
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import named, numpy_function
from cyclotron.language.functions.search import arange
from cyclotron.language.values.array import materialized, operand
from cyclotron.language.values.axes import axes_of, axis_of, whole_size
from cyclotron.language.values.broadcasting import text, whole_numbers
from cyclotron.language.values.operations import element
from cyclotron.language.values.scalar_type import ScalarType, promote
from cyclotron.support.dtypes import ADDED, kind_of


@numpy_function(np.ptp, role="whole arrays")
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The largest element less the smallest, over axes.

    Parameters
    ----------
    a : array
        Real.
    axis : int or tuple of int, optional
        The axes to fold; by default all.
    keepdims : bool
        Whether these axes stay, with size 1.

    Returns
    -------
    array
        Shaped as `a` without these axes.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.ptp(x)
    >>> f(np.array([1, 4, 2])).tolist()
    3
    """
    return reductions.max(a, axis, keepdims=keepdims) - reductions.min(a, axis, keepdims=keepdims)


@numpy_function(np.count_nonzero, role="whole arrays")
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The number of elements that are not zero, over axes.

    Parameters
    ----------
    a : array
        Of any shape and dtype.
    axis : int or tuple of int, optional
        The axes to fold; by default all.
    keepdims : bool
        Whether these axes stay, with size 1.

    Returns
    -------
    array
        Shaped as `a` without these axes; int64.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.count_nonzero(x)
    >>> f(np.array([1, 0, 2])).tolist()
    2
    """
    return reductions.sum(a != 0, axis, keepdims=keepdims)


@numpy_function(np.average, role="whole arrays")
def average(a: Any, axis: int | None = None, weights: Any = None) -> Any:
    """The mean over an axis, of elements that count as much as their weights.

    Parameters
    ----------
    a : array
        Numbers.
    axis : int, optional
        The axis to fold; by default all.
    weights : array, optional
        Shaped as `a`, or as long as the axis; by default all count the same.

    Returns
    -------
    array
        Shaped as `a` without the axis.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     return cy.average(x, weights=y)
    >>> f(np.array([1.0, 2.0]), np.array([1.0, 3.0])).tolist()
    1.75
    """
    if weights is None:
        return reductions.mean(a, axis)
    weight = operand(weights)
    if axis is not None and weight.ndim == 1 and a.ndim > 1:
        _require_shape(weight, (a.shape[axis_of(axis, a.ndim, "average")],))
        weight = with_axes(weight, a.ndim - 1 - axis_of(axis, a.ndim, "average"))
    else:
        _require_shape(weight, a.shape)
    return reductions.sum(a * weight, axis) / reductions.sum(weight + 0 * a, axis)


def _require_shape(weight: Any, shape: tuple[Any, ...]) -> None:
    found, needed = whole_numbers(weight.shape, "the weights"), whole_numbers(shape, "the array")
    if found != needed:
        raise unfit(
            f"`average` has weights of shape {text(found)}, and needs {text(needed)}",
            "give one weight for each element, or with an axis one for each place along it",
        )


def _without_nan(kind: str, neutral: float, about: str) -> Any:
    numpy = getattr(np, f"nan{kind}")
    fold = getattr(reductions, kind)

    def function(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        """{about}

        Parameters
        ----------
        a : array
            Real.
        axis : int or tuple of int, optional
            The axes to fold; by default all.
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
        ...     return cy.{name}(x)
        >>> x = np.array([1.0, np.nan, 3.0])
        >>> np.array_equal(f(x), np.{name}(x))
        True
        """
        if kind_of(a.dtype) != "f":
            return fold(a, axis, keepdims=keepdims)
        found = fold(f.where(f.isnan(a), neutral, a), axis, keepdims=keepdims)
        if kind == "sum":
            return found
        return f.where(reductions.all(f.isnan(a), axis, keepdims=keepdims), np.nan, found)

    named(function, f"nan{kind}", about=about)
    return numpy_function(numpy, role="whole arrays")(function)


nansum = _without_nan("sum", 0.0, "The sum over axes, of the elements that are not NaN.")
nanmax = _without_nan("max", -np.inf, "The maximum over axes, of the elements that are not NaN.")
nanmin = _without_nan("min", np.inf, "The minimum over axes, of the elements that are not NaN.")


@numpy_function(np.cov, role="whole arrays")
def cov(m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Any:
    """The covariances of variables, which are rows of observations.

    Parameters
    ----------
    m : array
        (variables, observations), or a vector: one variable.
    y : array, optional
        More variables, of as many observations.
    rowvar : bool
        Whether rows are variables; otherwise columns are.
    bias : bool
        Whether the sums are divided by the number of observations; by default by one less.
    ddof : int, optional
        How many fewer than the observations they are divided by, instead.

    Returns
    -------
    array
        (variables, variables); of one variable without axes.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.cov(x)
    >>> f(np.array([[1.0, 2.0], [3.0, 6.0]])).tolist()
    [[0.5, 1.5], [1.5, 4.5]]
    """
    if ddof is not None and ddof != int(ddof):
        raise unfit(f"`cov` has ddof={ddof!r}", "give a whole number, as NumPy takes")
    rows = concatenate([_in_rows(one, rowvar) for one in ((m,) if y is None else (m, y))])
    away = materialized(rows - reductions.mean(rows, 1, keepdims=True))
    product = away @ away.conj().T / max(len(rows.T) - ((0 if bias else 1) if ddof is None else ddof), 0)
    return product[0, 0] if len(rows) == 1 else product


def _in_rows(m: Any, rowvar: bool) -> Any:
    """Variables as rows, in at least float64, as NumPy computes their covariances."""
    whole = operand(m)
    rows = whole[None] if whole.ndim == 1 else whole if rowvar else whole.T
    return rows.astype(np.result_type(rows.dtype, np.float64).name)


@numpy_function(np.corrcoef, role="whole arrays")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """The correlations of variables, which are rows of observations: covariances by standard deviations.

    Parameters
    ----------
    x : array
        (variables, observations), or a vector: one variable.
    y : array, optional
        More variables, of as many observations.
    rowvar : bool
        Whether rows are variables; otherwise columns are.

    Returns
    -------
    array
        (variables, variables), between -1 and 1.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.corrcoef(x)
    >>> f(np.array([[1.0, 2.0, 4.0], [8.0, 4.0, 2.0]])).round(6).tolist()
    [[1.0, -0.928571], [-0.928571, 1.0]]
    """
    covariance = cov(x, y, rowvar)
    if not covariance.shape:
        return covariance / covariance
    covariance = materialized(covariance)
    deviations = materialized(f.sqrt(diagonal(covariance).real))
    return f.maximum(f.minimum(covariance / deviations[:, None] / deviations[None], 1.0), -1.0)


@numpy_function(np.array_equal, role="whole arrays")
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """True where two arrays have one shape and all elements equal.

    Parameters
    ----------
    a1, a2 : array
        Of any shapes.
    equal_nan : bool
        Whether NaN are equal to each other.

    Returns
    -------
    array
        Without axes, bool.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     return cy.array_equal(x, y)
    >>> f(np.array([1, 2]), np.array([1, 2])).tolist()
    True
    """
    one, other = operand(a1), operand(a2)
    same = whole_numbers(one.shape, "an array") == whole_numbers(other.shape, "an array")
    if not same:
        return operand(np.bool_(False))
    if equal_nan and kind_of(one.dtype) in "fc" and kind_of(other.dtype) in "fc":
        return reductions.all(f.logical_or(one == other, f.logical_and(f.isnan(one), f.isnan(other))))
    return reductions.all(one == other)


@numpy_function(np.gradient, role="whole arrays")
def gradient(f: Any, *varargs: float, axis: int | None = None) -> Any:
    """The central differences of an array along its axes, and at both ends the differences of neighbours.

    Parameters
    ----------
    f : array
        Real or complex, of at least 2 elements along each axis.
    *varargs : float
        The distance between neighbours: one number, or one for each axis; by default 1.
    axis : int, optional
        The axis along which; by default each one.

    Returns
    -------
    array, or tuple of array
        Shaped as `f`; of several axes one for each.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.gradient(x)
    >>> f(np.array([1.0, 2.0, 4.0])).tolist()
    [1.0, 1.5, 2.0]
    """
    axes = axes_of(axis, f.ndim, "gradient")
    if f.dtype == bool:
        raise unfit("`gradient` is not defined on bool arrays", "convert them, e.g. to float64", "CYC121")
    if any(np.ndim(apart) for apart in varargs):
        raise unfit(
            "`gradient` has places of the elements, and takes distances",
            "give one number for each axis; else divide differences, e.g. `cy.diff(u) / cy.diff(x)`",
        )
    apart = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    whole = f if kind_of(f.dtype) in "fc" else f.astype("float64")
    whole = materialized(whole) if whole.costly else whole
    parts = tuple(_central(whole, along, by) for along, by in zip(axes, apart, strict=True))
    return parts[0] if len(axes) == 1 else parts


def _central(whole: Any, along: int, apart: float) -> Any:
    if whole.shape[along] < 2:
        raise unfit(f"`gradient` of shape {text(whole.shape)} along axis {along}", "give at least 2 elements")

    def part(*bounds: int | None) -> Any:
        return whole[at_axis(along, slice(*bounds))]

    first, last = part(1, 2) - part(0, 1), part(-1, None) - part(-2, -1)
    return concatenate([first / apart, (part(2, None) - part(None, -2)) / (2.0 * apart), last / apart], along)


@numpy_function(getattr(np, "trapezoid", None) or np.__dict__["trapz"], role="whole arrays")
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral along an axis, by the trapezoidal rule.

    Parameters
    ----------
    y : array
        The values.
    x : array, optional
        Where they are; by default `dx` apart.
    dx : float
        How far they are apart.
    axis : int
        The axis along which.

    Returns
    -------
    array
        Shaped as `y` without the axis.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.trapezoid(x)
    >>> f(np.array([1.0, 2.0, 4.0])).tolist()
    4.5
    """
    along = axis_of(axis, y.ndim, "trapezoid")
    step: Any = dx
    if x is not None:
        places = operand(x)
        step = diff(places) if places.ndim == 1 else diff(places, axis=along)
        step = with_axes(step, y.ndim - along - 1) if places.ndim == 1 else step
    later, earlier = y[at_axis(along, slice(1, None))], y[at_axis(along, slice(None, -1))]
    return reductions.sum(step * (later + earlier) / 2.0, along)


@numpy_function(np.interp, role="whole arrays")
def interp(x: Any, xp: Any, fp: Any, left: float | None = None, right: float | None = None) -> Any:
    """The values at places between those of a table, on the lines between its points.

    Parameters
    ----------
    x : array
        Where.
    xp : array
        The places of the table, ascending.
    fp : array
        Its values there.
    left, right : float, optional
        The values before the table and after it; by default its first and last.

    Returns
    -------
    array
        Shaped as `x`, float64.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, u, v):
    ...     return cy.interp(x, u, v)
    >>> f(np.array([0.5, 3.0]), np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 3.0])).tolist()
    [1.0, 3.0]
    """
    at, places, values = (materialized(operand(one).astype("float64")) for one in (x, xp, fp))
    flat = ravel(at)
    last = len(places) - 1
    before = values[0] if left is None else left
    after = values[last] if right is None else right
    found = values[last]
    if last:
        below = reductions.sum(places[None] <= flat[:, None], 1) - 1
        below = materialized(f.minimum(f.maximum(below, 0), last - 1))
        found = f.where(flat == places[last], values[last], _on_line(flat, places, values, below))
        found = f.where(f.isnan(flat), flat, found)
    found = f.where(flat < places[0], before, f.where(flat > places[last], after, found))
    return found if at.ndim == 1 else found.reshape(at.shape)


def _on_line(at: Any, places: Any, values: Any, below: Any) -> Any:
    """The values on the lines that begin at points of a table, as NumPy finds them where some are infinite.

    Those that are NaN from the beginning of a line may be a number from its end.
    """
    (start, first), (end, second) = (
        [take_along_axis(one, which, 0) for one in (places, values)] for which in (below, below + 1)
    )
    slope = materialized((second - first) / (end - start))
    found = materialized(slope * (at - start) + first)
    from_end = materialized(slope * (at - end) + second)
    level = f.where(f.isnan(from_end) & (first == second), first, from_end)
    return f.where(at == start, first, f.where(f.isnan(found), level, found))


@numpy_function(np.histogram, role="whole arrays")
def histogram(a: Any, bins: int = 10, range: tuple[float, float] | None = None, density: bool = False) -> Any:
    """The numbers of elements in intervals of one size: each element is compared with all edges.

    Parameters
    ----------
    a : array
        Real numbers.
    bins : int
        How many intervals, which include their lower edges; the last one both.
    range : pair of float, optional
        The first edge and the last one; by default the least and largest element.
    density : bool
        Whether the numbers are such that the integral over all intervals is 1.

    Returns
    -------
    tuple of array
        The numbers, int64 or float64, and the edges, floating as `a` is, else float64.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     n, edges = cy.histogram(x, 2)
    ...     return n, edges
    >>> [part.tolist() for part in f(np.array([1.0, 2.0, 2.5, 3.0]))]
    [[1, 3], [1.0, 2.0, 3.0]]
    """
    if np.ndim(bins):
        raise unfit(
            "`histogram` has edges, and takes a number of intervals of one size",
            "give it and the range, or count, e.g. `cy.sum((low <= x) & (x < high))`",
        )
    bins = whole_size(bins, "histogram")
    dtype, computed = _dtypes_of_edges(a, range)
    flat = materialized(ravel(a.astype(dtype)))
    first, last = (flat.min(), flat.max()) if range is None else range
    same = first == last  # of a range without width NumPy takes one of width 1
    apart = 0.5 * (bool(same) if isinstance(same, (bool, np.bool_)) else f.cast(same, computed))
    first, last = first - apart, last + apart
    number = arange(bins + 1)
    edges = number.astype(computed) * ((last - first) / bins) + first
    edges = materialized(f.where(number == bins, last, edges).astype(dtype))
    after, before = edges[:-1, None] <= flat, flat < edges[1:, None]
    inside = after & (before | ((flat == edges[bins]) & (number[:-1, None] == bins - 1)))
    count = materialized(reductions.sum(inside, 1))
    if not density:
        return count, edges
    return count / diff(edges).astype("float64") / reductions.sum(count), edges


def _dtypes_of_edges(a: Any, range: tuple[Any, Any] | None) -> tuple[str, str]:
    """The dtype of the edges of a histogram, and that in which they are computed."""
    dtype = "float64" if kind_of(a.dtype) != "f" or a.dtype_name in ADDED else a.dtype_name
    if range is None:
        return dtype, dtype
    ends = [element(one).type for one in range]
    truth, real = ScalarType("bool"), ScalarType("float64", weak=True)
    return promote("where", truth, ScalarType(dtype), *ends)[0], promote("where", truth, real, *ends)[0]

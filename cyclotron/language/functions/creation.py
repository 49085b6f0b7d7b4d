"""New arrays: symbolic while tracing, NumPy otherwise."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cyclotron.language.functions.registry import PUBLIC, numpy_function
from cyclotron.language.trace.trace import Trace, default_dtype
from cyclotron.language.values import numpy_functions
from cyclotron.language.values.array import SymbolicArray
from cyclotron.language.values.blocked import Blocked, Spec, resolve_shape
from cyclotron.language.values.broadcasting import whole_numbers
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.context import ACTIVE, Reference
from cyclotron.language.values.host_arrays import constant
from cyclotron.language.values.nodes import Constant, Element
from cyclotron.language.values.operations import element
from cyclotron.language.values.operators import named_dtype
from cyclotron.language.values.reference import BlockedView, ScalarView, plain, wrap
from cyclotron.language.values.scalar_type import literal
from cyclotron.language.values.source_span import shape_error, trace_error
from cyclotron.language.values.tensor import SymbolicTensor
from cyclotron.support.dtypes import is_whole, kind_of
from cyclotron.support.errors import TraceError

Shape = int | Sequence[int]
Tile = int | Sequence[int]


@numpy_function(np.empty, or_numpy=False, role="creation")
def empty(
    shape: Shape, dtype: DTypeLike | None = None, tile: Tile | None = None, *, name: str | None = None
) -> NDArray[Any]:
    """Return a new array whose elements the kernel assigns.

    Parameters
    ----------
    shape : int or sequence of int
        Elements (scalars or tiles) along each axis. Entries of the shape of a blocked argument bring their
        tile size along.
    dtype : dtype, optional
        By default that of all of the kernel's inputs; float64 where they differ, are bool, or there are none.
    tile : int or sequence of int, optional
        Scalars per tile along each axis, where the shape does not tell.
    name : str, optional
        The name in messages; set by the tracer.

    Returns
    -------
    ndarray or Blocked
        In a kernel under trace, a symbolic tensor.

    Raises
    ------
    ShapeError
        If the shape or tile does not fit (CYC122), or the dtype is not supported (CYC120).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     y = cy.empty(len(x))
    ...     for i in range(len(x)):
    ...         y[i] = 2 * x[i]
    ...     return y
    >>> f(np.array([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    return _new(shape, dtype, tile, None, name)


@numpy_function(np.zeros, or_numpy=False, role="creation")
def zeros(
    shape: Shape, dtype: DTypeLike | None = None, tile: Tile | None = None, *, name: str | None = None
) -> NDArray[Any]:
    """Return a new array of zeros; elements without assignment stay zero. Parameters as for `empty`.

    Parameters
    ----------
    shape : int or sequence of int
        As for `empty`.
    dtype : dtype, optional
        As for `empty`; beside whole numbers of 8 or 16 bits, in which sums wrap, float64 unless it has tiles.
    tile : optional
        As for `empty`.
    name : str, optional
        As for `empty`.

    Returns
    -------
    array
        A tensor of the kernel; outside of kernels NumPy's array.

    Raises
    ------
    ShapeError
        If the shape or tile does not fit (CYC122), or the dtype is not supported (CYC120).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     y = cy.zeros(2)
    ...     y[1] = x[1]
    ...     return y
    >>> f(np.array([5.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    return _new(shape, dtype, tile, 0, name)


@numpy_function(np.ones, or_numpy=False, role="creation")
def ones(
    shape: Shape, dtype: DTypeLike | None = None, tile: Tile | None = None, *, name: str | None = None
) -> NDArray[Any]:
    """Return a new array of ones; elements without assignment stay one. Parameters as for `empty`.

    Parameters
    ----------
    shape : int or sequence of int
        As for `empty`.
    dtype : dtype, optional
        As for `empty`.
    tile : optional
        As for `empty`.
    name : str, optional
        As for `empty`.

    Returns
    -------
    array
        A tensor of the kernel; outside of kernels NumPy's array.

    Raises
    ------
    ShapeError
        If the shape or tile does not fit (CYC122), or the dtype is not supported (CYC120).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     y = cy.ones(2)
    ...     y[1] = x[1]
    ...     return y
    >>> f(np.array([5.0, 1.0])).tolist()
    [1.0, 1.0]
    """
    return _new(shape, dtype, tile, 1, name)


@numpy_function(np.full, or_numpy=False, role="creation")
def full(
    shape: Shape,
    fill_value: complex,
    dtype: DTypeLike | None = None,
    tile: Tile | None = None,
    *,
    name: str | None = None,
) -> NDArray[Any]:
    """Return a new array of one value; elements without assignment keep it. Parameters as for `empty`.

    Parameters
    ----------
    shape : int or sequence of int
        As for `empty`.
    fill_value : number
        The value of all elements that nothing is assigned to.
    dtype : dtype, optional
        By default that of the value; of Python's numbers, truth values aside, as for `empty` where the kernel
        has inputs of a kind that holds them, as floats hold whole numbers.
    tile : optional
        As for `empty`.
    name : str, optional
        As for `empty`.

    Returns
    -------
    array
        A tensor of the kernel; outside of kernels NumPy's array.

    Raises
    ------
    ShapeError
        If the shape or tile does not fit (CYC122), or the dtype is not supported, or does not hold the value
        (CYC120).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     y = cy.full(2, 7)
    ...     y[1] = x[1]
    ...     return y
    >>> f(np.array([5.0, 1.0])).tolist()
    [7.0, 1.0]
    """
    return _new(shape, dtype or _dtype_of_value(fill_value), tile, fill_value, name)


@numpy_function(np.empty_like, or_numpy=False, role="creation")
def empty_like(prototype: Any, dtype: DTypeLike | None = None, *, name: str | None = None) -> NDArray[Any]:
    """Return a new array shaped, tiled and typed as `prototype`, whose elements the kernel assigns.

    Parameters
    ----------
    prototype : array
        A tensor of the kernel.
    dtype : dtype, optional
        Another dtype than the prototype's.
    name : str, optional
        As for `empty`.

    Returns
    -------
    array
        A tensor of the kernel; outside of kernels NumPy's array.

    Raises
    ------
    ShapeError
        If the shape or tile does not fit (CYC122), or the dtype is not supported (CYC120).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     y = cy.empty_like(x)
    ...     for i in range(len(x)):
    ...         y[i] = 2 * x[i]
    ...     return y
    >>> f(np.array([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """
    return _new_like(prototype, dtype, None, name)


@numpy_function(np.zeros_like, or_numpy=False, role="creation")
def zeros_like(prototype: Any, dtype: DTypeLike | None = None, *, name: str | None = None) -> NDArray[Any]:
    """Return a new array of zeros shaped, tiled and typed as `prototype`.

    Parameters
    ----------
    prototype : array
        A tensor of the kernel.
    dtype : dtype, optional
        Another dtype than the prototype's.
    name : str, optional
        As for `empty`.

    Returns
    -------
    array
        A tensor of the kernel; outside of kernels NumPy's array.

    Raises
    ------
    ShapeError
        If the shape or tile does not fit (CYC122), or the dtype is not supported (CYC120).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     y = cy.zeros_like(x)
    ...     y[1] = x[1]
    ...     return y
    >>> f(np.array([5.0, 1.0])).tolist()
    [0.0, 1.0]
    """
    return _new_like(prototype, dtype, 0, name)


@numpy_function(np.ones_like, or_numpy=False, role="creation")
def ones_like(prototype: Any, dtype: DTypeLike | None = None, *, name: str | None = None) -> NDArray[Any]:
    """Return a new array of ones shaped, tiled and typed as `prototype`.

    Parameters
    ----------
    prototype : array
        A tensor of the kernel.
    dtype : dtype, optional
        Another dtype than the prototype's.
    name : str, optional
        As for `empty`.

    Returns
    -------
    array
        A tensor of the kernel; outside of kernels NumPy's array.

    Raises
    ------
    ShapeError
        If the shape or tile does not fit (CYC122), or the dtype is not supported (CYC120).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     y = cy.ones_like(x)
    ...     y[1] = x[1]
    ...     return y
    >>> f(np.array([5.0, 1.0])).tolist()
    [1.0, 1.0]
    """
    return _new_like(prototype, dtype, 1, name)


@numpy_function(np.full_like, or_numpy=False, role="creation")
def full_like(
    prototype: Any, fill_value: complex, dtype: DTypeLike | None = None, *, name: str | None = None
) -> NDArray[Any]:
    """Return a new array of one value shaped, tiled and typed as `prototype`.

    Parameters
    ----------
    prototype : array
        A tensor of the kernel.
    fill_value : number
        The value of all elements that nothing is assigned to.
    dtype : dtype, optional
        Another dtype than the prototype's.
    name : str, optional
        As for `empty`.

    Returns
    -------
    array
        A tensor of the kernel; outside of kernels NumPy's array.

    Raises
    ------
    ShapeError
        If the shape or tile does not fit (CYC122), or the dtype is not supported (CYC120).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     y = cy.full_like(x, 7)
    ...     y[1] = x[1]
    ...     return y
    >>> f(np.array([5.0, 1.0])).tolist()
    [7.0, 1.0]
    """
    return _new_like(prototype, dtype, fill_value, name)


_WITHOUT_EFFECT = ("order", "subok", "device")  # on shape, dtype and values


def made_by_numpy(kind: str, *args: Any, name: str | None = None, **options: Any) -> NDArray[Any]:
    """The tensor for ``y = np.zeros(4)`` in a kernel; without a dtype it has NumPy's, not that of the inputs.

    Raises
    ------
    TraceError
        CYC115 for arrays of tiles, and for options that kernels do not have.
    ShapeError
        As of `zeros`.
    """
    function, is_like = PUBLIC[kind], kind.endswith("_like")
    parameters = [one for one in inspect.signature(function).parameters if one not in ("tile", "name")]
    given = dict(zip([*parameters, *_WITHOUT_EFFECT], args, strict=False))
    if is_like and "a" in options:
        options["prototype"] = options.pop("a")
    others = [one for one in options if one in given or one not in (*parameters, *_WITHOUT_EFFECT)]
    given |= options
    if others or len(args) > len(parameters) + 1 + is_like or parameters[0] not in given:
        raise _is_of_kernels(kind, "is called with arguments that kernels do not have")
    if not is_like and given.get("dtype") is None:
        given["dtype"] = _own_dtype(given["fill_value"]) if "full" in kind else "float64"
    made: Any = function(**{one: given[one] for one in parameters if one in given}, name=name)
    if getattr(made, "tile", None) is not None:
        raise _is_of_kernels(kind, "makes no array of tiles")
    return cast("NDArray[Any]", made)


for _kind in ("empty_like", "zeros_like", "ones_like", "full_like"):  # in functions that kernels call
    numpy_functions.FUNCTIONS[getattr(np, _kind)] = functools.partial(made_by_numpy, _kind)


def _is_of_kernels(kind: str, what: str) -> TraceError:
    return trace_error("CYC115", f"`np.{kind}` {what}", help=f"use `cy.{kind}`")


def _own_dtype(value: Any) -> str:
    """The dtype of an array that NumPy makes of a value."""
    known = literal(value)
    if known is not None:
        return known[1].dtype
    return _dtype_of_value(value) or str(getattr(value, "dtype", None) or np.asarray(value).dtype)


def default_dtype_here(*, sums: bool = True) -> str:
    """The dtype of an array that is declared without one, as `default_dtype` says."""
    context = ACTIVE.get()
    if isinstance(context, Trace):
        return default_dtype(context.dtypes_of_arguments(), sums=sums)
    return default_dtype(context.dtypes, sums=sums) if isinstance(context, Reference) else "float64"


def _dtype_of_value(value: Any) -> str | None:
    """The dtype of an array of one value; None where a number of Python's adopts that of the inputs.

    Raises
    ------
    ShapeError
        CYC120 for a whole number that this rounds.
    """
    known = literal(value)
    if known is None:
        weak = isinstance(value, Element) and value.type.weak and value.dtype != "bool"
        dtype = getattr(value, "dtype", None)
        return "bool" if isinstance(value, Condition) else None if weak or dtype is None else str(dtype)
    number, type = known
    context = ACTIVE.get()
    without_inputs = isinstance(context, Trace) and not context.dtypes_of_arguments()
    narrower = {"f": "iu", "c": "iuf"}.get(type.kind, "")  # what does not hold such numbers
    if not type.weak or type.kind == "b" or without_inputs or kind_of(default_dtype_here()) in narrower:
        return type.dtype
    if isinstance(number, int) and not _holds(default_dtype_here(), number):
        raise shape_error(
            "CYC120",
            f"the number {number} is rounded by the dtype that the array has, {default_dtype_here()}",
            help='declare the array with a dtype that holds it, e.g. dtype="int64"',
        )
    return None


def _holds(dtype: str, number: int) -> bool:
    """Return whether a floating dtype holds a whole number exactly; of whole ones others tell."""
    if is_whole(dtype):
        return True
    try:
        with np.errstate(over="ignore"):
            real = float(np.dtype(dtype).type(number).real)
    except OverflowError:
        return False
    return math.isfinite(real) and int(real) == number


def _new(
    shape: Shape, dtype: DTypeLike | None, tile: Tile | None, fill: complex | None, name: str | None
) -> NDArray[Any]:
    context = ACTIVE.get()
    if isinstance(context, Trace):
        scalars, tiles = resolve_shape(shape, tile)
        chosen = None if dtype is None else named_dtype(dtype)
        symbolic: NDArray[Any] = _declared(context, name, scalars, tiles, chosen, fill)
        return symbolic
    scalars, tiles = resolve_shape(shape, tile)
    dtype = default_dtype_here(sums=tiles is None and fill is not None) if dtype is None else dtype
    array: Any = np.empty(scalars, dtype)
    if fill is not None:
        np.copyto(array, fill, casting="unsafe")
    if tiles is not None:
        array = Blocked(array, tiles)
    made: NDArray[Any] = wrap(array) if context else array
    return made


def _new_like(
    prototype: Any, dtype: DTypeLike | None, fill: complex | None, name: str | None
) -> NDArray[Any]:
    if isinstance(prototype, SymbolicTensor):
        context = ACTIVE.get()
        if not isinstance(context, Trace) or prototype.owner is not context:
            raise shape_error("CYC118", f"`{prototype.name}` belongs to another kernel")
        chosen = prototype.dtype_name if dtype is None else named_dtype(dtype)
        symbolic: NDArray[Any] = _declared(context, name, prototype.scalars, prototype.tile, chosen, fill)
        return symbolic
    if isinstance(prototype, SymbolicArray):
        scalars = whole_numbers(prototype.shape, f"`{prototype.name}`")
        return _new(scalars, dtype or prototype.dtype, None, fill, name)
    if isinstance(prototype, (BlockedView, Blocked)):
        blocked = plain(prototype)
        chosen_dtype = blocked.dtype if dtype is None else dtype
        return _new(blocked.shape, chosen_dtype, blocked.tile_shape, fill, name)
    if isinstance(prototype, Spec):
        return _new(prototype.shape, dtype or prototype.dtype, prototype.tile, fill, name)
    array = plain(prototype) if isinstance(prototype, ScalarView) else np.asarray(prototype)
    return _new(array.shape, array.dtype if dtype is None else dtype, None, fill, name)


def _declared(
    trace: Trace,
    name: str | None,
    scalars: tuple[int, ...],
    tile: tuple[int, ...] | None,
    dtype: str | None,
    fill: complex | None,
) -> Any:
    """A new tensor; in a loop every iteration makes it anew, and fills it, as with data anywhere."""
    if isinstance(fill, np.ndarray) and fill.ndim:
        fill = constant(fill)
    given = isinstance(fill, (Element, SymbolicArray))
    if fill is not None and not given:
        first = element(fill)
        fill = first.value if isinstance(first, Constant) else fill
    if isinstance(fill, float) and math.isfinite(fill) and is_whole(dtype):
        fill = int(np.asarray(fill).astype(dtype))
    if not given and (tile is not None or not trace.indices()):
        return trace.declare(name, scalars, tile, dtype, fill)
    tensor = trace.declare(name, scalars, None, dtype, None, anywhere=True)
    if fill is not None:
        tensor.complete = True
        tensor[...] = fill
    return tensor

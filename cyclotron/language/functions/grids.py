"""Arrays of numbers of the host, and of the places of a grid: new arrays while tracing, NumPy's else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from cyclotron.language.functions.forms import broadcast_to, zero_of
from cyclotron.language.functions.joining import stack
from cyclotron.language.functions.rearrangement import concatenate, diagonal, eye
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.functions.search import arange
from cyclotron.language.trace import assign
from cyclotron.language.trace.trace import traced
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import LazyArray, SymbolicArray, operand
from cyclotron.language.values.axes import whole_shift, whole_size
from cyclotron.language.values.context import ACTIVE
from cyclotron.language.values.dispatch import Arithmetic
from cyclotron.language.values.host_arrays import constant
from cyclotron.language.values.nodes import Choose, Constant, Element, IndexValue
from cyclotron.language.values.operations import apply
from cyclotron.language.values.operators import named_dtype
from cyclotron.language.values.reference import ScalarView
from cyclotron.language.values.scalar_type import ScalarType, promote
from cyclotron.language.values.scalars import explicit_cast
from cyclotron.language.values.source_span import here
from cyclotron.support.dtypes import is_whole


def new_array(values: Any) -> Any:
    """A new array of numbers of the host: of the kernel while it is recorded."""
    array = np.asarray(values)
    if traced():
        return constant(array).copy() if array.ndim else operand(array[()])
    return array.view(ScalarView) if ACTIVE.get() is not None else array


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_symbolic, value))
    return isinstance(value, (Arithmetic, Affine))


@numpy_function(role="new array")
def array(object: Any, dtype: DTypeLike | None = None) -> Any:
    """A new array of nested lists of numbers, elements and arrays, or of an array.

    Parameters
    ----------
    object : array, number, or nested sequence of them
        Those of one list have one shape.
    dtype : dtype, optional
        To which they are converted; by default the one that holds them all.

    Returns
    -------
    array
        A new array.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.array([x[0], 2.5])
    >>> f(np.array([1.0, 2.0])).tolist()
    [1.0, 2.5]
    """
    if not traced() or not _is_symbolic(object):
        return new_array(np.array(object, dtype))
    made = (
        stack([array(one) for one in object]) if isinstance(object, (list, tuple)) else operand(object).copy()
    )
    return made if dtype is None else made.astype(dtype)


@numpy_function(np.asarray, or_numpy=False)
def asarray(a: Any, dtype: DTypeLike | None = None) -> Any:
    """The array itself where it is one of the dtype; otherwise as `array`.

    Parameters
    ----------
    a : array, number, or nested sequence of them
        As for `array`.
    dtype : dtype, optional
        As for `array`.

    Returns
    -------
    array
        The array, or a new one.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.asarray(x)
    >>> f(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    if isinstance(a, SymbolicArray):
        same = dtype is None or named_dtype(dtype) == a.dtype_name
    else:
        same = isinstance(a, ScalarView) and (dtype is None or np.dtype(dtype) == a.dtype)
    return a if same else array(a, dtype)


def own(value: Any, *, name: str) -> Any:
    """An array of the kernel with the values of one that NumPy has just made, which the kernel changes."""
    is_array = isinstance(value, np.ndarray) and value.ndim
    return assign.new_array(constant(value).expression(), name) if is_array else value


def row(values: Any) -> Any:
    """``y[t] = il.row((a, b))``: the array of a sequence in which elements are; others are as they are."""
    return array(values) if _is_symbolic(values) else values


def converted_by_numpy(kind: str, values: Any, dtype: DTypeLike | None = None, **options: Any) -> Any:
    """The array for ``np.array(x)`` or ``np.asarray(x)`` in a kernel: NumPy's own of values of the host."""
    if not _is_symbolic(values):
        return getattr(np, kind)(values, dtype, **options)
    if options.pop("copy", None) is False or options:
        raise unfit(f"`np.{kind}` of a kernel's array has other options", f"call `cy.{kind}`")
    return {"array": array, "asarray": asarray}[kind](values, dtype)


@numpy_function(role="new array")
def linspace(
    start: float, stop: float, num: int = 50, endpoint: bool = True, *, dtype: DTypeLike | None = None
) -> Any:
    """Numbers from `start` to `stop`, evenly apart.

    Parameters
    ----------
    start, stop : float
        The first number and the last one, which are known before the program runs.
    num : int
        How many numbers, 0 or more.
    endpoint : bool
        Whether `stop` is the last one; otherwise it would be the next.
    dtype : dtype, optional
        By default float64.

    Returns
    -------
    array
        One axis of `num` elements.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return x + cy.linspace(0, 1, 3)
    >>> f(np.zeros(3)).tolist()
    [0.0, 0.5, 1.0]
    """
    num = whole_size(num, "linspace") if traced() else num
    if not traced() or num < 2 or isinstance(start + stop, complex) or start == stop:
        return new_array(np.linspace(start, stop, num, endpoint, dtype=dtype))
    first, step = float(start), (float(stop) - start) / (num - 1 if endpoint else num)

    def element_at(index: Sequence[Affine]) -> Element:
        count = IndexValue(index[0], ScalarType("float64"), here())
        value = apply("add", apply("multiply", count, step), first)
        last = explicit_cast(Constant(float(stop), here()), "float64")
        return Choose(index[0] < num - 1, value, last, here()) if endpoint else value

    made = LazyArray((num,), "float64", element_at, ())
    if dtype is None or named_dtype(dtype) == "float64":
        return made
    return (np.floor(made) if is_whole(dtype) else made).astype(dtype)


@numpy_function(role="new array")
def identity(n: int, dtype: DTypeLike | None = None) -> Any:
    """The square matrix with ones on its diagonal, and zeros.

    Parameters
    ----------
    n : int
        How many rows and columns.
    dtype : dtype, optional
        As for `eye`.

    Returns
    -------
    array
        (n, n).

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return x @ cy.identity(2)
    >>> f(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return eye(n, dtype=dtype)


@numpy_function(np.diag, role="whole arrays")
def diag(v: Any, k: int = 0) -> Any:
    """The matrix with a vector on a diagonal and zeros; of a matrix its diagonal.

    Parameters
    ----------
    v : array
        A vector or a matrix.
    k : int
        Which diagonal, as for `diagonal`.

    Returns
    -------
    array
        A matrix, or the diagonal of one.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.diag(x)
    >>> f(np.array([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    k = whole_shift(k, "diag")
    if v.ndim != 1:
        return diagonal(v, k)
    size = len(v) + abs(k)

    def element_at(index: Sequence[Affine]) -> Element:
        on = index[1].plus(index[0].times(-1)) == k
        return Choose(on, v.at([index[1 if k < 0 else 0]]), zero_of(v.dtype_name), here())

    return LazyArray((size, size), v.dtype_name, element_at, (v,))


@numpy_function(np.diagflat, public=False)
def _diagflat(v: Any, k: int = 0) -> Any:
    return diag(v.ravel(), k)


@numpy_function(np.meshgrid, role="whole arrays")
def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False) -> Any:
    """The coordinates of the points of a grid, an array for each axis.

    Parameters
    ----------
    *xi : array
        The coordinates along each axis: vectors.
    indexing : {"xy", "ij"}
        Whether the first axis of the grid goes along its columns or its rows.
    sparse : bool
        Whether axes along which nothing changes have one element.

    Returns
    -------
    list of array
        One for each vector.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     u, v = cy.meshgrid(x, y)
    ...     return u, v
    >>> [part.tolist() for part in f(np.array([1, 2]), np.array([3, 4]))]
    [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    wholes = [operand(one) for one in xi]
    parts = _open([one if one.ndim else one[None] for one in wholes], swapped=indexing == "xy")
    if sparse:
        return [part.copy() for part in parts]
    sizes = [len(one) for one in wholes]
    if indexing == "xy" and len(sizes) > 1:
        sizes[:2] = sizes[1::-1]
    return [broadcast_to(part, tuple(sizes)) for part in parts]


def _open(vectors: Sequence[Any], *, swapped: bool = False) -> list[Any]:
    """Vectors along an axis each, the first two of which may be swapped."""
    order = list(range(len(vectors)))
    if swapped and len(order) > 1:
        order[:2] = 1, 0
    places = [tuple(slice(None) if n == at else None for n in range(len(vectors))) for at in order]
    return [one[place] for one, place in zip(vectors, places, strict=True)]


@numpy_function(np.ix_, role="whole arrays", or_numpy=False)
def ix_(*args: Any) -> Any:
    """Vectors as arrays that broadcast against each other, each along an axis of its own.

    Parameters
    ----------
    *args : array of numbers
        Vectors.

    Returns
    -------
    tuple of array
        Views.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x, y):
    ...     u, v = cy.ix_(x, y)
    ...     return u, v
    >>> [part.tolist() for part in f(np.array([1, 2]), np.array([3, 4]))]
    [[[1], [2]], [[3, 4]]]
    """
    if not any(map(_is_symbolic, args)):
        return np.ix_(*args)
    wholes = [operand(one) for one in args]
    if any(one.dtype_name == "bool" for one in wholes):
        raise unfit("`ix_` has a mask: how many elements it takes depends on data", "give vectors of indices")
    return tuple(_open(wholes))


@numpy_function(role="new array")
def indices(dimensions: Sequence[int], dtype: DTypeLike = int) -> Any:
    """The indices of the points of a grid.

    Parameters
    ----------
    dimensions : sequence of int
        How many points along each axis.
    dtype : dtype, optional
        By default int64.

    Returns
    -------
    array
        Of one axis more than the grid: its first is that of the indices.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return x + cy.indices((2, 2))[0]
    >>> f(np.zeros((2, 2))).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    if not traced():
        return new_array(np.indices(dimensions, dtype))
    return stack(_indices(tuple(dimensions), dtype))


def _indices(sizes: tuple[int, ...], dtype: DTypeLike) -> list[Any]:
    sizes = tuple(whole_size(size, "indices") for size in sizes)
    parts = _open([arange(size) for size in sizes])
    return [broadcast_to(part, sizes).astype(dtype) for part in parts]


@numpy_function(role="new array")
def fromfunction(function: Callable[..., Any], shape: Sequence[int], *, dtype: DTypeLike = float) -> Any:
    """The array of what a function makes of the indices of each element.

    Parameters
    ----------
    function : callable
        Called once, with an array of indices for each axis.
    shape : sequence of int
        That of the array.
    dtype : dtype, optional
        That of the indices, by default float64.

    Returns
    -------
    array
        What the function returns.

    Raises
    ------
    ShapeError
        If shapes do not fit (CYC122), or the operation is not defined for the dtype (CYC121).

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return x + cy.fromfunction(lambda i, j: i + j, (2, 2))
    >>> f(np.zeros((2, 2))).tolist()
    [[0.0, 1.0], [1.0, 2.0]]
    """
    if not traced():
        return new_array(np.fromfunction(function, shape, dtype=dtype))
    return function(*_indices(tuple(shape), dtype))


_NUMBERS = (int, float, complex)


class _Joined:
    """An object whose subscripts are arrays and ranges that are joined: `numpy.r_` and `numpy.c_`.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return cy.r_[x, 0:2]
    >>> f(np.array([5, 6])).tolist()
    [5, 6, 0, 1]
    """

    def __init__(self, name: str, numpy: Any) -> None:
        self.__name__ = self.__qualname__ = name
        self._numpy = numpy

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if not traced() or not any(map(_is_symbolic, keys)):
            return new_array(self._numpy[key])
        parts = [part if part.ndim else part[None] for part in self._parts(keys)]
        if self._numpy is np.c_:
            return concatenate([part if part.ndim > 1 else part[:, None] for part in parts], -1)
        return concatenate(parts, 0)

    def _parts(self, keys: Sequence[Any]) -> list[SymbolicArray]:
        """The arrays that are joined, of ranges and numbers too; Python's have the dtype of the others."""
        if any(isinstance(key, str) for key in keys):
            raise unfit(
                f"`{self.__name__}` has a directive, a text",
                "join along other axes with `cy.concatenate(arrays, axis)` or `cy.stack(arrays, axis)`",
            )
        parts = [operand(key if _is_symbolic(key) or type(key) in _NUMBERS else np.r_[key]) for key in keys]
        if not any(part.type.weak for part in parts):
            return parts
        dtype, _ = promote("where", ScalarType("bool"), *(part.type for part in parts))
        return [part.astype(dtype) if part.type.weak else part for part in parts]


class _Grid:
    """An object whose subscripts are the ranges of a grid: `numpy.mgrid` and `numpy.ogrid`.

    Examples
    --------
    >>> @cy.kernel
    ... def f(x):
    ...     return x + cy.mgrid[0:2, 0:2][0]
    >>> f(np.zeros((2, 2))).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """

    def __init__(self, name: str, numpy: Any) -> None:
        self.__name__ = self.__qualname__ = name
        self._numpy = numpy

    def __getitem__(self, key: Any) -> Any:
        try:
            made = self._numpy[key]
        except (AttributeError, TypeError, ValueError) as error:
            if not traced():
                raise
            raise unfit(
                f"`{self.__name__}` has a subscript that is no range of numbers: {error}",
                f"give a range for each axis, e.g. `cy.{self.__name__}[0:3, 0:4]`",
            ) from None
        return tuple(map(new_array, made)) if isinstance(made, (list, tuple)) else new_array(made)


r_, c_ = _Joined("r_", np.r_), _Joined("c_", np.c_)
mgrid, ogrid = _Grid("mgrid", np.mgrid), _Grid("ogrid", np.ogrid)

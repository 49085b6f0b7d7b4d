"""NumPy's functions of whole arrays that are a few others each, in kernels under NumPy's names alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from cyclotron.language.functions import elementwise as f
from cyclotron.language.functions import reductions, running
from cyclotron.language.functions.compositions import is_nan
from cyclotron.language.functions.einsum import einsum
from cyclotron.language.functions.forms import at_axis, ravel
from cyclotron.language.functions.joining import stack
from cyclotron.language.functions.ordering import sort
from cyclotron.language.functions.rearrangement import flip, swapaxes
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.values.array import SymbolicArray, operand
from cyclotron.language.values.axes import axis_of
from cyclotron.language.values.broadcasting import whole_numbers
from cyclotron.support.arguments import shown
from cyclotron.support.dtypes import kind_of


def _rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    for _ in range(k % 4):
        m = flip(swapaxes(m, *axes), axes[0])
    return m


def _take(a: Any, indices: Any, axis: int | None = None) -> Any:
    whole = ravel(operand(a)) if axis is None else operand(a)
    taken = whole[at_axis(0 if axis is None else axis_of(axis, whole.ndim, "take"), indices)]
    return taken.copy() if isinstance(taken, SymbolicArray) else taken


def _searchsorted(a: Any, v: Any, side: str = "left") -> Any:
    if side not in ("left", "right"):
        raise unfit(f"`searchsorted` has side={side!r}", 'it is "left" or "right"')
    array, values = operand(a), operand(v)[..., None]
    return reductions.sum(array < values if side == "left" else array <= values, -1)


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    left, right = operand(a), operand(b)
    pairs = (range(left.ndim - axes, left.ndim), range(axes)) if isinstance(axes, int) else axes
    own = ascii_letters[: left.ndim]
    others = [*ascii_letters[left.ndim :][: right.ndim]]
    for first, second in zip(*map(np.atleast_1d, pairs), strict=True):
        others[second] = own[first]
    kept = "".join(x for x in (*own, *others) if (x in own) + (x in others) == 1)
    return einsum(f"{own},{''.join(others)}->{kept}", left, right)


def _quantile(a: Any, q: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
    if isinstance(q, (Sequence, np.ndarray)) and np.ndim(q):
        return stack([_quantile(a, one, axis, keepdims=keepdims) for one in q])
    if not isinstance(q, (int, float, np.number, np.ndarray)) or not 0 <= q <= 1:
        raise unfit(
            f"a quantile is at {shown(q)}", "give numbers of the host from 0 to 1, percentiles to 100"
        )
    array, along = (ravel(a), 0) if axis is None else (a, axis_of(axis, a.ndim, "quantile"))
    place = float(q) * (whole_numbers(array.shape, "the array")[along] - 1)
    low, high = math.floor(place), math.ceil(place)
    ordered = sort(array if kind_of(a.dtype) == "f" else array.astype("float64"), along)
    below, above = (ordered[at_axis(along, slice(one, one + 1))] for one in (low, high))
    apart = above - below
    value = below + apart * (place - low) if place - low < 0.5 else above - apart * (low + 1 - place)
    value = f.where(reductions.any(is_nan(array), along, keepdims=True), np.nan, value)
    if not keepdims:
        return value[at_axis(along, 0)]
    return value[(None,) * (a.ndim - 1)] if axis is None else value


def _nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return reductions.mean(a, axis, keepdims=keepdims, where=f.logical_not(is_nan(a)))


def _nanvar(a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
    away = f.where(is_nan(a), 0, a - _nanmean(a, axis, keepdims=True))
    number = reductions.sum(f.logical_not(is_nan(a)), axis, keepdims=keepdims) - ddof
    squares = reductions.sum(away * away, axis, keepdims=keepdims)
    return f.where(number > 0, squares / number.astype(squares.dtype), np.nan)


_FUNCTIONS: Mapping[Callable[..., Any], Callable[..., Any]] = {
    np.flipud: lambda m: flip(m, 0),
    np.fliplr: lambda m: flip(m, 1),
    np.rot90: _rot90,
    np.isin: lambda element, test_elements, *, invert=False: f.logical_xor(
        reductions.any(operand(element)[..., None] == ravel(operand(test_elements)), -1), invert
    ),
    np.searchsorted: _searchsorted,
    np.tensordot: _tensordot,
    np.quantile: _quantile,
    np.percentile: lambda a, q, axis=None, *, keepdims=False: _quantile(
        a, np.true_divide(q, 100), axis, keepdims=keepdims
    ),
    np.nanmean: _nanmean,
    np.nanprod: lambda a, axis=None: reductions.prod(a, axis, where=f.logical_not(is_nan(a))),
    np.nancumsum: lambda a, axis=None: running.cumsum(f.where(is_nan(a), 0, a), axis),
    np.nanvar: _nanvar,
    np.nanstd: lambda a, axis=None, *, ddof=0, keepdims=False: f.sqrt(
        _nanvar(a, axis, ddof=ddof, keepdims=keepdims)
    ),
}
for _numpy, _function in _FUNCTIONS.items():
    numpy_function(_numpy, role="whole arrays", public=False)(_function)
numpy_function(np.take, method="take", role="new array", public=False)(_take)

"""The operators on the values at points: arrays of scalars, or lists of tiles."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.graph.points import Numbers
from cyclotron.language.functions import linalg
from cyclotron.language.values.operators import OPERATORS

Operand = NDArray[Any] | list[Any]
_ADD: Mapping[str, Callable[..., Any]] = {
    "sum": np.add,
    "difference": np.subtract,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "first_max": OPERATORS["first_maximum"].numpy,
    "first_min": OPERATORS["first_minimum"].numpy,
}


_FAILS: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("divide", "floor_divide", "remainder"), lambda a, b: np.equal(b, 0)),
    "sqrt": lambda a: np.less(a, 0),
    "log": lambda a: np.less_equal(a, 0),
    "normalize_index": lambda index, size: np.less(index, 0),
}
"""The numbers for which checked operators have no result: Python's, and the starts of ranges."""


def applied(op: str, operands: Sequence[Operand], flags: Sequence[str]) -> Operand:
    """An operator at each point.

    Raises
    ------
    ValueError
        If it is checked, and has no result for some.
    """
    if not any(isinstance(operand, list) for operand in operands):
        if "checked" in flags and np.any(_FAILS[op](*operands)):
            raise ValueError(f"`{op}` is not defined for such a number")
        result: NDArray[Any] = np.asarray(OPERATORS[op].numpy(*operands))
        return result
    function = _TILES.get(op)
    if function is None:
        return [np.asarray(OPERATORS[op].numpy(*parts)) for parts in zip(*operands, strict=True)]
    return [np.asarray(function(set(flags), *parts)) for parts in zip(*operands, strict=True)]


def folded(kind: str, terms: Operand, parents: Numbers, count: int, onset: Operand | None = None) -> Operand:
    """The terms of each point around, folded in their order onto the onset, or onto the first one."""
    function = _ADD[kind]
    many = np.bincount(parents, minlength=count)
    first = np.cumsum(many) - many
    if isinstance(terms, list):
        empty = int(kind == "prod")
        starts = [[]] * count if onset is None else [[one] for one in onset]
        return [
            functools.reduce(function, [*start, *terms[a : a + n]] or [empty])
            for start, a, n in zip(starts, first, many, strict=True)
        ]
    if onset is not None:
        total = np.array(onset, terms.dtype)
        for k in range(int(many.max(initial=0))):
            longer = many > k
            total[longer] = function(total[longer], terms[first[longer] + k])
        return total
    if isinstance(function, np.ufunc) and count and (many == many[0]).all() and many[0]:
        rows = terms.reshape(count, many[0])
        result: NDArray[Any] = function.accumulate(rows, axis=1, dtype=terms.dtype)[:, -1]
        return result
    total = np.full(count, kind == "prod", terms.dtype)
    total[many > 0] = terms[first[many > 0]]
    for k in range(1, int(many.max(initial=0))):
        longer = many > k
        total[longer] = function(total[longer], terms[first[longer] + k])
    return total


def chosen(values: Sequence[Operand], parents: Sequence[Numbers], count: int) -> Operand:
    """At each point the value of the branch that has it."""
    branches = [(v, at) for v, at in zip(values, parents, strict=True) if len(at)]
    if any(isinstance(value, list) for value, _ in branches):
        found = {int(p): one for value, at in branches for p, one in zip(at, value, strict=True)}
        return [found[p] for p in range(count)]
    dtype = np.result_type(*(np.asarray(value).dtype for value in values))
    result = np.empty(count, dtype)
    for value, at in branches:
        result[at] = value
    return result


def _matmul(flags: set[str], a: Any, b: Any) -> Any:
    return (a.T if "transpose_a" in flags else a) @ (b.T if "transpose_b" in flags else b)


def _solve(flags: set[str], a: Any, b: Any) -> Any:
    return linalg.solve_triangular(
        a,
        b,
        side="right" if "right_side" in flags else "left",
        lower="lower" in flags,
        trans="transpose_a" in flags,
        unit_diagonal="unit_diagonal" in flags,
    )


def _correlate_add(_: set[str], total: Any, a: Any, b: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(a, (0, sum(total.shape + b.shape))), b.shape)
    return total + np.tensordot(windows[: total.shape[0], : total.shape[1]], b)


def _along(function: Callable[..., Any], axis: int) -> Callable[..., Any]:
    return lambda flags, a: function(a, axis=axis, keepdims=True)


# What is another function on tiles than on scalars.
_TILES: Mapping[str, Callable[..., Any]] = {
    "matmul": _matmul,
    "syrk": lambda flags, a: a @ a.T,
    "solve_triangular": _solve,
    "inv_triangular": lambda flags, a: linalg.inv_triangular(
        a, lower="lower" in flags, unit_diagonal="unit_diagonal" in flags
    ),
    "cholesky": lambda flags, a: linalg.cholesky(a),
    "lu": lambda flags, a: linalg.lu(a),
    "ldl": lambda flags, a: linalg.ldl(a),
    "join": lambda flags, a, b: np.concatenate((a, b), axis=int("right_side" in flags)),
    "correlate_add": _correlate_add,
    **{f"row_{name}": _along(getattr(np, name), -1) for name in ("sum", "max", "min")},
    **{f"column_{name}": _along(getattr(np, name), 0) for name in ("sum", "max", "min")},
}

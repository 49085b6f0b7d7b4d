"""Convolutions and polynomials of vectors, which kernels have under NumPy's names alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.values import dispatch
from cyclotron.language.values.affine import Affine, Constraint
from cyclotron.language.values.array import LazyArray, SymbolicArray, materialized, operand
from cyclotron.language.values.broadcasting import box, text, whole_numbers
from cyclotron.language.values.nodes import Element, FoldIndex, Reduce
from cyclotron.language.values.operations import apply
from cyclotron.language.values.scalar_type import promote, sum_dtype
from cyclotron.language.values.scalars import converted
from cyclotron.language.values.source_span import here

_MODES = ("full", "same", "valid")


@numpy_function(np.convolve, role="whole arrays", public=False)
def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    if mode not in _MODES:
        raise unfit(f"`convolve` has the mode {mode!r}", f"use one of {', '.join(_MODES)}")
    long, short = _vector(a), _vector(v)
    (n,), (m,) = (whole_numbers(one.shape, "a vector") for one in (long, short))
    if m > n:
        long, short, n, m = short, long, m, n
    if not m:
        raise unfit("`convolve` has a vector without elements", "give vectors of at least one element")
    dtype = promote("multiply", long.type, short.type)[1].dtype
    wide, span = sum_dtype(dtype), here()
    size, start = {"full": (n + m - 1, 0), "same": (n, (m - 1) // 2), "valid": (n - m + 1, m - 1)}[mode]

    def element_at(index: Sequence[Affine]) -> Element:
        k = FoldIndex("fold", span)
        form = Affine({k: 1}, 0)
        place = index[0].plus(Affine({k: -1}, start))
        inside = (Constraint(place), Constraint(place.times(-1).plus(Affine({}, n - 1))))
        term = apply("multiply", converted(long.at((place,)), wide), converted(short.at((form,)), wide))
        return Reduce("sum", k, ((*box([(k, m)]), *inside),), term, span)

    made = LazyArray((size,), wide, element_at, (long, short), costly=True, label="convolution")
    return made if wide == dtype else made.astype(dtype)


@numpy_function(np.correlate, role="whole arrays", public=False)
def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    long, short = _vector(a), _vector(v)
    if whole_numbers(short.shape, "a vector") > whole_numbers(long.shape, "a vector"):
        return dispatch.apply("conj", _correlate(v, a, mode))[::-1]
    return _convolve(long, dispatch.apply("conj", short)[::-1], mode)


def _vector(value: Any) -> SymbolicArray:
    whole = operand(value)
    if whole.ndim > 1:
        raise unfit(f"`convolve` has an array of shape {text(whole.shape)}", "give vectors")
    whole = whole if whole.ndim else whole[None]
    return materialized(whole) if whole.costly else whole


@numpy_function(np.polyval, role="whole arrays", public=False)
def _polyval(p: Any, x: Any) -> Any:
    factors, at = operand(p), operand(x)
    if factors.ndim != 1:
        raise unfit(f"`polyval` has coefficients of shape {text(factors.shape)}", "give a vector of them")
    result: Any = np.dtype(at.dtype_name).type(0)
    for k in range(len(factors)):
        result = result * at + factors.at((Affine({}, k),))
    return result

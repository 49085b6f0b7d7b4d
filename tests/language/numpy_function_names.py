"""Functions of NumPy that its introductions do not have, one expression each, not chosen by what works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

VECTORS = {
    "x": np.array([0.5, -2.5, 1.0, 3.5]),
    "y": np.array([1.0, 2, 4, 3]),
    "z": np.array([1.0, np.nan, 3, 2]),
    "n": np.array([2, 0, 3, 1]),
    "t": np.array([True, False, True, True]),
    "A": np.arange(16.0).reshape(4, 4)[::-1] + 1,
    "edges": np.array([0.0, 1, 2, 4]),
}
ROUNDED = """np.trunc(x)  np.rint(x)  np.fix(x)  np.around(x, 1)  np.fmod(x, y)  np.fabs(x)  np.modf(x)[0]
np.exp2(x)  np.fmax(x, z)  np.fmin(x, z)  np.copysign(x, y)  np.signbit(x)  np.sinc(x)
np.heaviside(x, 0.5)  np.positive(x)  np.deg2rad(x)  np.rad2deg(x)  np.logaddexp(x, y)
np.float_power(x, 2)  np.gcd(n, 2)  np.ldexp(x, n)  np.arcsin(x / 4)  np.arccos(x / 4)
np.arcsinh(x)  np.arccosh(y)  np.arctanh(x / 4)  np.nan_to_num(z)  np.divmod(x, y)[1]
np.isposinf(x)  np.isreal(x)  np.nextafter(x, y)  np.angle(x)  np.bitwise_count(n)"""
FOLDED = """np.sum(x, where=t)  np.sum(x, initial=2.0)  np.max(A, axis=0, where=A > 2, initial=0)
np.mean(A, axis=1, where=t)  np.any(x > 1, where=t)  x.min(initial=-9.0)  np.add.reduce(A)
np.multiply.reduce(A, axis=1)  np.maximum.reduce(x)  np.logical_and.reduce(t)
np.add.accumulate(A)  np.maximum.accumulate(x)  np.subtract.outer(x, y)
np.add.reduceat(x, [0, 2])  np.cumprod(A, axis=1)  np.ptp(A, axis=0)  np.average(x, weights=y)
np.count_nonzero(A > 3, axis=0)  np.amax(A, axis=0)  np.amin(x)  np.median(A, axis=0)
np.quantile(A, [0.1, 0.5], axis=1)  np.percentile(x, 30)  np.nansum(z)  np.nanmean(z)
np.nanprod(z)  np.nanvar(z)  np.nanstd(z, ddof=1)  np.nancumsum(z)  np.nanmedian(z)
np.nanargmax(z)  np.gradient(x)  np.trapezoid(x)  np.interp(x, edges, y)  np.cumulative_sum(x)"""
PLACES = """np.fliplr(A)  np.flipud(A)  np.rot90(A)  np.rot90(A, k=-1)  np.take(A, n, axis=1)  x.take(n)
np.where(x > 1)  np.isin(n, [0, 1])  np.searchsorted(edges, x)
np.searchsorted(edges, y, side="right")  np.digitize(x, edges)  np.bincount(n)
np.histogram(x, bins=4, range=(0, 4))[0]  np.unique(n)  np.nonzero(x)
np.select([x > 1, x > 0], [x, y])  np.choose(n, [x, y, x, y])
np.piecewise(x, [x > 1], [0, 1])  np.convolve(x, y)  np.convolve(x, y[:2], "valid")
np.correlate(x, y[:2])  np.correlate(x, y, "full")  np.polyval(x, y)
np.tensordot(A, A, axes=1)  np.tensordot(A, A, axes=([0], [1]))  np.tri(4)  np.diagflat(x)
A[np.triu_indices(4)]  np.broadcast_arrays(x, A)[0]  np.matrix_transpose(A)  np.vecdot(x, y)
np.vander(x, 3)  np.ediff1d(x)  np.hanning(4) * x  np.geomspace(1, 8, 4) * x
x.astype(np.single)  np.issubdtype(x.dtype, np.floating)"""

FUNCTIONS: Sequence[tuple[Mapping[str, Any], Sequence[str]]] = [
    (VECTORS, [text for line in part.splitlines() for text in line.split("  ")])
    for part in (ROUNDED, FOLDED, PLACES)
]

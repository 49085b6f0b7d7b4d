"""Functions and operators whose dtypes, signs of zeros and last bits depend on their form, against NumPy.

Each case is the body of a function of the arrays that it names: in a kernel `np` is Cyclotron.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

FLOATS = ("float64", "float32", "float16")
ARRAYS: dict[str, Any] = {
    "c": np.array([0.3 + 2j, -1.7 + 0.1j, 2.5 - 0.7j, 1j / 3]),
    "x": np.array([1.5, -0.5, 4.0, 2.25]),
    "x4": np.array([1.5, 2.0, 0.25], "float32"),
    "x2": np.array([1.5, 2.0, 8.0, 7.0], "float16"),
    "n": np.array([3, 1, 2], "int32"),
    "i8": np.array([3, -1], "int8"),
    "u8": np.array([3, 200], "uint8"),
    "t": np.array([True, False, True]),
    "z": np.array([1.5 - 2j, 0.1 + 0.7j, -3.3 + 0.2j, -0.9 - 7j, 2j / 3], "complex64"),
    "d": np.array([2.675, -0.04, 1.25, 0.35, -0.0, np.inf, np.nan, 123.456, -0.05, 2.5, 25.0, 35.0, 1e22]),
    "r": np.array([-np.inf, -0.0, 4.0]),
    "r4": np.array([-np.inf, -0.0, 4.0], "float32"),
    "r2": np.array([-np.inf, -0.0, 4.0], "float16"),
    "A": np.array([[1.0, -2.0, 0.5], [4.0, 0.0, 3.0]]),
    "large": np.full(8, 20000, "float16"),
    "small": np.full(2, 1e-4, "float16"),
    "half": np.array(0.5),
    "half4": np.float32(0.5),
}


def function(tmp_path: Path, body: str, module: str) -> Callable[..., Any]:
    """The function with a body, in a module where `np` is NumPy or Cyclotron."""
    names = [name for name in ARRAYS if re.search(rf"\b{name}\b", body)]
    lines = [line.strip() for line in body.split(";")]
    last = lines[-1] if lines[-1].startswith("return ") else f"return {lines[-1]}"
    text = f"def f({', '.join(names)}):\n    " + "\n    ".join([*lines[:-1], last]) + "\n"
    path = tmp_path / f"of_{module}.py"
    path.write_text(text)
    scope: dict[str, Any] = {"np": np if module == "numpy" else cy, "numpy": np}
    exec(compile(text, str(path), "exec"), scope)
    found = scope["f"] if module == "numpy" else cy.kernel(scope["f"])
    return lambda: found(*(np.copy(ARRAYS[name])[()] for name in names))


def bits(values: Any) -> list[tuple[Any, ...]]:
    """Dtypes, shapes and elements, in which NaN are equal and zeros of two signs are not."""
    arrays = map(np.asarray, values if isinstance(values, tuple | list) else (values,))
    return [(one.dtype.name, one.shape, repr(one.tolist())) for one in arrays]


def check(tmp_path: Path, body: str) -> None:
    """Compare a kernel with NumPy, bit for bit."""
    with np.errstate(all="ignore"):
        expected = function(tmp_path, body, "numpy")()
        assert bits(function(tmp_path, body, "cyclotron")()) == bits(expected)


def check_refused(tmp_path: Path, body: str, code: str) -> None:
    """Check that a kernel is refused by a code, at its line."""
    with pytest.raises(cy.CyclotronError, match=r"of_cyclotron\.py:\d") as error:
        function(tmp_path, body, "cyclotron")()
    assert error.value.code == code


POWERS = [
    "r**0.5, r ** numpy.sqrt(0.25), r ** numpy.float64(0.5), r**half, r ** numpy.array([0.5])",
    "r**half4, r ** numpy.float16(0.5), r ** numpy.array(0.5, 'float32')",
    "r[:, None] ** numpy.array([0.5]), r[:, None] ** numpy.array([0.5, 0.5]), r[1:2] ** numpy.array([0.5])",
    "np.power(r, 0.5), np.power(r, numpy.float64(0.5)), np.power(r, half), np.power(r[1], 0.5), r[1] ** 0.5",
    "y = r.copy(); y **= 0.5; u = r.copy(); u **= half; v = r.copy(); v **= numpy.array([0.5]); y, u, v",
    "x ** numpy.float64(2), x ** numpy.array([-1.0]), np.power(x, 1.0), np.power(x, -1)",
]


@pytest.mark.parametrize("width", ["", "4", "2"])
@pytest.mark.parametrize("body", POWERS)
def test_powers_by_known_numbers(tmp_path, body, width):
    check(tmp_path, re.sub(r"\b([rx])\b", rf"\g<1>{width}", body))


FULL = [
    "np.full(2, numpy.int8(3)), np.full((2, 2), n.sum()), np.full(2, True), np.full(2, n[0] > 1)",
    "np.full(2, numpy.array(3, 'float32')), np.full(2, numpy.complex64(1j)), np.full(2, x[0])",
    "np.full((2, 4), x), np.full((2, 3), n)",
    "np.full(2, np.sum(x4 > 1)), np.full(2, x4[0] * 1j), np.full((2, 2), x4[0])",
    "np.full(3, x[0] * 1j), np.full(2, n[1]), np.full(2, z[0])",
    "y = np.full(3, n[0]); y[1] = 2.5; y",
]


@pytest.mark.parametrize("body", FULL)
def test_full_of_values_that_have_a_dtype(tmp_path, body):
    check(tmp_path, body)


def test_full_of_numbers_of_python_has_the_dtype_of_the_inputs(tmp_path):
    body = "np.full(2, 7), np.full(2, 1.5), np.full(2, len(x4)), np.full(2, 2**24), x4"
    expected = [np.full(2, value, "float32") for value in (7, 1.5, 3, 2**24)]
    assert bits(function(tmp_path, body, "cyclotron")())[:-1] == bits(expected)


@pytest.mark.parametrize(
    "body", ["x + np.full(4, 2**53 + 1)", "x4, np.full(4, 2**24 + 1)", "x2, np.full(4, 70000)"]
)
def test_full_of_whole_numbers_that_the_dtype_rounds(tmp_path, body):
    check_refused(tmp_path, body, "CYC120")


SAME = [
    *(
        f"w = d.astype('{dtype}'); np.round(w, {n}), w.round({n}), numpy.around(w, {n}), np.round(w[0], {n})"
        for dtype in FLOATS
        for n in (0, 1, 2, 3, -1)
    ),
    "np.round(n, 0), n.round(2), np.round(u8, decimals=1), np.round(t), np.round(t, 0), d.round(decimals=0)",
    *(
        f"np.reciprocal({z}), {z}**-1, {z}**-1.0, np.power({z}, -1), {z}**0.5, np.reciprocal({z}[0])"
        for z in "cz"
    ),
    "y = i8.copy(); y[i8 > 2] = numpy.int64(300); u = n.copy(); u[n > 1] = 2.5; y, u",
    "y = i8.copy(); y[n[:1] - 3] = numpy.int64(300); u = n.copy(); u[n - 1] = 2.5; y, u",
    "np.pad(u8, 1, constant_values=-1), np.pad(n, 1, constant_values=2.5), np.pad(t, 1, constant_values=300)",
    "np.cov(A, ddof=1.0), np.tile(x, numpy.int64(2)), x[0] + np.eye(numpy.int64(2), 3, 1)",
    "np.r_[x, 1], np.r_[1, x, 2], np.r_[x, 1.5], np.r_[x, 1j]",
    "np.r_[x4, 1], np.r_[1, x4, 2], np.r_[x4, 1.5], np.r_[x4, 1j], np.r_[x4, x4[0], 2]",
    "np.r_[i8, 1], np.r_[i8, 1.5], np.r_[i8, u8], np.r_[i8, True], np.r_[i8, numpy.int64(3)], np.r_[n, 1]",
    "np.r_[x4, 0:3], np.r_[i8, 0:3], np.r_[x4, [1, 2]], np.c_[x4, x4]",
    "np.outer(half, half), np.outer(half4, 2), np.outer(x.sum(), n.sum()), np.outer(half, n)",
    *(
        f"np.linalg.norm({name}), np.linalg.norm({name}, axis=0), np.linalg.norm({name}, 2),"
        f" np.linalg.norm({name}[None], axis=1), np.linalg.norm({name}[None]), np.linalg.norm({name}, 1)"
        for name in ("x2", "large", "small", "x4", "n")
    ),
    *(
        f"c, e = np.histogram({name}{range}); d, u = np.histogram({name}, 7, density=True); c, e, d, u"
        for name in ("x", "x4", "x2", "n", "u8")
        for range in (", 3", ", 3, range=(0, 4)")
    ),
    "np.histogram(x4[:1], 3)[1], np.histogram(x2[:1], 3, range=(2, 2))[1]",
    "np.histogram(x4, 3, range=(numpy.float64(0.1), 2.2))[1], np.histogram(x4, 3, range=(x4[0], x4[1]))[1]",
]


OPTIONS = [
    *(
        f"np.floor({x}), np.ceil({x}), np.floor({x}[0]), np.ceil({x}[:1])"
        for x in ("n", "i8", "u8", "t", "x2")
    ),
    "np.sort(n, kind='stable'), np.argsort(n, kind='stable'), n.argsort(kind='stable')",
    "y = n.copy(); y.sort(kind='stable'); y",
    "np.einsum('ij,j->i', A, A[0], optimize=True)",
    "np.concatenate([A, x, n], axis=None)",
    "np.diff(x, prepend=0), np.diff(x, append=x[:1]), np.diff(A, axis=0, prepend=1), np.diff(x, 2, append=5)",
    "np.diff(n, prepend=0, append=[1, 2]), np.diff(x4, append=0), np.diff(t, append=True)",
    *(
        f"np.pad(x, 2, mode='{mode}'), np.pad(x, 9, '{mode}'), np.pad(A, ((1, 1), (2, 0)), '{mode}'),"
        f" np.pad(x[:1], 2, '{mode}'), np.pad(x, 0, '{mode}')"
        for mode in ("edge", "wrap", "reflect", "symmetric")
    ),
    "x.astype('float32', copy=False), x.astype(float, copy=False), x[0].astype('float32', copy=False)",
    "x.sum(0, 'float32'), A.prod(1, numpy.float32), x.sum(None, None, None), x.max(0, None)",
    "np.std(n, dtype='float64'), x4.std(dtype='float64'), x4.var(0, 'float64'), i8.std(0, 'float32')",
    "numpy.exp(x, out=None), numpy.add(x, x, out=None, where=True), numpy.clip(x, 0, 1, out=None)",
    "np.isclose(d, d, equal_nan=True), np.allclose(d, d, equal_nan=True), np.array_equal(d, d, True)",
    "np.isclose(n, n, equal_nan=True), np.isclose(d, numpy.nan, equal_nan=True), np.isclose(d, d)",
    "np.clip(u8, -10, 300), np.clip(i8, -10, 300), np.clip(u8, 5, 300), u8.clip(-1), np.clip(n, -(2**40), 2)",
]


FUNCTIONS = [
    *(
        f"w = {w}; {body}"
        for w in ("d", "d.astype('float32')", "d.astype('float16')", "n", "i8", "u8", "t")
        for body in (
            "numpy.trunc(w), numpy.fix(w), numpy.trunc(w[0])",
            "numpy.signbit(w), numpy.copysign(w, -1), numpy.copysign(w[0], w), numpy.copysign(-2.5, w)",
            "numpy.fmax(w, 1), numpy.fmin(w, w[::-1]), numpy.fmax(w[0], numpy.nan), numpy.fmin(2.5, w)",
            "numpy.fmod(w, 2), numpy.fmod(w, w[1]), numpy.fmod(7, w), numpy.fmod(w[0], 2)",
            "numpy.nan_to_num(w), numpy.nan_to_num(w, nan=1, posinf=5.5, neginf=-3)",
            "numpy.logaddexp(w, 1.0), numpy.logaddexp(w, w)",
            "w.cumprod(), numpy.cumprod(w[::-1])",
            "q, r = divmod(w, 3); s, u = numpy.divmod(w, 3); v, o = divmod(w[0], 3);"
            " a, b = divmod(7, w[0] + 9); q, r, s, u, v, o, a, b",
        )
    ),
    "numpy.cumprod(A, axis=0), A.cumprod(1), numpy.cumprod(A), numpy.cumprod(A, axis=0, dtype='float32')",
    *(
        f"numpy.select([{w} > 1, {w} < 0], [{w}, 2 * {w}]), numpy.select([{w} > 1], [{w}[0]], 1),"
        f" numpy.select([{w} > 1, {w} < 0], [1, 2.5]), numpy.select([{w} > 1, True], [{w}, 1], 2.5)"
        for w in ("x", "x4", "n")
    ),
    *(
        f"numpy.convolve(x, A[1] + 1, '{mode}'), numpy.convolve([1, 2, 3], n, mode='{mode}'),"
        f" numpy.convolve(x2, n, '{mode}'), numpy.convolve(n, 2, '{mode}'), numpy.convolve(t, t, '{mode}')"
        for mode in ("full", "same", "valid")
    ),
    "numpy.convolve(n, numpy.array([numpy.inf, 1]))",
    "numpy.polyval([1, 2, 3], x), numpy.polyval(x, 2.0), numpy.polyval(n, A), numpy.polyval([1, 2], i8)",
    "numpy.polyval(x4, x4), numpy.polyval(x4, 2)",
]


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("w", ["i8", "u8", "n", "n.astype('uint64')", "n.astype('int64')"])
def test_comparisons_with_numbers_of_any_size(tmp_path, w, sign):
    numbers = (-1, -(2**70), 2**63, 2**64, 300)
    parts = [f"w {sign} {c}, {c} {sign} w, w[0] {sign} {c}, {c} {sign} w[1]" for c in numbers]
    check(tmp_path, f"w = {w}; {', '.join(parts)}")


@pytest.mark.parametrize("body", [*SAME, *OPTIONS, *FUNCTIONS])
def test_as_numpy(tmp_path, body):
    check(tmp_path, body)


REFUSED = {
    "np.r_[300, i8]": "CYC120",
    "np.r_['0,2', x]": "CYC122",
    "np.r_['a', x]": "CYC122",
    "np.c_['a', x]": "CYC122",
    "x[0] + np.mgrid['a']": "CYC122",
    "x[0] + np.ogrid[3]": "CYC122",
    "y = n.copy(); y[n > 2] = numpy.nan; y": "CYC120",
    "y = i8.copy(); y[i8 > 2] = 300; y": "CYC120",
    "y = i8.copy(); y[i8 > 2] = 300.5; y": "CYC120",
    "y = u8.copy(); y[u8 > 2] = -1; y": "CYC120",
    "y = i8.copy(); y[n[:1] - 3] = 300; y": "CYC120",
    "y = i8.copy(); y[n[:2] % 2] = [300, 1]; y": "CYC120",
    "y = u8.copy(); y[n[:1] - 3] = -1; y": "CYC120",
    "y = n.copy(); y[n % 3] = numpy.nan; y": "CYC120",
    "y = n.copy(); y[n[0] - 3] = numpy.inf; y": "CYC120",
    "y = i8.copy(); y[[0, 1]] = [300, 1]; y": "CYC120",
    "y = i8.copy(); np.put_along_axis(y, n[:1] - 3, 300, 0); y": "CYC120",
    "np.pad(i8, 1, constant_values=300)": "CYC120",
    "np.pad(i8, 1, constant_values=(1, numpy.int64(300)))": "CYC120",
    "np.pad(n, 1, constant_values=numpy.nan)": "CYC120",
    "np.pad(u8, 1, constant_values=numpy.nan)": "CYC120",
    "x[0] + np.eye(2.5)": "CYC122",
    "x[0] + np.eye(2, 2.5)": "CYC122",
    "x[0] + np.eye(2, k=0.5)": "CYC122",
    "x[0] + np.eye(-1)": "CYC122",
    "x[0] + np.identity(2.5)": "CYC122",
    "np.diag(x, 0.5)": "CYC122",
    "np.tile(x, 1.5)": "CYC122",
    "np.tile(x, (2, 1.5))": "CYC122",
    "np.tile(x, -1)": "CYC122",
    "x[0] + np.linspace(0, 1, 2.5)": "CYC122",
    "x[0] + np.indices((2.5,))": "CYC122",
    "np.broadcast_to(x, (2.0, 4))": "CYC122",
    "np.histogram(x, 2.5)[0]": "CYC122",
    "np.cov(A, ddof=0.5)": "CYC122",
    "np.round(n, -1)": "CYC122",
    "np.round(t, 1)": "CYC122",
    "np.round(z, 1)": "CYC122",
    "np.round(x, 1.5)": "CYC122",
    "np.pad(x[:0], 1, 'edge')": "CYC122",
    "np.pad(x, 1, 'mean')": "CYC122",
    "x.std(dtype='float32')": "CYC120",
    "x.sum(dtype='float32', out=x)": "CYC105",
    "np.clip(u8, 300, 400)": "CYC120",
    "numpy.convolve(n, n[:0])": "CYC122",
    "numpy.convolve(n, n, 'some')": "CYC122",
    "numpy.convolve(A, x)": "CYC122",
    "numpy.polyval(A, x)": "CYC122",
    "numpy.select([x > 1], [x, x])": "CYC122",
    "numpy.fmod(z, 2)": "CYC121",
    "numpy.nan_to_num(z)": "CYC121",
}


@pytest.mark.parametrize(("body", "code"), REFUSED.items())
def test_refused(tmp_path, body, code):
    check_refused(tmp_path, body, code)


@cy.kernel
def length(x):
    return cy.norm(x)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "float16", "int8"])
def test_lengths_are_real(dtype):
    x = np.array([1, 2, 2]).astype(dtype)
    assert length(x).dtype == np.linalg.norm(x).dtype

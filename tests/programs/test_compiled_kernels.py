"""Kernels in the machine's own code: functions, elements that data tell, narrow numbers, ends of loops.

Each has the interpreter's bits, and NumPy's or plain Python's numbers.
"""

from __future__ import annotations

import math
import shutil
import warnings

import numpy as np
import pytest
from test_compiled_loops import COMPILER, arrays_for, compiled, run
from test_refusals_of_files import edited

import cyclotron as cy
from cyclotron import _core
from cyclotron.runtime.backend import arrays_of, empty_outputs

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler here")
RNG = np.random.default_rng(13)


@cy.kernel
def softmax(A):
    m, n = A.shape
    Y = cy.empty_like(A)
    for i in range(m):
        top = A[i, 0]
        for j in range(1, n):
            top = max(top, A[i, j])
        total = 0.0
        for j in range(n):
            Y[i, j] = cy.exp(A[i, j] - top)
            total += Y[i, j]
        for j in range(n):
            Y[i, j] = Y[i, j] / total
    return Y


@cy.kernel
def options(S, K, t, r, v):
    C = cy.empty_like(S)
    for i in range(S.shape[0]):
        d1 = (cy.log(S[i] / K[i]) + (r + 0.5 * v * v) * t[i]) / (v * cy.sqrt(t[i]))
        d2 = d1 - v * cy.sqrt(t[i])
        n1 = 0.5 * (1 + cy.tanh(0.7978845608 * (d1 + 0.044715 * d1 * d1 * d1)))
        n2 = 0.5 * (1 + cy.tanh(0.7978845608 * (d2 + 0.044715 * d2 * d2 * d2)))
        C[i] = S[i] * n1 - K[i] * cy.exp(-r * t[i]) * n2
    return C


@cy.kernel
def nearest(X, M):
    n, d = X.shape
    label = cy.zeros(n, dtype=cy.int64)
    for i in range(n):
        best = cy.inf
        where = 0
        for c in range(M.shape[0]):
            distance = 0.0
            for j in range(d):
                distance += (X[i, j] - M[c, j]) * (X[i, j] - M[c, j])
            if distance < best:
                best = distance
                where = c
        label[i] = where
    return label


@cy.kernel
def sums_by_label(X, label, k):
    n, d = X.shape
    S = cy.zeros((k, d))
    N = cy.zeros(k)
    for i in range(n):
        N[label[i]] += 1
        for j in range(d):
            S[label[i], j] += X[i, j]
    return S, N


@cy.kernel
def ell_product(V, J, x):
    n, w = V.shape
    y = cy.zeros(n)
    for i in range(n):
        for p in range(w):
            y[i] += V[i, p] * x[J[i, p]]
    return y


@cy.kernel
def local_alignment(a, b, match, mismatch, gap):
    n, m = a.shape[0], b.shape[0]
    H = cy.zeros((n + 1, m + 1), dtype=cy.int32)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = match if a[i - 1] == b[j - 1] else mismatch
            H[i, j] = max(0, H[i - 1, j - 1] + s, H[i - 1, j] - gap, H[i, j - 1] - gap)
    return H


@cy.kernel
def chains(x):
    """Elements from the one before, which is read again once they are written; and from two before."""
    n, m = x.shape
    H = cy.zeros((n, m))
    G = cy.zeros((n, m))
    for i in range(1, n):
        for j in range(2, m):
            H[i, j] = H[i - 1, j] * 0.25 + H[i, j - 1] * 0.5 + x[i, j]
            G[i, j] = H[i, j] - H[i, j - 1] + G[i, j - 2] * 0.5 - H[i - 1, j - 1]
    return H, G


@cy.kernel
def foldings(s):
    n = s.shape[0]
    N = cy.zeros((n, n), dtype=cy.int32)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best = max(N[i, j - 1], N[i + 1, j])
            if j > i + 1:
                best = max(best, N[i + 1, j - 1] + (1 if s[i] + s[j] == 3 else 0))
            for k in range(i + 1, j):
                best = max(best, N[i, k] + N[k + 1, j])
            N[i, j] = best
    return N


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(7, 5), (3, 41)], ids=str)
def test_softmax(dtype, shape):
    A = (RNG.standard_normal(shape) * 4).astype(dtype)
    e = np.exp(A.astype("float64") - A.max(axis=1, keepdims=True))
    (got,) = compiled(softmax, A)
    np.testing.assert_allclose(
        got, e / e.sum(axis=1, keepdims=True), rtol=1e-5 if dtype == "float32" else 1e-13
    )


@pytest.mark.parametrize("n", [5, 67])
def test_prices_of_options(n):
    S, K, t = RNG.random((3, n)) * [[50], [50], [2]] + [[60], [60], [0.1]]
    r, v = 0.03, 0.2

    def price(s, k, t):
        d1 = (math.log(s / k) + (r + 0.5 * v * v) * t) / (v * math.sqrt(t))
        n1, n2 = (
            0.5 * (1 + math.tanh(0.7978845608 * (d + 0.044715 * d**3))) for d in (d1, d1 - v * math.sqrt(t))
        )
        return s * n1 - k * math.exp(-r * t) * n2

    np.testing.assert_allclose(compiled(options, S, K, t, r, v)[0], list(map(price, S, K, t)), rtol=1e-12)


def test_nearest_means_and_their_sums():
    X, M = RNG.random((53, 6)), RNG.random((5, 6))
    wanted = ((X[:, None] - M[None]) ** 2).sum(axis=2).argmin(axis=1)
    (label,) = compiled(nearest, X, M)
    np.testing.assert_array_equal(label, wanted)
    label[:7] -= 5  # from the end
    S, N = compiled(sums_by_label, X, label, 5)
    for k in range(5):
        np.testing.assert_allclose(S[k], X[wanted == k].sum(axis=0), rtol=1e-12)
        assert N[k] == (wanted == k).sum()


@pytest.mark.parametrize(("n", "w", "m"), [(9, 4, 9), (37, 5, 23)])
def test_sparse_product(n, w, m):
    V, J, x = RNG.random((n, w)), RNG.integers(-m, m, (n, w)), RNG.random(m)
    np.testing.assert_allclose(compiled(ell_product, V, J, x)[0], (V * x[J]).sum(axis=1), rtol=1e-13)


def test_elements_that_data_tell_are_read_by_address_where_there_are_many():
    V, J, x = RNG.random((4000, 8)), RNG.integers(0, 500, (4000, 8)), RNG.random(500)
    program = cy.run(ell_product, V, J, x, threads=1).program
    timing = _core.simulate(program.core, [], functional=False, event_limit=0)
    assert timing["cycles"] < 10 * V.size


@pytest.mark.parametrize("where", [(20, 3), (2, 0)], ids=str)
def test_an_index_outside_is_refused_as_ever(where):
    V, J, x = RNG.random((37, 5)), RNG.integers(0, 23, (37, 5)), RNG.random(23)
    program = cy.run(ell_product, V, J, x, threads=1).program
    assert _core.compile_loops(program.core, arrays_for(program)[0], (COMPILER, "")) > 0
    J[where] = 23
    program = ell_product.compile(V, J, x, schedule=program.schedule, tile=None)
    refusals = []
    for compiler in ("", COMPILER):
        with pytest.raises(cy.ExecutionError) as refused:
            run(program, compiler)
        refusals.append(str(refused.value))
    assert "the index 23 is outside of an axis of 23" in refusals[0]
    assert refusals[0] == refusals[1]


def test_an_element_outside_of_its_slot_is_refused_as_ever():
    """Of a program from a file, whose instructions name more elements than there are."""

    def change(text):
        for one in text["classes"][0]["code"]:
            if "indexed" in one:
                one["indexed"]["upper"] = [40]
            if one.get("op") == "normalize_index":
                one["operands"][1]["real"] = 41.0

    J = RNG.integers(0, 23, (37, 5))
    J[30, 2] = 23
    given = RNG.random((37, 5)), J % 23, RNG.random(23)
    changed = cy.Program(edited(change, cy.run(ell_product, *given, threads=1).program))
    given = given[0], J, given[2]
    refusals = []
    for compiler in ("", COMPILER):
        outputs = empty_outputs(changed)
        inputs = dict(zip(("V", "J", "x"), given, strict=True))
        arrays = arrays_of(changed, inputs, outputs)
        if compiler:
            assert _core.compile_loops(changed.core, arrays, (compiler, "")) > 0
        with pytest.raises(cy.ExecutionError) as refused:
            _core.run_local(changed.core, arrays, threads=1, loops=(compiler, ""), seconds_to_look=0.0)
        refusals.append(str(refused.value))
    assert "CYC703" in refusals[0]
    assert refusals[0] == refusals[1]


@pytest.mark.parametrize(("n", "m"), [(6, 9), (40, 31)])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "int64"])
def test_alignments(n, m, dtype):
    a, b = RNG.integers(0, 4, n).astype(dtype), RNG.integers(0, 4, m).astype(dtype)
    H = np.zeros((n + 1, m + 1), int)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            s = 3 if a[i - 1] == b[j - 1] else -2
            H[i, j] = max(0, H[i - 1, j - 1] + s, H[i - 1, j] - 1, H[i, j - 1] - 1)
    np.testing.assert_array_equal(compiled(local_alignment, a, b, 3, -2, 1)[0], H)


@pytest.mark.parametrize("shape", [(5, 9), (31, 43)], ids=str)
def test_elements_that_one_iteration_hands_to_the_next(shape):
    x = RNG.random(shape)
    H, G = np.zeros(shape), np.zeros(shape)
    for i in range(1, shape[0]):
        for j in range(2, shape[1]):
            H[i, j] = H[i - 1, j] * 0.25 + H[i, j - 1] * 0.5 + x[i, j]
            G[i, j] = H[i, j] - H[i, j - 1] + G[i, j - 2] * 0.5 - H[i - 1, j - 1]
    got = compiled(chains, x)
    np.testing.assert_allclose(got[0], H, rtol=1e-14)
    np.testing.assert_allclose(got[1], G, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n", [7, 26])
def test_foldings(n):
    s = RNG.integers(0, 4, n).astype("int32")
    N = np.zeros((n + 1, n), int)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            N[i, j] = max(N[i, j - 1], N[i + 1, j], *(N[i, k] + N[k + 1, j] for k in range(i + 1, j)), 0)
            if j > i + 1:
                N[i, j] = max(N[i, j], N[i + 1, j - 1] + (s[i] + s[j] == 3))
    np.testing.assert_array_equal(compiled(foldings, s)[0], N[:n])


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@cy.kernel
def integer_arithmetic(x, y):
    n, m = x.shape[0], y.shape[0]
    z = cy.zeros((n, m, 9), dtype=x.dtype)
    for i in range(n):
        for j in range(m):
            z[i, j, 0] = x[i] + y[j]
            z[i, j, 1] = x[i] - y[j]
            z[i, j, 2] = x[i] * y[j]
            z[i, j, 3] = x[i] // y[j]
            z[i, j, 4] = x[i] % y[j]
            z[i, j, 5] = abs(x[i]) ^ y[j]
            z[i, j, 6] = -x[i] & ~y[j]
            z[i, j, 7] = max(x[i], y[j]) | min(x[i], y[j])
            z[i, j, 8] = x[i] << (y[j] & 7)
    return z


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_all_widths(dtype):
    limits = np.iinfo(dtype)
    x, y = RNG.integers(limits.min, limits.max, (2, 23), dtype, endpoint=True)
    x[:2] = limits.min, limits.max
    y[y == 0] = 3
    a, b = x[:, None], y[None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = [a + b, a - b, a * b, a // b, a % b, np.abs(a) ^ b, -a & ~b]
        wanted += [np.maximum(a, b) | np.minimum(a, b), a << (b & 7)]
        got = compiled(integer_arithmetic, x, y)[0]
    for n, array in enumerate(wanted):
        np.testing.assert_array_equal(got[..., n], np.broadcast_to(array, (23, 23)), err_msg=str(n))


@cy.kernel
def functions(x, y):
    n, m = x.shape[0], y.shape[0]
    z = cy.zeros((n, m, 12), dtype=x.dtype)
    for i in range(n):
        for j in range(m):
            z[i, j, 0] = cy.sin(x[i]) + cy.cos(y[j])
            z[i, j, 1] = cy.arctan2(x[i], y[j])
            z[i, j, 2] = cy.hypot(x[i], y[j])
            z[i, j, 3] = cy.floor(x[i]) - cy.ceil(y[j])
            z[i, j, 4] = cy.log1p(abs(x[i])) * cy.expm1(y[j])
            z[i, j, 5] = x[i] // y[j]
            z[i, j, 6] = x[i] % y[j]
            z[i, j, 7] = abs(x[i]) ** y[j]
            z[i, j, 8] = cy.sinh(x[i]) / cy.cosh(y[j])
            z[i, j, 9] = cy.sign(x[i]) * cy.cbrt(y[j])
            z[i, j, 10] = cy.arctan(x[i]) if cy.isnan(y[j]) else cy.exp(y[j])
            z[i, j, 11] = cy.log(abs(x[i])) if cy.isfinite(y[j]) else y[j]
    return z


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_of_the_library(dtype):
    x, y = (RNG.standard_normal((2, 19)) * 3).astype(dtype)
    x[:4], y[:4] = [np.nan, np.inf, -0.0, 0.0], [1, np.nan, -np.inf, np.inf]
    a, b = x[:, None].astype("float64"), y[None].astype("float64")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wanted = [np.sin(a) + np.cos(b), np.arctan2(a, b), np.hypot(a, b), np.floor(a) - np.ceil(b)]
        wanted += [np.log1p(abs(a)) * np.expm1(b), a // b, a % b, abs(a) ** b, np.sinh(a) / np.cosh(b)]
        wanted += [np.sign(a) * np.cbrt(b), np.where(np.isnan(b), np.arctan(a), np.exp(b))]
        wanted += [np.where(np.isfinite(b), np.log(abs(a)), b)]
        got = compiled(functions, x, y)[0]
    for n, array in enumerate(wanted):
        tolerance = 1e-13 if dtype == "float64" else 1e-5
        np.testing.assert_allclose(
            got[..., n], np.broadcast_to(array, (19, 19)), rtol=tolerance, atol=tolerance, err_msg=str(n)
        )


@cy.kernel
def roots(x, tolerance):
    """Newton's steps for square roots, as many as each number takes."""
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        root = x[i]
        for _ in range(7):
            root = 0.5 * (root + x[i] / root)
            if abs(root * root - x[i]) < tolerance:
                break
        y[i] = root
    return y


@pytest.mark.parametrize("n", [6, 45])
def test_loops_that_data_end(n):
    x = RNG.random(n) * 100 + 0.1  # of which some take more steps than there are
    wanted = []
    for number in x:
        root = number
        for _ in range(7):
            root = 0.5 * (root + number / root)
            if abs(root * root - number) < 1e-9:
                break
        wanted.append(root)
    np.testing.assert_allclose(compiled(roots, x, 1e-9)[0], wanted, rtol=1e-15)


@cy.kernel
def csr_product(data, column, start, x):
    y = cy.zeros(start.shape[0] - 1)
    for i in range(start.shape[0] - 1):
        for k in range(start[i], start[i + 1]):
            y[i] += data[k] * x[column[k]]
    return y


@cy.kernel
def sums_between(x, first, last, steps):
    y = cy.zeros(first.shape[0])
    for _ in range(steps):
        for i in range(first.shape[0]):
            for k in range(first[i], last[i]):
                y[i] += x[k] * y[i]
            y[i] += 1
    return y


@pytest.mark.parametrize("rows", [1, 5, 43])
def test_loops_that_numbers_bound(rows):
    """MA-130: of rows without elements, with one, and with many."""
    count = RNG.integers(0, 9, rows) * RNG.integers(0, 2, rows)
    count[0] = 5
    start = np.concatenate([[0], np.cumsum(count)])
    data, x = RNG.random(start[-1]), RNG.random(11)
    column = RNG.integers(0, 11, start[-1])
    wanted = [sum(data[k] * x[column[k]] for k in range(start[i], start[i + 1])) for i in range(rows)]
    np.testing.assert_allclose(compiled(csr_product, data, column, start, x)[0], wanted, rtol=1e-14)


def test_bounds_that_cross_and_overlap():
    n = 37
    x, first, last = RNG.random(n), RNG.integers(0, n, 29), RNG.integers(0, n + 1, 29)
    wanted = np.zeros(29)
    for _ in range(3):
        for i in range(29):
            for k in range(first[i], last[i]):
                wanted[i] += x[k] * wanted[i]
            wanted[i] += 1
    np.testing.assert_allclose(compiled(sums_between, x, first, last, 3)[0], wanted, rtol=1e-14)


def test_loops_that_numbers_bound_take_what_they_select():
    """A loop of all elements for each row would take 8 million cycles."""
    rows = 2000
    start = np.arange(rows + 1) * 2
    given = RNG.random(2 * rows), np.arange(2 * rows) % 7, start, RNG.random(7)
    program = cy.run(csr_product, *given, threads=1).program
    timing = cy.run(program, *given, backend="sim").cycles
    assert timing < 100 * start[-1]

"""NaN, zeros and the order of additions: values as NumPy and Python have them, on all backends."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import cyclotron as cy

NAN = np.nan
ORDERS = [[1.0, NAN, 2.0], [NAN, 1.0, 2.0], [1.0, 2.0, NAN], [2.0, 1.0, -0.0], [-0.0, 0.0, -1.0]]


def same(kernel: cy.Kernel, expected: Any, *arguments: Any, reference: bool = True) -> None:
    """Check values, signs of zeros and dtypes of all results on all backends."""
    expected = [np.asarray(one) for one in (expected if isinstance(expected, tuple) else (expected,))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = {
            backend: list(cy.run(kernel.compile(*arguments), backend=backend).outputs.values())
            for backend in ("sim", "local")
        }
        if reference:
            found = kernel.reference(*(one.copy() if hasattr(one, "copy") else one for one in arguments))
            runs["reference"] = list(found) if isinstance(found, tuple) else [found]
    for where, results in runs.items():
        for one, right in zip(results, expected, strict=True):
            np.testing.assert_array_equal(one, right, where)
            assert np.asarray(one).dtype == right.dtype, where
            if right.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(one)[one == 0], np.signbit(right)[right == 0], where)


@cy.kernel
def extrema(u):
    return (
        max(u[k] for k in range(3)),
        min(u[k] for k in range(3)),
        max(u[0], u[1], u[2]),
        min(u[0], u[1], u[2]),
    )


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_maxima_of_python_go_on_from_the_first(order: list[float], dtype: str) -> None:
    u = np.array(order, dtype)
    same(extrema, (max(u), min(u), max(u), min(u)), u)


@cy.kernel
def clipped(u):
    return max(u[1], 0.5), min(0.5, u[1])


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_maxima_of_python_with_numbers(order: list[float]) -> None:
    same(clipped, (max(np.float64(order[1]), 0.5), min(0.5, order[1])), np.array(order))


@cy.kernel
def extrema_of_numpy(u):
    return cy.max(u), cy.min(u), cy.maximum(u[0], u[1]), u.max(), np.minimum(u[0], u[1])


@pytest.mark.parametrize("order", ORDERS[:3], ids=str)
def test_maxima_of_numpy_are_nan_where_one_is(order: list[float]) -> None:
    u = np.array(order)
    same(extrema_of_numpy, (u.max(), u.min(), np.maximum(u[0], u[1]), u.max(), np.minimum(u[0], u[1])), u)


@cy.kernel
def largest_so_far(u, v):
    y = cy.zeros_like(u)
    for i in range(u.shape[0]):
        y[i] = max(v[i, k] for k in range(v.shape[1])) - min(u[i], *[v[i, 0], v[i, 1]])
    return y


def test_a_schedule_may_tell_who_compares() -> None:
    v = np.array([[1.0, NAN, 3.0], [NAN, 5.0, 1.0], [2.0, 3.0, NAN]])
    u = np.array([0.0, 1.0, NAN])
    expected = np.array([max(row) - min(u[i], row[0], row[1]) for i, row in enumerate(v)])
    for schedule in (None, cy.Schedule().space("i").time("k"), cy.Schedule().space("k").time("i")):
        program = largest_so_far.compile(u, v, schedule=schedule)
        for backend in ("sim", "local"):
            np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)


def test_a_comparator_takes_the_cycles_of_a_maximum() -> None:
    cycles = {}
    for given in ({"maximum": 7, "minimum": 7}, {"maximum": 1, "first_maximum": 7, "first_minimum": 7}, {}):
        machine = cy.Machine(pe=cy.PE(cycles=given))
        program = extrema.compile(np.ones(3), machine=machine)
        cycles[len(given)] = cy.run(program, backend="sim").cycles
    assert cycles[2] > cycles[0]
    assert cycles[3] > cycles[0]


@cy.kernel
def quotients(u, v):
    return u // v, u % v, 6 // v, 6 % v, v // 2


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_whole_numbers_divided_by_0(dtype: str) -> None:
    u, v = np.array([7, -7, 0, 5], dtype), np.array([0, 0, 0, -2], dtype)
    with np.errstate(all="ignore"):
        same(quotients, (u // v, u % v, 6 // v, 6 % v, v // 2), u, v)


@cy.kernel
def roots(u):
    return cy.sqrt(u), u**0.5, cy.log(u), 1 / u, u // 0.0, u % 0.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_roots_and_logarithms_of_negative_numbers(dtype: str) -> None:
    u = np.array([4.0, -1.0, 0.0, -0.0, NAN, np.inf], dtype)
    with np.errstate(all="ignore"):
        same(roots, (np.sqrt(u), u**0.5, np.log(u), 1 / u, u // 0.0, u % 0.0), u)


def test_a_singular_scalar_system_is_infinite_and_a_matrix_is_reported() -> None:
    @cy.kernel
    def forward(L, b):
        x = cy.zeros_like(b)
        for i in range(b.shape[0]):
            x[i] = (b[i] - sum(L[i, k] * x[k] for k in range(i))) / L[i, i]
        return x

    same(forward, np.array([np.inf]), np.zeros((1, 1)), np.ones(1))

    @cy.kernel
    def factor(A):
        F = cy.empty_like(A)
        F[0, 0] = cy.linalg.cholesky(A[0, 0])
        return F

    with pytest.raises(cy.ExecutionError, match="not positive definite"):
        factor(-np.ones((1, 1)))


@pytest.mark.parametrize(
    "text", ["1.0 / k", "6 // k", "6 % k", "math.sqrt(k - 1)", "math.log(k)", "1 / (k - 1)"]
)
def test_numbers_of_python_have_no_infinity(text: str) -> None:
    """Python raises; so do programs, as they do not know the index before they run."""
    names: dict[str, Any] = {"cy": cy, "math": math}
    kernel = _kernel(
        "def f(v):\n    y = cy.zeros(3)\n    for k in range(3):\n"
        f"        y[k] = v[k] + {text}\n    return y\n",
        names,
    )
    with pytest.raises((ZeroDivisionError, ValueError)):
        kernel.reference(np.ones(3))
    for backend in ("sim", "local"):
        with pytest.raises(cy.ExecutionError) as caught:
            cy.run(kernel.compile(np.ones(3)), backend=backend)
        assert caught.value.code == "CYC701"


def _kernel(text: str, names: dict[str, Any]) -> cy.Kernel:
    import linecache

    file = f"<corner {text!r}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return cy.kernel(names["f"])


def test_numbers_that_are_not_0_divide_unchecked() -> None:
    @cy.kernel
    def harmonic(v):
        y = cy.zeros(3)
        for k in range(1, 4):
            y[k - 1] = v[k - 1] + 1.0 / k + 7 // k
        return y

    assert "checked" not in str(harmonic.compile(np.ones(3)).decoded())
    same(harmonic, np.array([9.0, 4.5, 1 + 1 / 3 + 2]), np.ones(3))


def test_an_error_in_a_loop_that_never_runs_is_none() -> None:
    @cy.kernel
    def never(v):
        s = 0
        for k in range(0):
            s += 3 / 0
            v[0] = 5 // 0
        return v + s

    same(never, np.ones(2), np.ones(2))


def test_an_error_of_numbers_of_the_host_has_a_line() -> None:
    @cy.kernel
    def once(v):
        s = 0
        for k in range(2):
            s += 3 / 0
        return v + s

    with pytest.raises(cy.TraceError, match="division by zero") as caught:
        once(np.ones(2))
    assert caught.value.code == "CYC105"
    assert caught.value.span.line == once.__wrapped__.__code__.co_firstlineno + 4


@cy.kernel
def onto_the_first(v):
    y = v[0]
    for k in range(1, v.shape[0]):
        y += v[k]
    return y


@cy.kernel
def onto_a_number(v):
    y = 0.1
    for k in range(v.shape[0]):
        y -= v[k] * v[k]
    return y


@cy.kernel
def onto_elements(A, b):
    x = cy.zeros_like(b)
    for i in range(b.shape[0]):
        s = b[i]
        for k in range(i):
            s -= A[i, k] * x[k]
        x[i] = s / A[i, i]
    return x


@cy.kernel
def onto_an_array(A, b):
    D = cy.empty_like(b)
    for i in range(b.shape[0]):
        D[i] = b[i] * 3
        for k in range(A.shape[1]):
            D[i] += A[i, k]
    return D


@cy.kernel
def onto_rows(A, b):
    s = b * 1.5
    for k in range(A.shape[0]):
        s += A[k]
    return s


@cy.kernel
def onto_sums(A, b):
    y = b[0]
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            y += A[i, k]
    for k in range(b.shape[0]):
        y -= b[k]
    return y


@cy.kernel
def twice(A, b):
    x = cy.zeros_like(b)
    for i in range(b.shape[0]):
        s = b[i]
        for k in range(i):
            s -= A[i, k] * x[k]
        for k in range(i + 1, b.shape[0]):
            s += A[k, i]
        x[i] = s * s
    return x


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("seed", range(3))
def test_a_loop_adds_to_what_the_number_was(seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    A, b = (rng.standard_normal(shape).astype(dtype) for shape in ((6, 6), (6,)))
    for kernel in (onto_the_first, onto_a_number):
        same(kernel, kernel.__wrapped__(b), b)
    for kernel in (onto_elements, onto_an_array, onto_rows, onto_sums, twice):
        with np.errstate(all="ignore"):
            same(kernel, kernel.__wrapped__(A, b.copy()), A, b)


@pytest.mark.parametrize("schedule", ["i; k", "k; i", "i, k; i + k", "k; i + k"])
def test_the_order_is_the_texts_under_schedules(schedule: str) -> None:
    space, time = (part.strip() for part in schedule.split(";"))
    rng = np.random.default_rng(7)
    A, b = rng.standard_normal((5, 5)), rng.standard_normal(5)
    given = cy.Schedule().space(*space.split(", ")).time(time)
    program = onto_an_array.compile(A, b, schedule=given)
    program.verify(exhaustive=True)
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(
            cy.run(program, backend=backend).output, onto_an_array.__wrapped__(A, b)
        )


@pytest.mark.parametrize("kernel", [onto_elements, onto_an_array, twice], ids=lambda kernel: kernel.name)
def test_graphs_add_in_the_order_of_the_text(kernel: cy.Kernel) -> None:
    rng = np.random.default_rng(3)
    A, b = rng.standard_normal((5, 5)), rng.standard_normal(5)
    (found,) = kernel.graph(A, b).evaluate().values()
    np.testing.assert_array_equal(found, kernel.__wrapped__(A, b))


def test_a_tile_goes_on_from_its_value() -> None:
    @cy.kernel
    def update(A, B, C):
        D = cy.empty_like(C)
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                t = C[i, j]
                for k in range(A.shape[1]):
                    t -= A[i, k] @ B[k, j]
                D[i, j] = t
        return D

    rng = np.random.default_rng(5)
    A, B, C = (cy.blocked(rng.standard_normal((6, 6)), (2, 2)) for _ in range(3))
    program = update.compile(A, B, C)
    np.testing.assert_allclose(cy.run(program, backend="sim").output, C.array - A.array @ B.array, atol=1e-14)
    assert "matmul_subtract" in str(program.decoded())


@cy.kernel
def truths(u, b):
    y = False
    z = b[0]
    n = False
    m = b[1]
    w = False
    for k in range(3):
        y += u[k] > 0
        z += b[k]
        n += k > 1
        m += k
        w += (u[k] > 0).astype("int64")
    return y, z, n + b, m, w


def test_truth_values_of_numpy_stay_such_in_loops() -> None:
    """Those of Python count, and so does all else that is added."""
    u, b = np.array([1.0, 2.0, -1.0]), np.array([True, True, False])
    same(truths, truths.__wrapped__(u, b), u, b)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_ordered_by_their_parts(dtype: str) -> None:
    @cy.kernel
    def ordered(u, v):
        return u < v, u >= v, u <= 1, cy.maximum(u, v), max(u[0], v[0]), min(u[k] for k in range(4))

    u = np.array([1j, 2 - 1j, 2, 0], dtype)
    v = np.array([0, 2 + 1j, 2, -0.0], dtype)
    expected = u < v, u >= v, u <= 1, np.maximum(u, v), max(u[0], v[0]), min(u)
    same(ordered, expected, u, v)

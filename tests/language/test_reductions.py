"""Several reductions in one equation, nested ones, and ones with gaps or conditional terms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracle import agree

import cyclotron as cy

SPACE = cy.Schedule().space
ONE_PE = cy.Schedule()


def integers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-3, 4, shape).astype(float)


@cy.kernel
def chain(A, B, C):
    D = cy.empty((A.shape[0], C.shape[1]))
    for i in range(A.shape[0]):
        for j in range(C.shape[1]):
            D[i, j] = sum(A[i, k] @ B[k, l] @ C[l, j] for k in range(A.shape[1]) for l in range(B.shape[1]))
    return D


@cy.kernel
def quotient(A, B):
    X = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        X[i] = sum(A[i, k] for k in range(A.shape[1])) / sum(B[l, i] for l in range(B.shape[0]))
    return X


@cy.kernel
def same_name_twice(A):
    X = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        first = sum(A[i, k] for k in range(i + 1))
        X[i] = (
            first * first - math.prod(A[k, i] for k in range(A.shape[0])) + min(A[i, k] for k in range(i, 4))
        )
    return X


@cy.kernel
def centred(A):
    """The inner maximum does not depend on k: it is computed once a row."""
    X = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        X[i] = sum(A[i, k] - max(A[i, l] for l in range(A.shape[1])) for k in range(A.shape[1]))
    return X


@cy.kernel
def solve_and_sum(A):
    """The reduction of the recurrence stays in its equation; the others, two deep, get tensors."""
    n = A.shape[0]
    X = cy.empty(n)
    for i in range(n):
        known = sum(A[i, k] * X[k] for k in range(i))
        rest = sum(
            A[i, l] * min(A[m, l] - A[i, h] for m in range(l, n) for h in range(m + 1)) for l in range(n)
        )
        X[i] = A[i, i] - known + rest
    return X


@cy.kernel
def flat_extrema(A):
    """A maximum over two indices skips the values of the first for which the second has none."""
    n = A.shape[0]
    X = cy.empty(n)
    for i in range(n):
        X[i] = max(A[k, l] for k in range(n) for l in range(k)) - min(
            A[k, l] for k in range(i + 1) for l in range(i, k + 3) if l < n
        )
    return X


@cy.kernel
def banded(A, x, width):
    n = len(x)
    y = cy.empty_like(x)
    for i in range(n):
        y[i] = 1 + sum(A[i, k] * x[k] for k in range(max(0, i - width), min(n, i + width + 1)))
    return y


@cy.kernel
def without_itself(A):
    X = cy.empty(A.shape[0])
    for i in range(A.shape[0]):
        X[i] = sum(A[i, k] for k in range(A.shape[0]) if k != i)
    return X


@cy.kernel
def conditional_terms(A):
    n = A.shape[0]
    X = cy.empty(n)
    for i in range(n):
        mirrored = sum(A[i, k] if k <= i else A[k, i] for k in range(n))
        largest = max(A[i, k] if k % 2 == 0 else -A[k, k] for k in range(n))
        X[i] = mirrored + largest * math.prod(A[i, k] if i != k != 0 else 2 for k in range(n))
    return X


@cy.kernel
def residues(A):
    n = A.shape[0]
    X = cy.empty(n)
    for i in range(n):
        one_class = sum(A[i, k] for k in range(n) if k % 3 == 1) - max(A[k, i] for k in range(n) if not k % 2)
        two_classes = sum(A[i, k] for k in range(n) if k % 4 < 2)
        of_both = sum(A[k, k] for k in range(i) if (i + k) % 2)
        X[i] = one_class + two_classes + of_both + sum(A[k, i] for k in range(n) if i % 2 == 0)
    return X


@cy.kernel
def stepped(x):
    n = len(x)
    y = cy.empty_like(x)
    for i in range(n):
        down = sum(x[k] for k in range(n - 1, i, -1)) + sum(x[k] for k in range(i, -1, -2))
        y[i] = down - math.prod(x[k] for k in range(1, i, 3)) + sum(x[k] for k in range(n, n, 5))
    return y


@cy.kernel
def truths(A):
    n = A.shape[0]
    some, every = cy.empty(n), cy.empty(n)
    for i in range(n):
        some[i] = any(A[i, k] for k in range(i))
        every[i] = all(A[i, k] for k in range(i))
    return some, every


@cy.kernel
def scalars(A):
    total = cy.empty(())
    twice = cy.empty(())
    total[()] = sum(A[k, l] for k in range(A.shape[0]) for l in range(A.shape[1]))
    twice[()] = 2 * total[()] - A[0, 0]
    return total, twice


CASES = {
    "chain": (
        chain,
        (integers(3, 4), integers(4, 2), integers(2, 3)),
        [SPACE("i"), SPACE("i", "j"), SPACE("k")],
    ),
    "quotient": (quotient, (integers(3, 4), np.array([[1.0, 2.0, 4.0]] * 4)), [SPACE("i")]),
    "same name": (same_name_twice, (integers(4, 4),), [SPACE("i")]),
    "centred": (centred, (integers(3, 4),), [SPACE("i"), SPACE("k")]),
    "solve": (solve_and_sum, (integers(4, 4),), [SPACE("i")]),
    "flat": (flat_extrema, (integers(4, 4),), [SPACE("i")]),
    "banded": (banded, (integers(6, 6), integers(6), 1), [SPACE("i"), SPACE("k")]),
    "without itself": (without_itself, (integers(5, 5),), [SPACE("i"), SPACE("k")]),
    "conditional": (conditional_terms, (integers(5, 5),), [SPACE("i")]),
    "residues": (residues, (integers(7, 7),), [SPACE("i")]),
    "stepped": (stepped, (integers(8),), [SPACE("i")]),
    "truths": (truths, (integers(4, 4) > 0,), [SPACE("i"), SPACE("k")]),
    "scalars": (scalars, (integers(4, 3),), []),
}


@pytest.mark.parametrize("case", CASES)
def test_recurrences_mean_what_python_computes(case: str) -> None:
    """CY-009 CY-010 E15: the trace alone, by an evaluator that knows no pass."""
    kernel, arguments, _ = CASES[case]
    agree(kernel, *arguments)


@pytest.mark.parametrize(
    ("case", "schedule"), [(c, s) for c, (*_, more) in CASES.items() for s in [None, ONE_PE, *more]], ids=str
)
def test_programs_compute_it(case: str, schedule: cy.Schedule | None) -> None:
    """CY-006 CY-009 E15: through all stages, with the same bits on both machines."""
    kernel, arguments, _ = CASES[case]
    program = kernel.compile(*arguments, schedule=schedule)
    expected = kernel.reference(*arguments)
    for backend in ("sim", "local"):
        found = cy.run(program, backend=backend).outputs.values()
        for array, wanted in zip(
            found, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            assert array.dtype == wanted.dtype
            np.testing.assert_array_equal(array, wanted)


@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_tiles(size: int) -> None:
    """A chain of products of tiles, with smaller last tiles."""
    arguments = [cy.blocked(integers(size, size + n), (2, 2)) for n in (0, 0, 2)]
    for schedule in (None, ONE_PE, SPACE("i")):
        program = chain.compile(*arguments, schedule=schedule)
        np.testing.assert_array_equal(cy.run(program, backend="sim").output, chain.reference(*arguments))


@cy.kernel
def mirrored_product(A, B):
    """A symmetric matrix of which only the lower tiles are read, times another."""
    C = cy.empty_like(B)
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] if k <= i else A[k, i].T @ B[k, j] for k in range(A.shape[1]))
    return C


@pytest.mark.parametrize("size", [1, 2, 4, 5])
def test_conditional_tiles(size: int) -> None:
    """Terms of several cases have a tensor of tiles, with smaller last tiles."""
    A, B = integers(size, size), integers(size, 3)
    for arguments in ((A, B), (cy.blocked(A, (2, 2)), cy.blocked(B, (2, 2)))):
        for schedule in (None, ONE_PE, SPACE("i")):
            program = mirrored_product.compile(*arguments, schedule=schedule)
            expected = mirrored_product.reference(*arguments)
            for backend in ("sim", "local"):
                np.testing.assert_array_equal(cy.run(program, backend=backend).output, expected)


def test_folds_in_the_order_of_the_text() -> None:
    """Values that rounding keeps apart: each reduction is the left fold that Python does."""
    x = np.random.default_rng(1).standard_normal((9, 9)) * 10.0 ** np.arange(-8, 10, 2)
    for kernel in (quotient, without_itself, conditional_terms, residues):
        arguments = (x, x) if kernel is quotient else (x,)
        program = kernel.compile(*arguments)
        np.testing.assert_array_equal(cy.run(program, backend="sim").output, kernel.reference(*arguments))


def test_printed_as_written() -> None:
    """The tensors that the compiler adds are its own: the recurrences stay the user's."""
    text = str(centred.recurrences(integers(3, 4)))
    assert "X[i] = Σ_{0 <= k <= 3} (A[i, k] - max_{0 <= l <= 3} A[i, l])" in text
    assert "local" not in text
    line = centred.first_line + 5
    assert f"X@{line} : local float64[3]\n" in str(centred.compile(integers(3, 4)).dataflow)
    assert "some[i] = to_float64(any_{k >= 0 and k < i} A[i, k])" in str(
        truths.recurrences(integers(4, 4) > 0)
    )


def test_intermediate_language_of_two_clauses() -> None:
    """A clause is a reduction inside the one before it."""
    assert "il.sum('k', 0, A.shape[1], lambda k: il.sum('l', 0, B.shape[1], lambda l: A[i, k]" in chain.il()
    assert "il.max('l', 0, k, lambda l: A[k, l]), skip_empty=True)" in flat_extrema.il()


def test_empty_maximum_is_refused(golden_refusal) -> None:
    """Python refuses it too, where the first index has a value but the second has none."""

    @cy.kernel
    def empty(A):
        X = cy.empty(A.shape[0])
        for i in range(A.shape[0]):
            X[i] = max(A[k, l] for k in range(i + 1) for l in range(k))
        return X

    golden_refusal("empty-maximum", cy.LegalityError, "CYC205", lambda: empty.compile(integers(3, 3)))


@cy.kernel
def over_nothing(u, n):
    return sum(u for _ in range(n)), u + sum(2 * u for _ in range(1, n))


def test_a_sum_of_no_arrays_is_python_s_zero() -> None:
    u = np.array([1.5, 2], "float32")
    for one, right in zip(over_nothing(u, 0), over_nothing.reference(u, 0), strict=True):
        assert np.array_equal(one, right)
        assert one.dtype == np.asarray(right).dtype


@cy.kernel
def added_never(u):
    total = -0.0
    for _ in range(2):
        if 0:
            total += u
    return total


def test_what_is_added_never_leaves_a_number_as_it_is() -> None:
    """Its sign, and that it is a number."""
    found = added_never(np.ones(2))
    assert (np.shape(found), np.signbit(found)) == ((), True)


@cy.kernel
def sums_before(u):
    y = cy.zeros_like(u)
    for i in range(len(u)):
        y[i] = u[i] + sum(u[k] for k in range(1, len(u)))
    return y


@pytest.mark.parametrize("n", [1, 2])
def test_schedules_may_name_the_index_of_a_sum_over_nothing(n: int) -> None:
    u = np.ones(n)
    program = sums_before.compile(u, schedule=SPACE("i").time("k"))
    assert np.array_equal(cy.run(program).output, sums_before.reference(u))


@cy.kernel
def numbers_alone_in_a_case(u):
    y = cy.full((3,), 1.0)
    for i in range(3):
        total, other = -2.0, 0.0
        for k in range(2):
            total += 0 if i > 1 else u[k]
            other -= 0.5 if i > 1 else u[k]
        if total > 0:
            y[0] += 1
        if other < 0:
            y[1] += 1
    return y


def test_numbers_of_a_case_have_the_dtype_of_the_others() -> None:
    """In the condition's, truth values, -2.0 + 0 was true."""
    for u in (np.zeros(3), np.array([2.0, 3.0, -1.0])):
        assert np.array_equal(numbers_alone_in_a_case(u), numbers_alone_in_a_case.reference(u))


@cy.kernel
def times_tests(u, v):
    return u * math.prod(v[k] < 0 for k in range(len(v))), u + sum(v[k] for k in range(len(v)))


@pytest.mark.parametrize("n", [0, 2])
def test_over_nothing_tests_make_a_number_of_python(n: int) -> None:
    """That of no int64 adopts int32, which those of some do not."""
    u, v = np.array([1, 2], "int32"), np.full(n, -1, "int64")
    for one, right in zip(times_tests(u, v), times_tests.reference(u, v), strict=True):
        assert np.array_equal(one, right)
        assert one.dtype == right.dtype

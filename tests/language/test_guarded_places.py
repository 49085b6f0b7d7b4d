"""Places of data where Python looks only if a test holds; numbers that loops change under tests of them."""

import math
from collections import namedtuple
from types import FunctionType

import numpy as np
import pytest

import cyclotron as cy

A = np.array([3.0, -1, 2, 4])
N = np.array([1, 2, 1])


def by_and(a, n):
    c = 0
    r = 0.0
    for t in range(3):
        c += n[t]
        if c + 1 < 4 and a[c] < a[c + 1]:
            r += 1
    return r


def by_or(a, n):
    c = 0
    r = 0.0
    for t in range(3):
        c += n[t]
        if c >= 4 or a[c] > 1:
            r += 2
    return r


def by_a_choice(a, n):
    c = 0
    r = 0.0
    for t in range(3):
        c += n[t]
        r += a[c] if c < 4 else 7
    return r


def by_while(a, n):
    i = 0
    while i < 4 and a[i] < 100:
        i += 1
    return i + 0


def two_sorted_arrays(a, n):
    b = a + 0.5
    m = cy.zeros(8, dtype="float64")
    i = j = 0
    for k in range(8):
        if j >= 4 or (i < 4 and a[i] <= b[j]):
            m[k] = a[i]
            i += 1
        else:
            m[k] = b[j]
            j += 1
    return m


def counted_up_to(a, n):
    i = 0
    for _ in range(5):
        if i < 3:
            i += 1
    return i + n


def counted_beside_the_bound(a, n):
    stop = 2
    count = 0
    for _ in range(stop):
        stop += 1
        count += 1
    return n * stop + count


def summed_up_to(a, n):
    s = 0.0
    for k in range(4):
        if s > 4:
            continue
        s += a[k]
    return s


def summed_then_changed(a, n):
    s = 0.0
    for i in range(3):
        s = s + a[n[i]]
        a[1] = 5
    return s, a


def conditional_start(a, n):
    best = current = a[0]
    start = low = 0
    for i in range(1, 4):
        if current < 0:
            current = a[i]
            start = i
        else:
            current += a[i]
        if current > best:
            best = current
            low = start
    return best, low + n


def least_of_two_places(a, n):
    return max(1.0, min(a[n[0]], a[n[1]])) * a


def cases_beside_places(a, n):
    for k in range(3):
        a[k % 2] += a[n[k]]
        a[k % 2 + 1] = a[n[k]] * 2
    return a


def rearranged_by_lists(a, n):
    x = a[[3, 2, 1, 0]]
    x[0] = 5
    y = a[n]
    y[0:2] = 6
    return x, y, a


def kept_for_parts_and_sums(a, n):
    first = a[0]
    found = any(k > a[k] for k in range(4)) or 0
    a[0] = 1
    x = 0.0
    for i in range(4):
        x = sum(first * k for k in range(4) if i > 0)
    return x, found, a


def changed_by_another_name(a, n):
    v = cy.zeros(4, dtype="float64")
    w = a
    for i in range(3):
        if w[i] > 0:
            a[i] = -1
            v[i] = 1
        else:
            a[i] = -2
            v[i] = 2
    return a, v


def named_pair(a, n):
    p = Pair(a * 2, a + 1)
    return p.first - p.second


Pair = namedtuple("Pair", ["first", "second"])
FUNCTIONS = [
    by_and, by_or, by_a_choice, by_while, two_sorted_arrays, counted_up_to,
    counted_beside_the_bound, summed_up_to, summed_then_changed, conditional_start, least_of_two_places,
    cases_beside_places, rearranged_by_lists, kept_for_parts_and_sums, named_pair,
    changed_by_another_name,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_gives_what_python_gives(function):
    a = np.sort(A) if function is two_sorted_arrays else A
    with_numpy = FunctionType(function.__code__, {**function.__globals__, "cy": np})
    expected, found = with_numpy(a.copy(), N), cy.kernel(function)(a.copy(), N)
    expected, found = (x if isinstance(x, tuple) else (x,) for x in (expected, found))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_functions_of_math_give_pythons_floats(dtype):
    def function(u):
        return math.sqrt(u[0]), math.hypot(u[0], u[1]) * u, math.sqrt(cy.sum(u)), math.fabs(u[1])

    u = np.array([1.5, 2.25]).astype(dtype)
    expected = (math.sqrt(u[0]), math.hypot(u[0], u[1]) * u, math.sqrt(np.sum(u)), math.fabs(u[1]))
    for one, other in zip(cy.kernel(function)(u), expected, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)


@cy.kernel
def changes_one(u, v):
    u[0] = 5
    return u + v


@pytest.mark.parametrize("other", [slice(None), slice(None, None, -1), slice(1, None)])
def test_arguments_that_share_memory_with_one_that_changes_are_refused(other):
    x = np.arange(6.0)
    with pytest.raises(cy.TraceError, match=r"(?s)changes `u`.*`v` shares memory.*`v\.copy\(\)`") as caught:
        changes_one(x[: len(x[other])], x[other])
    assert caught.value.code == "CYC116"


def test_other_arguments_may_share_memory():
    x = np.arange(6.0)
    np.testing.assert_array_equal(changes_one(x[::2], x[1::2]), [6, 5, 9])
    np.testing.assert_array_equal(changes_one(x, x.copy()), [5, 2, 4, 6, 8, 10])
    np.testing.assert_array_equal(cy.kernel(summed)(x, x), 2 * x)
    assert changes_one.compile(x, x).tensors  # which looks at shapes only


def adds_inwards(u, v):
    u[0] = 5
    return sum(u[k] * v[k] for k in range(6))


def adds_products(C, A, B):
    for i in range(8):
        for j in range(8):
            for k in range(8):
                C[i, j] += A[i, k] * B[k, j]
    return C


def test_programs_in_other_orders_and_tiles_refuse_them_too():
    """Recurrences keep their changed arguments, whatever is made of them."""
    schedule = cy.Schedule().space("k").inwards("k")
    kernel = cy.kernel(adds_inwards)
    x = np.arange(6.0)
    program = kernel.compile(x, x, schedule=schedule)
    with pytest.raises(cy.TraceError, match="changes `u`"):
        cy.run(program)
    A = np.eye(8) * 9.0
    tiled = cy.kernel(adds_products).compile(A, A, A, tile=4)
    with pytest.raises(cy.TraceError, match="changes `C`"):
        cy.run(tiled)


@pytest.mark.parametrize("schedule", [None, cy.Schedule().space()])
def test_programs_refuse_them_where_they_run(schedule):
    """With arguments that are bound, and with others."""
    x = np.arange(4.0)
    program = changes_one.compile(x, x, schedule=schedule)
    for inputs in ((), (x, x), (x, x[::-1])):
        with pytest.raises(cy.TraceError, match="changes `u`") as caught:
            cy.run(program, *inputs)
        assert caught.value.code == "CYC116"
    np.testing.assert_array_equal(cy.run(program, x, x.copy()).output, [5, 2, 4, 6])


def summed(u, v):
    return u + v


def test_named_tuples_are_no_arguments():
    with pytest.raises(cy.TraceError, match="named tuple") as caught:
        cy.kernel(summed)(Pair(1.0, 2.0), np.ones(2))
    assert caught.value.code == "CYC116"


@cy.kernel
def counted_from(y, i):
    found = cy.zeros((1,), dtype="int64")
    if i > 1:
        found[0] += 1
    return found[0]


@cy.kernel
def counted_above(y):
    found = 0
    if y > 1:
        found += 1
    return found


def of_chosen_elements(u):
    return sum(counted_above(u[i & 1]) for i in range(4))


def of_indices(u):
    return sum(counted_from(u[0], i) for i in range(4))


def of_new_arrays(u):
    return max(cy.cumsum(u * u[i & 1])[2] for i in range(4))


def of_tests(u):
    return sum(cy.argmax(u * (i > 1)) for i in range(3))


def of_inner_sums(u):
    return sum(cy.cumsum(u + sum(1 for k in range(i)))[2] for i in range(4))


@pytest.mark.parametrize("function", [of_chosen_elements, of_indices, of_new_arrays, of_tests, of_inner_sums])
def test_terms_may_be_made_of_arrays_that_the_index_changes(function):
    kernel = cy.kernel(function)
    found, right = kernel(A), kernel.reference(A)
    assert found.dtype == np.asarray(right).dtype
    np.testing.assert_array_equal(found, right)


def from_a_sum(a, n):
    s = n.sum()
    for i in range(3):
        s += a[i]
    return s


def from_a_test(a, n):
    s = (a > 0).any()
    for i in range(3):
        if a[i] > 0:
            s -= 1
        else:
            s -= 2
    return s * 1


def from_a_place(a, n):
    s = cy.argmax(a)
    for _ in range(2):
        s /= 2
    return s


def from_sums_of_columns(a, n):
    s = (a * cy.ones((3, 4), dtype="float64")).sum(axis=0)
    for i in range(3):
        s += n[i]
    return s


def from_computed_totals(a, n):
    s = abs(n.sum()) * 2 - n.max()
    for i in range(3):
        s += a[i]
    return s


def of_two_names(a, n):
    low = high = a.mean()
    for _ in range(4):
        low -= 1
        high += 1
    return low, high


def of_two_names_of_an_array(a, n):
    s = (a - a.mean()) * n.sum()
    t = s
    for i in range(3):
        s += n[i]
    return s, t


TOTALS = [
    from_a_sum, from_a_test, from_a_place, from_sums_of_columns, from_computed_totals, of_two_names,
    of_two_names_of_an_array,
]  # fmt: skip


@pytest.mark.parametrize("function", TOTALS, ids=lambda one: one.__name__)
def test_totals_that_loops_change_are_numbers(function):
    with_numpy = FunctionType(function.__code__, {**function.__globals__, "cy": np})
    expected, found = with_numpy(A, N), cy.kernel(function)(A, N)
    expected, found = (x if isinstance(x, tuple) else (x,) for x in (expected, found))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype


@cy.kernel
def copies_of_one_element(u, v):
    s = u[2]
    for i in range(4):
        u[i] = sum(s * v[j] for j in range(i))
    t = u[1]
    t += any(t > 3 for k in range(4))
    u[1] = 2
    return u, t


def test_one_element_is_kept_once_for_sums_of_all_ranges():
    with np.errstate(all="raise"):
        expected = copies_of_one_element.__wrapped__(A.copy(), A)
    for one, other in zip(copies_of_one_element(A.copy(), A), expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_terms_may_be_made_of_one_array():
    def function(u):
        return sum(counted_from(u[0], 3) + i for i in range(4))

    assert cy.kernel(function)(A) == 4 * 1 + 6


def test_an_array_holds_each_value_of_a_condition_as_it_is():
    def function(u, v):
        for i in range(3):
            if i > 0:
                v[i] = u[i]
            else:
                v[i] = cy.cosh(i)
        for i in range(2):
            v[i + 2] = u[i] if v[i] < 5 else 0.5
        return v

    u = np.array([2**63 - 1, 2**62 + 1, -5])
    found = cy.kernel(function)(u, np.zeros(4, "int64"))
    np.testing.assert_array_equal(found, [1, 2**62 + 1, 2**63 - 1, 0])


def test_assignments_read_all_before_they_write():
    def function(v):
        v[::2] = v[0:3]
        return v

    v = np.array([1.0, 2, 3, 4, 5])
    for found in (cy.kernel(function)(v), cy.kernel(function).reference(v)):
        np.testing.assert_array_equal(found, [1, 2, 2, 4, 3])


class Anything:
    """An object with all attributes."""

    def __getattr__(self, name):
        return self


ANYTHING = Anything()


def test_globals_may_answer_to_every_name():
    def function(u):
        return u * 2 if ANYTHING.flag else u

    np.testing.assert_array_equal(cy.kernel(function)(A), A * 2)

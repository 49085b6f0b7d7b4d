"""Names that hold numbers before a loop, and in it what data make of them: scalars, as in Python."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel(max_steps=40)
def converged(x):
    change = 1.0
    while change > 0.1:
        y = x * 0.5
        change = cy.max(cy.abs(y - x))
        x = y
    return x


@cy.kernel(max_steps=40)
def flagged_and_counted(x):
    done = False
    steps = 0
    while not done:
        y = 0.5 * (x + 2 / x)
        done = cy.max(cy.abs(x - y)) < 1e-9
        x = y
        steps = steps + 1
    return x, steps * x


@cy.kernel
def other_names(x):
    """Scalars are values: `old` stays what it is."""
    y = cy.zeros_like(x)
    s = 0.0
    for i in range(len(x)):
        old = s
        s += x[i]
        if x[i] > 2:
            s = s - 1
        y[i] = old + s
    r = s
    s += 3
    return y, y * s, y * r


@cy.kernel
def largest(x):
    best = -1.0
    place = 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            place = i
    return x * best, x + place


@cy.kernel
def stopped(x):
    """Two loops, of which the inner one may end early."""
    total = 0.0
    for _t in range(3):
        for i in range(len(x)):
            total = total * 0.5 + x[i]
            if total > 6:
                break
        x = x + total
    return x, x * total


@cy.kernel
def locals_again(x):
    """A name that an iteration assigns before it reads it is a local one."""
    y = cy.zeros_like(x)
    t = 0.0
    for i in range(len(x)):
        t = x[i] * 2
        y[i] = t
    for i in range(len(x)):
        t = x[i] + 1
        y[i] += t
    return y


@cy.kernel(max_steps=40)
def in_place(x):
    """The text does not tell whether `x` is an array."""
    largest = cy.max(x)
    while largest > 1:
        x -= 1
        largest = cy.max(x)
    return largest * cy.ones(3)


KERNELS = (in_place, converged, flagged_and_counted, other_names, largest, stopped, locals_again)


@pytest.mark.parametrize("kernel", KERNELS, ids=[one.name for one in KERNELS])
def test_as_in_python(kernel: cy.Kernel) -> None:
    for seed in range(4):
        x = np.random.default_rng(seed).integers(1, 6, 4).astype(float)
        wanted = kernel.__wrapped__(x.copy())
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        program = kernel.compile(x)
        for backend in ("sim", "local"):
            outputs = cy.run(program, backend=backend).outputs.values()
            for found, expected in zip(outputs, wanted, strict=True):
                np.testing.assert_array_equal(found, expected)
                assert found.dtype == expected.dtype
        reference = kernel.reference(x)
        for found, expected in zip(reference if len(wanted) > 1 else (reference,), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)


@cy.kernel
def product(x, w):
    """The number adopts the dtype of the elements in the first iteration."""
    p, first = 1.0, 0
    for i in range(len(x)):
        p = p * x[i]
        first = first * 2 + x[i]
    return p, first, w * p


@cy.kernel
def element_before(x, w):
    """An element is a number, whatever else the kernel does with whole arrays."""
    s = x[0]
    for k in range(len(x)):
        s += x[k] * k
    w[1:] += s
    d = x[-1] * 2
    for k in range(2):
        if x[k] > 2:
            d -= x[k]
    return s, d, w


@cy.kernel
def rows(x, w):
    """A row of a matrix looks the same, and changes in place."""
    A = cy.outer(x, w)
    A[1:] += 1
    row = A[0]
    for k in range(len(x)):
        row += A[k] * k
    return A, row


@cy.kernel
def counted(x, w):
    """Python's whole numbers leave a float32 what it is."""
    n = 0
    for i in range(len(x)):
        if x[i] > 2:
            n = n + 1
        w[i] *= n
    return n, w, x / (n + 1)


@cy.kernel
def in_another_loop(x, w):
    for _t in range(2):
        q = 2
        for i in range(1, len(x)):
            q = q * x[i] - x[i - 1]
            w[i] += q
        x[0] = q
    return x, w


@cy.kernel
def left_at_once(x, w):
    last = 0
    for i in range(len(x)):
        last = x[i] * 0.5 - last
        if x[i] > 2:
            break
        w[i] = last
    return last, w


@cy.kernel
def of_numpy(x, w):
    s = np.float32(0.5)
    for i in range(len(x)):
        s = s * 2 - x[i]
        w[i] -= s
    return s, w


@cy.kernel
def of_no_iteration(x, w):
    s = 2
    for i in range(1, 1):
        s = s * x[i]
    return s, w * s


@cy.kernel(max_steps=8)
def never_entered(x, w):
    change = 1.0
    steps = cy.zeros((1,), dtype="int64")
    while change > 1 and steps[0] < 4:
        x -= 1
        change = cy.max(x)
        steps += 1
    return x * 1, steps, w * change


@cy.kernel(max_steps=8)
def entered(x, w):
    change = 1.0
    steps = cy.zeros((1,), dtype="int64")
    while change > 0 and steps[0] < 4:
        x -= 1
        change = cy.max(x)
        steps += 1
    return x * 1, steps, w * change, change


@cy.kernel
def halved_anew(x, w):
    c = 1
    for _ in range(6):
        x = x / 2
        c = x[0] * 1
    return x, c * w


@cy.kernel
def added_of_new_arrays(x, w):
    s = 0
    for _ in range(4):
        x = x * 2 - w
        s += x[1]
    return x, s * w


@cy.kernel
def scaled_to_the_largest(x, w):
    largest = 1
    for _ in range(5):
        y = x * w + 1
        largest = cy.max(y)
        x = y / largest
    return x * largest, w


@cy.kernel(max_steps=100)
def halved_while_large(x, w):
    change = 1
    while change > 0.3:
        x = x / 2
        change = cy.max(x)
    return x, change * w


@cy.kernel
def nested_with_a_break(x, w):
    c = 1
    for _t in range(2):
        for _k in range(3):
            x = x / 2
            c = x[0] * 1
            if c < 0.3:
                break
        x = x + c
    return x, c * w


@cy.kernel
def two_arrays_downwards(x, w):
    c = 1
    v = x
    for k in range(5, 0, -1):
        x = x / 2
        v = v + x
        c = 0.5 * k + v[1]
    return x, c * w, v


OF_TYPES = (
    product,
    element_before,
    rows,
    counted,
    in_another_loop,
    left_at_once,
    of_numpy,
    of_no_iteration,
    never_entered,
    entered,
)
OF_NEW_ARRAYS = (
    halved_anew,
    added_of_new_arrays,
    scaled_to_the_largest,
    halved_while_large,
    nested_with_a_break,
    two_arrays_downwards,
)


@pytest.mark.parametrize("kernel", OF_TYPES, ids=[one.name for one in OF_TYPES])
@pytest.mark.parametrize(
    "dtypes", [("float32", "float32"), ("int32", "float64"), ("float64", "float32")], ids=str
)
def test_types_are_those_of_numpy(kernel: cy.Kernel, dtypes: tuple[str, str]) -> None:
    """An iteration that changes the type of a number is recorded apart from those that do not."""
    _compare_with_numpy(kernel, dtypes)


@pytest.mark.parametrize("kernel", OF_NEW_ARRAYS, ids=[one.name for one in OF_NEW_ARRAYS])
@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("float64", "float32")], ids=str)
def test_arrays_beside_such_numbers_are_bound_anew(kernel: cy.Kernel, dtypes: tuple[str, str]) -> None:
    """Each part of such a loop starts from what the part before made of its arrays."""
    _compare_with_numpy(kernel, dtypes)


def _compare_with_numpy(kernel: cy.Kernel, dtypes: tuple[str, str]) -> None:
    x = np.array([3, 1, 4, 2]).astype(dtypes[0])
    w = np.array([0.1, 2, 3.7, 1]).astype(dtypes[1])
    plain = {**kernel.__wrapped__.__globals__, "cy": np}
    function = type(kernel.__wrapped__)(kernel.__wrapped__.__code__, plain)
    wanted = function(x.copy(), w.copy())
    program = kernel.compile(x, w)
    for backend in ("sim", "local"):
        for found, expected in zip(cy.run(program, backend=backend).outputs.values(), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == np.asarray(expected).dtype


@cy.kernel(max_steps=8)
def of_data(x):
    change = 1.0
    while change > x[0]:
        x -= 1
        change = cy.max(x)
    return x * change


def test_types_that_data_tell_are_refused() -> None:
    """A float32 where the loop runs, and a number of Python where it does not."""
    with pytest.raises(cy.ShapeError, match="`change` gets another type, float32, in the first") as error:
        of_data.compile(np.ones(4, dtype="float32"))
    assert error.value.code == "CYC120"
    assert "`change = np.float32(0)`" in str(error.value)


def test_types_that_change_again_are_refused() -> None:
    @cy.kernel
    def ever_wider(x, w):
        a, b = 1, w[0]
        for i in range(len(x)):
            c = b
            b = a
            a = c * x[i]
        return a, b

    with pytest.raises(
        cy.ShapeError, match="`a` is float32 after an iteration and float64 after another"
    ) as error:
        ever_wider.compile(np.ones(9, dtype="float32"), np.ones(4, dtype="int32"))
    assert error.value.code == "CYC120"
    found = cy.run(ever_wider.compile(np.ones(3, dtype="float32"), np.ones(4, dtype="int32"))).outputs
    assert [one.dtype for one in found.values()] == ["float64", "float32"]  # as long as each has its own


@cy.kernel
def biquad(x):
    out = np.zeros_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for i in range(len(x)):
        y = 0.5 * x[i] + 0.25 * x1 + 0.125 * x2 - 0.1 * y1 - 0.05 * y2
        x2 = x1
        x1 = x[i]
        y2 = y1
        y1 = y
        out[i] = y
    return out, y1, y2


@cy.kernel
def fibonacci(x):
    a, b, k = 0, 1, 0
    while k < len(x):
        a, b = b, a + b * x[k]
        k += 1
    return a, b, k


@cy.kernel
def in_turn(x):
    a, b, c = 0, 1, 2.0
    for i in range(len(x)):
        a, b, c = b, c, x[i]
    return a, b, c


@pytest.mark.parametrize("kernel", [biquad, fibonacci, in_turn])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "float64"])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_types_that_settle_after_a_few_iterations(kernel: cy.Kernel, dtype: str, size: int) -> None:
    """Each of the first iterations makes other types; how many there are is known."""
    x = np.arange(1, size + 1).astype(dtype)
    wanted = kernel.__wrapped__(x)
    for backend in ("sim", "local"):
        found = cy.run(kernel.compile(x), backend=backend).outputs.values()
        for one, right in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, right, rtol=1e-6)
            assert one.dtype == np.asarray(right).dtype


@pytest.mark.parametrize("a", [3, 2.5, np.float32(2), np.array(2.0), np.arange(3.0)], ids=repr)
def test_names_that_start_with_an_argument(a):
    def kernel(u, a):
        t, s = a, a * 2
        for i in range(3):
            t = t + u[i]
            s *= u[i] + 1
        return t + u, s + u

    u = np.array([0.5, -1.5, 2.0])
    expected = kernel(u, np.copy(a)[()])
    for found, right in zip(cy.kernel(kernel)(u, a), expected, strict=True):
        np.testing.assert_array_equal(found, right, strict=True)


@cy.kernel
def moved_in_all(c, x):
    moved = 0.0
    for k in range(c.shape[0]):
        moved += cy.sum(cy.abs(x - c[k]))
        c[k] = x
    return c, moved


@cy.kernel
def changed_after_the_sum(c, x):
    total = 0.0
    total += cy.sum(x)
    x[0] = 5
    first = x[1]
    first *= cy.max(x)
    x[1] = 7
    rest = x[1:]
    rest += cy.sum(x)
    return total, first, x, rest, c


@pytest.mark.parametrize("kernel", [moved_in_all, changed_after_the_sum])
def test_what_is_added_to_a_number_may_be_assigned_afterwards(kernel):
    rng = np.random.default_rng(5)
    c, x = rng.random((4, 3)), rng.random(3)
    expected = kernel.reference(c, x)
    program = kernel.compile(c, x)
    for backend in ("sim", "local"):
        found = cy.run(program, backend=backend).outputs.values()
        for one, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, right, rtol=1e-14)


@cy.kernel
def longest_so_far(x):
    b = 0
    for i in range(len(x)):
        m = 0
        for j in range(i + 1):
            m = max(m, x[j])
        b = b + m
    return b


@cy.kernel
def downwards(x):
    b = 0
    for i in range(1, len(x)):
        m = 1
        for j in range(i, -1, -1):
            m = m + x[j]
        b = b + m
    return b


@pytest.mark.parametrize("kernel", [longest_so_far, downwards])
@pytest.mark.parametrize("dtype", ["int32", "float32", "int64"])
def test_loops_that_an_index_bounds_have_a_first_iteration(kernel: cy.Kernel, dtype: str) -> None:
    x = np.array([3, 1, 2, 5], dtype)
    found, right = cy.run(kernel.compile(x)).outputs["b"], kernel.__wrapped__(x)
    assert (found, found.dtype) == (right, right.dtype)


@cy.kernel
def lagrange(y, t):
    n = len(y)
    s = 0.0
    for i in range(n):
        basis = 1.0
        for j in range(n):
            if i != j:
                basis *= (t - j) / (i - j)
        s += basis * y[i]
    return s


def test_each_part_of_a_loop_has_types_of_its_own() -> None:
    """In the first row the first factor is left out, so that the number stays Python's."""
    y = np.arange(1, 5).astype("float32")
    found = cy.run(lagrange.compile(y, np.float32(0.5))).outputs["s"]
    assert (found, found.dtype) == (1.5, "float32")


@cy.kernel
def left_in_the_first(a, v):
    k = x = 0
    for _t in range(1):
        x = x + a
        if v[0] > 1:
            break
        k += 1
    return k, x


@cy.kernel
def left_in_the_second(a, v):
    k, x, y = 0, np.float32(0), 1
    while k < 2:
        y = y + a
        if v[k] > 1:
            break
        k += 1
        x = x + 1
    return k, x, y


@pytest.mark.parametrize("kernel", [left_in_the_first, left_in_the_second])
@pytest.mark.parametrize("v", [(0, 0), (2, 0), (0, 2), (2, 2)])
def test_counts_of_loops_that_data_leave(kernel: cy.Kernel, v: tuple[int, int]) -> None:
    """The host counts iterations that are recorded apart, and does not know where data leave the loop."""
    a, given = np.float32(3), np.array(v, "float64")
    for found, right in zip(
        cy.run(kernel.compile(a, given)).outputs.values(), kernel.__wrapped__(a, given), strict=True
    ):
        assert (found, found.dtype) == (right, np.asarray(right).dtype)


def test_a_number_that_no_recording_settles_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One recording finds that an iteration makes a float of it, and does not know what that one makes."""
    monkeypatch.setattr("cyclotron.language.kernel._MOST_RECORDINGS", 1)

    @cy.kernel
    def halves(u):
        total = 1
        for i in range(u.shape[0]):
            total = total / 2
            u[i] = total
        return u

    with pytest.raises(cy.ShapeError, match="an iteration changes the type of `total`") as refused:
        halves.compile(np.zeros(4))
    assert refused.value.code == "CYC120"
    assert "total = np.float64(0)" in refused.value.help


def test_numbers_of_arguments_that_a_loop_adds_to():
    """As `x = x + dt * v`; an array of the same name is changed in place."""

    @cy.kernel
    def fall(x, v, dt, steps):
        path = cy.empty((steps, 2))
        for t in range(steps):
            v -= 9.81 * dt
            x += dt * v
            path[t] = x, v
        return path, x, v

    for x, v in ((1.0, 0.5), (np.float32(1), 2.0), (1, 0.25)):
        found, wanted = fall(x, v, 0.125, 5), fall.reference(x, v, 0.125, 5)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
            assert np.asarray(one).dtype == np.asarray(other).dtype

    @cy.kernel
    def drift(x, v, dt, steps):
        for _ in range(steps):
            x += dt * v
            v *= 0.5
        return x, v

    arrays = np.array([1.0, 2.0]), np.array([0.5, 0.25])
    for given in (arrays, (1.0, 2.0), (arrays[0], 2.0)):
        for one, other in zip(drift(*given, 0.5, 3), drift.reference(*given, 0.5, 3), strict=True):
            np.testing.assert_array_equal(one, other)


def test_rows_of_several_values():
    @cy.kernel
    def rows(x):
        y = cy.zeros((3, 2, 4), dtype=x.dtype)
        y[0] = x, 2 * x
        y[1, :, 0] = [x[0], 5]
        y[1, 0, 1:] = [1, 2, 3]
        y[2] = (x + 1)[::-1], x
        return y

    x = np.arange(4.0)
    np.testing.assert_array_equal(rows(x), rows.reference(x))
    with pytest.raises(cy.ShapeError, match="CYC122"):
        cy.kernel(too_many)(x)


def too_many(x):
    y = cy.zeros((2, 2))
    y[0] = x[0], x[1], x[2]
    return y

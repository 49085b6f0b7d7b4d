"""Values of `and`, `or`, `not` and chains of comparisons, under names too: as in Python."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def both_hold(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        v = x[i] > 0 and w[i] > 0
        if v:
            y[i] = 1
    return y


@cy.kernel
def of_an_index(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        v = i > 0 and x[i - 1] > 0
        y[i] = 1 if v else 2
    return y


@cy.kernel
def negated(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        v = not x[i] > 0
        u = v or w[i] > 1
        if u:
            y[i] = 3
    return y


@cy.kernel
def of_arrays(x, w):
    v = x[0] > 0 and w[0] > 0
    if v:
        x = x + 1
    return x


@cy.kernel
def first_that_is_true(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] or w[i]
    return y


@cy.kernel
def between(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        v = -1 < x[i] < 2
        y[i] = v
    return y


@cy.kernel
def element_with_a_name(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        v = x[i]
        if v > 0:
            y[i] = 1
    return y


@cy.kernel
def names_of_tests(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        v = x[i]
        u = v > 0 and v < 2
        t = v and w[i]
        if u or i == 1:
            y[i] = 1
        elif v < -1 and i < 3:
            y[i] = t
        else:
            y[i] = (v or 7) + (not u)
    return y


@cy.kernel
def scalars_and_the_host(x, w):
    n = x.shape[0]
    y = cy.zeros_like(x)
    c = cy.sum(x) > 2
    d = c and w[0] > 0
    e = not d
    f = (n > 3 and 2) or 5
    if (e and n > 1) or d:
        y = y + f
    return y


@cy.kernel
def indices_and_data(x, w):
    n = x.shape[0]
    y = cy.zeros_like(x)
    for i in range(n):
        a = 0 < i < n - 1 and x[i - 1] < x[i] < x[i + 1]
        b = i == 0 or x[i - 1] > w[i]
        c = not (a or b)
        y[i] = sum(w[j] for j in range(n) if c and w[j] > 0) + (5 if a else 0) + (7 if b else 0)
    return y


@cy.kernel
def nested(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        v = w[i] > 0
        u = x[i] > 0
        if v:
            if u:
                y[i] = 1
            else:
                y[i] = 2
        elif not u:
            y[i] = 3
    return y


@cy.kernel
def last_values(x, w):
    y, z = cy.zeros_like(x), cy.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] and w[i] and 5
        z[i] = (x[i] and w[i]) or (i > 0 and x[i - 1] > 0 and 3) or -1
    return y + 100 * z


@cy.kernel
def element_of_a_new_array(x, w):
    y = cy.zeros((x.shape[0],), dtype=x.dtype)
    z = cy.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] - w[i]
        v = y[i]
        if v > 0:
            z[i] = v
    return z


@cy.kernel
def chosen_by_an_index(x, w):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] if i > 0 else x[i] > 0
        if i == 1:
            v = w[i] > 0
        else:
            v = w[i]
        y[i] += v
    return y


@cy.kernel
def scalars_of_arrays(x, w):
    s = cy.sum(x)
    near = s > 0 and s
    far = s or cy.max(w) > 1
    either = cy.sum(w) > 0 and 3
    y = x * 1
    if near:
        y += 1
    if far:
        y += 2
    if either or not s:
        y += 4
    if s > 0 and cy.sum(w):
        y += 8
    return y


KERNELS = (
    scalars_of_arrays,
    element_of_a_new_array,
    chosen_by_an_index,
    both_hold,
    of_an_index,
    negated,
    of_arrays,
    first_that_is_true,
    between,
    element_with_a_name,
    names_of_tests,
    scalars_and_the_host,
    indices_and_data,
    nested,
    last_values,
)


@pytest.mark.parametrize("kernel", KERNELS, ids=[kernel.name for kernel in KERNELS])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_as_in_python(kernel: cy.Kernel, dtype: str, size: int) -> None:
    for seed in range(4):
        x, w = np.random.default_rng(seed).integers(-2, 3, (2, size)).astype(dtype)
        program = kernel.compile(x, w)
        for backend in ("sim", "local"):
            found = cy.run(program, backend=backend).output
            np.testing.assert_array_equal(found, kernel.reference(x, w))
            assert found.dtype == x.dtype


@cy.kernel
def extrema(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        for j in range(4):
            if max(i - 1, 0):
                y[i] = x[i]
            if not max(i - 1, j - 2):
                y[i] += 2
            elif min(i - 2, j - 1):
                y[i] += 3
            y[i] += 5 * bool(min(i, j)) + bool(max(i, 1) - 1) * 7 + (11 if max(i, 1) - 1 else 0)
            y[i] += (max(i - 1, 0) and 13) + (min(i - 3, j, 1) or 17) + (i > 1 and max(i - j, -1) > 0) * 19
            y[i] += cy.where(max(i - 1, 0), 23, 29) + np.where(min(i - 1, j), x[i], 1) + cy.where(i % 2, 1, 2)
            y[i] += sum(k for k in range(4) if max(k - i, 0)) + (1 if max(2, 1, i - i) else 0)
        y[i] += any(max(k - 1, 0) for k in range(i + 1)) * 31 + all(min(k + 1, 2) for k in range(i + 1)) * 37
        y[i] += any(k - 1 for k in range(i + 1)) * 41 + all(k * k for k in range(i + 1)) * 43
        y[i] += any(k % 2 for k in range(i + 1)) * 47 + all(k // 2 + k % 2 for k in range(i + 1)) * 53
        y[i] += np.sum(cy.where(max(i - 1, 0), x, x * 2))
    return y


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("size", [7, 0, 1, 2])
def test_extrema_of_indices_hold_where_they_are_not_zero(dtype: str, size: int) -> None:
    x = (np.arange(size) - 2).astype(dtype)
    for backend in ("sim", "local"):
        found = cy.run(extrema.compile(x), backend=backend).output
        np.testing.assert_array_equal(found, extrema._function(x))


def test_extrema_outside_of_the_kernel_have_no_truth() -> None:
    @cy.kernel
    def kernel(x):
        y = cy.zeros_like(x)
        for i in range(len(x)):
            y[i] = list(filter(None, [max(i, 1)]))
        return y

    with pytest.raises(cy.TraceError, match="has no truth value here") as error:
        kernel.compile(np.ones(3))
    assert error.value.code == "CYC104"


def test_several_elements_have_no_truth() -> None:
    @cy.kernel
    def of_several(x):
        y = x > 0 or x < -1
        return cy.where(y, x, 0)

    with pytest.raises(cy.TraceError, match="several elements") as error:
        of_several.recurrences(np.ones(3))
    assert error.value.code == "CYC104"


@cy.kernel
def logical(u, a):
    return np.logical_and(a, u), np.logical_or(u, a), cy.logical_xor(u, a), np.logical_and(u[1], a)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "uint8", "int8", "bool", "int64"])
@pytest.mark.parametrize("a", [1e-76, 0.0, np.nan, 300, -1, 0, True, 1j, np.float64(1e-76)], ids=repr)
def test_numbers_beside_arrays_are_true_as_they_are(dtype: str, a: complex) -> None:
    """In the dtype of the array 1e-76 would be 0, and 300 no number."""
    u = np.array([0, 2, 0]).astype(dtype)
    found = cy.run(logical.compile(u, a)).outputs.values()
    for one, right in zip(found, logical.__wrapped__(u, a), strict=True):
        np.testing.assert_array_equal(one, right)

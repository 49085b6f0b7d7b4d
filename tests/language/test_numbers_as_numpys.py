"""Types, signs and names of numbers, as NumPy has them; each of these was once something else."""

import enum
import inspect
import math
import warnings

import numpy as np
import pytest

import cyclotron as cy

BACKENDS = ["local", "sim", "numpy"]


def root_of_element(v):
    return v[0] ** 0.5, v[1] ** 0.5, v[2] ** 0.5


def root_of_product(v):
    return cy.prod(v[2:4]) ** 0.5


def known_choice(n):
    return cy.where(3, 0, n[1])


def no_imaginary_part(v):
    return cy.imag(-3.0) - v[:2].astype("float32")


def sum_over_nothing(v):
    return sum(v[k] for k in range(0)) + cy.arange(2)


def product_over_nothing(v):
    return math.prod(v[k] for k in range(0)) * cy.arange(2)


def loop_over_nothing(v):
    total = 0
    for k in range(0):
        total += v[k]
    return cy.arange(2) + total


def negative_zero_stays(v):
    total = -0.0
    for k in range(2):
        if v[k] > 100:
            total += k
    return total


def negative_zero_of_nothing(v):
    total = -0.0
    for k in range(0):
        total += v[k]
    return total


def truths_to_a_float(w):
    y = w[0]
    for k in range(1):
        y += w[k] > 0
    return y


def truths_to_floats(w):
    y = w[0]
    for _ in range(2):
        y += w > 0
    return y


def singles_to_doubles(v, w):
    y = v[:3] + 1
    for k in range(3):
        y = y + w * 0.1
    return y


def power_of_a_truth(v):
    return (v[0] > 0) ** 2, (v[1] > 0) ** 1


def mean_of_large(n):
    return cy.mean(n[1:3]), n[1:3].mean(), cy.var(n[:2])


def two_names_of_a_sum(v):
    total = cy.sum(v[:2])
    before = total
    total += 1
    return total, before


def two_names_of_a_sum_in_a_loop(w):
    total = cy.sum(w)
    before = total
    for k in range(3):
        total += w[k]
    return total, before


def the_one_before(w):
    total = cy.sum(w)
    last = total
    for k in range(3):
        last = total
        total += w[k]
    return total, last


def array_without_axes_has_two_names(v):
    total = cy.zeros(())
    other = total
    total += 2
    return total, other


def no_elements_of_a_new_axis(v):
    column = v[1:3, None]
    column[:, 0:0] += column
    column[:, 1:0] = 7
    return column


def reads_what_it_strides_over(v):
    y = cy.zeros(5)
    for s in range(3):
        for i in range(1):
            y[2 * s] = v[s]
            y[2 - i] -= i + s
    return y


def variance_of_what_it_assigns(n):
    n[:2] = cy.var(n[3:0:-2] // 8 + cy.eye(2, dtype="int64"), axis=1)
    return n


def zero_is_added_to_elements(v):
    return v[2] + 0, 0 + v[2], v[2] + 0.0, v[2] + -0.0, sum(v[k] for k in range(2, 3)) + 0


def zero_is_added_to_a_carried_number(v):
    total = -0.0
    for k in range(2, 3):
        total += v[k]
    total = total + 0
    return total


def parts_of_pythons_numbers(w):
    truths = any(w[k] > 0 for k in range(2)) + all(w[k] > 0 for k in range(2))
    return cy.real(truths) * w, cy.imag(truths) + w, cy.real(w[0] > 1) + w


def largest_without_some(v):
    y = cy.zeros(4, dtype="float64")
    for i in range(4):
        y[i] = max(v[k] for k in range(4) if k != 1)
    return (
        max(v[k] for k in range(4) if k != 0),
        min(v[k] for k in range(4) if k != 2),
        max(v[k] > 0 for k in range(4) if k != 2),
        y + max(k * k for k in range(4) if k % 3 != 1),
    )


def folds_that_skip_the_first(v):
    return (
        sum(v[k] for k in range(4) if k != 0) + v,
        any(v[k] > 9 for k in range(4) if k != 0) + v,
        math.prod(v[k] for k in range(4) if k != 0) + v,
    )


def between_infinite_points(v):
    xp, fp = cy.array([0.0, 1.0, 2.0, np.inf]), cy.array([-np.inf, np.inf, 4.0, 4.0])
    x = cy.array([-np.inf, -0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf, np.nan])
    return cy.interp(x, xp, fp), cy.interp(x, xp[1:2], fp[1:2])


def powers_of_truths(b):
    return np.power(b, 2), b**2, np.power(b, 3), b**1, np.power(b[0], 2)


def rounded_numbers_of_python(n):
    return np.round(-(not n[3])) + n.astype("int32"), np.square(not n[0]) + n.astype("int8")


def unsigned_beside_negative_numbers(n):
    u = n.astype("uint8")
    return u > -(not n[0] > 0), u >= 0 - any(n[k] > 9 for k in range(4)), -(not n[0] > 9) < u


def zeros_and_what_is_added(v):
    y = cy.zeros_like(v)
    y += -np.abs(v * 0.0)
    z = cy.zeros_like(v)
    for i in range(4):
        z[i] += 0.0 * -np.abs(v[i])
    z[1:3] += y[1:3]
    return y, z, 1 / (y + 0.5)


def negative_zeros_and_complex_ones(v):
    y = cy.full_like(v, -0.0)
    y += -v * 0
    return y.real, y.imag


def the_array_itself(v):
    w = cy.asarray(v)
    v[1] = 9
    return w, v


V = np.array([-3.0, -np.inf, -0.0, 4.0])
W = np.array([1.5, 2.0, -0.25], "float32")
N = np.array([65536, -3, -9223372036854775808, 12])


def as_numpy(kernel, arguments):
    """Run the text of a kernel with NumPy."""
    names = {"cy": np, "np": np, "math": math}
    exec(inspect.getsource(kernel), names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = names[kernel.__name__](*(one.copy() for one in arguments))
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("backend", [*BACKENDS, "reference"])
@pytest.mark.parametrize(
    ("kernel", "arguments"),
    [
        (root_of_element, [V]),
        (root_of_product, [V]),
        (known_choice, [N.astype("int32")]),
        (no_imaginary_part, [V]),
        (sum_over_nothing, [V]),
        (product_over_nothing, [V]),
        (loop_over_nothing, [V.astype("complex64")]),
        (negative_zero_stays, [V]),
        (negative_zero_of_nothing, [V]),
        (truths_to_a_float, [W]),
        (truths_to_floats, [W]),
        (singles_to_doubles, [V, W]),
        (power_of_a_truth, [V]),
        (mean_of_large, [N]),
        (two_names_of_a_sum, [W]),
        (two_names_of_a_sum_in_a_loop, [W]),
        (the_one_before, [W]),
        (array_without_axes_has_two_names, [V]),
        (no_elements_of_a_new_axis, [V]),
        (reads_what_it_strides_over, [V]),
        (variance_of_what_it_assigns, [N]),
        (zero_is_added_to_elements, [V]),
        (zero_is_added_to_a_carried_number, [V]),
        (between_infinite_points, [V]),
        (parts_of_pythons_numbers, [W]),
        (largest_without_some, [V]),
        (largest_without_some, [np.array([1.0, np.nan, np.nan, -2.0])]),
        (largest_without_some, [np.array([np.nan, 1.0, 2.0, 3.0])]),
        (largest_without_some, [N]),
        (folds_that_skip_the_first, [V]),
        (powers_of_truths, [np.array([True, False])]),
        (rounded_numbers_of_python, [N]),
        (unsigned_beside_negative_numbers, [N]),
        (zeros_and_what_is_added, [np.array([1.0, -2.0, 0.0, -0.0])]),
        (negative_zeros_and_complex_ones, [np.array([0j, 1 - 1j])]),
        (the_array_itself, [V]),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_value_and_dtype(kernel, arguments, backend):
    right = as_numpy(kernel, arguments)
    compiled = cy.kernel(kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if backend == "reference":
            found = compiled.reference(*(one.copy() for one in arguments))
            found = found if isinstance(found, tuple) else (found,)
        else:
            program = compiled.compile(*arguments)
            found = tuple(cy.run(program, backend=backend).outputs.values())
    for one, other in zip(found, right, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)
        if np.asarray(other).dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


def test_root_of_an_element_warns_as_numpys_scalars():
    @cy.kernel
    def root(v):
        return v[0] ** 0.5

    with pytest.warns(RuntimeWarning, match="invalid value encountered in scalar power"):
        root(np.array([-3.0]))


def test_numbers_that_arrays_cannot_hold_are_refused():
    @cy.kernel
    def total(a):
        s = 1
        for _k in range(2):
            s += a
        return s

    with pytest.raises(cy.TraceError, match="argument `a` has type `longdouble`"):
        total(np.longdouble(1))


@cy.kernel
def halves(n):
    y = cy.zeros(4)
    for i in range(4):
        y[i] = n[i] / 2
    return y


@cy.kernel
def halves_at_once(n):
    y = cy.ones(4)
    y[1:] = n[1:] / 2
    return y


@cy.kernel
def whole_ones(n):
    y = cy.zeros(4)
    y[1:] = 2.0
    y[0] = n[0]
    return y


@pytest.mark.parametrize("kernel", [halves, halves_at_once])
def test_fractions_are_not_lost_where_no_dtype_was_asked_for(kernel):
    with pytest.raises(cy.ShapeError, match="declared without a dtype") as caught:
        kernel(np.arange(4))
    assert caught.value.code == "CYC120"
    assert kernel(np.arange(4, dtype="float32")).dtype == np.float32
    assert whole_ones(np.arange(4)).tolist() == [0, 2, 2, 2]


# Parameters that are Cyclotron's own, or have other names there.
OWN_PARAMETERS = {
    "empty": "tile", "zeros": "tile", "ones": "tile", "full": "tile", "arange": "start, dtype",
    "block": "parts", "eye": "n, m", "where": "a, b", "full_like": "prototype", "ones_like": "prototype",
    "zeros_like": "prototype", "load": "path", "atleast_1d": "ary", "atleast_2d": "ary",
    "einsum": "subscripts",
}  # fmt: skip


def test_positional_arguments_are_in_numpys_order():
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

    def positional(function):
        return [one.name for one in inspect.signature(function).parameters.values() if one.kind in kinds]

    compared = 0
    for name in dir(cy):
        ours, theirs = getattr(cy, name), getattr(np, name, None)
        if isinstance(ours, type) or not (callable(ours) and callable(theirs)):
            continue
        try:
            right = positional(theirs)
        except ValueError:  # written in C
            continue
        found = positional(ours)
        own = OWN_PARAMETERS.get(name, "").split(", ")
        assert [one for one in found if one not in own] == [
            one for k, one in enumerate(right[: len(found)]) if found[k] not in own
        ], name
        compared += 1
    assert compared > 120


@cy.kernel
def conjugates_of_truth_values(v):
    return (v[0] > 1).conj(), cy.conj(v[0] > 1), (v > 1).conj(), v[0].conjugate()


def test_the_method_conj_of_truth_values_gives_truth_values():
    v = np.array([2.0, 0])
    right = [(v[0] > 1).conj(), np.conj(v[0] > 1), (v > 1).conj(), v[0].conjugate()]
    for found, expected in zip(conjugates_of_truth_values(v), right, strict=True):
        assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())


@cy.kernel
def branch_that_nothing_takes(t):
    for i in range(3):
        never = i > i
        if never:
            t[i, 0] *= t[i + 1, i] - t[2, i + 1]  # NumPy has no difference of truth values
        else:
            t[i, 0] = i - t[i, 1]
    return t


def test_an_error_in_a_branch_that_nothing_takes_does_not_end_the_loop():
    truths = np.arange(16).reshape(4, 4) % 3 == 0
    expected = truths.copy()
    for i in range(3):
        expected[i, 0] = i - int(expected[i, 1])
    np.testing.assert_array_equal(branch_that_nothing_takes(truths), expected)


def warnings_of(function, *arguments):
    """The texts of NumPy's warnings while a function runs, of scalars as of arrays."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*arguments)
    return {str(one.message).replace("encountered in scalar ", "encountered in ") for one in caught}


def product_of_choices(u):
    for _ in range(9):
        u[0] *= cy.where(u[0] > 0, u[0], u[0])
    return cy.cosh(u)


def square_of_a_choice(w):
    w[1] = cy.where(w[1] > 0, 1, w[1]) ** 2
    return w


@pytest.mark.parametrize(
    ("text", "argument"),
    [(product_of_choices, np.array([-3])), (square_of_a_choice, np.array([0.5, -1e200]))],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_where_makes_of_numbers_warns_as_arrays_do(text, argument):
    with pytest.MonkeyPatch.context() as patch:  # the text runs by NumPy alone
        patch.setitem(text.__globals__, "cy", np)
        expected = warnings_of(text, argument.copy())
    kernel = cy.kernel(text)
    assert len(expected) == 1  # of cosh and of a square, not of a product or a power
    assert warnings_of(kernel.reference, argument.copy()) == expected
    program = kernel.compile(argument)
    for backend in ("sim", "local"):
        assert warnings_of(lambda to=backend: cy.run(program, backend=to)) == expected


@cy.kernel
def tiles_added_in_place(A):
    C = cy.zeros_like(A)
    for i in range(A.shape[0]):
        C[i, i] += A[i, i] * np.float64(2)
    return C


def test_tiles_that_are_added_to_in_place_keep_their_dtype():
    A = np.full((4, 4), 3e38, "float32")
    A[:2, :2] = 1
    tile = np.zeros((2, 2), "float32")

    def numpy():
        nonlocal tile
        tile += A[2:, 2:] * np.float64(2)

    found = warnings_of(tiles_added_in_place.reference, cy.blocked(A, (2, 2)))
    assert found == warnings_of(numpy) == {"overflow encountered in add"}


@cy.kernel
def diagonal_of_product_written(u):
    d = cy.diagonal(u @ u)
    d[0] = 1
    return d


@cy.kernel
def diagonal_of_product_changed(u):
    d = cy.diag(u @ u)
    d *= 2
    return d


@cy.kernel
def diagonal_of_product_copied(u):
    d = cy.diagonal(u @ u).copy()
    d[0] = 1
    return d, cy.diagonal(u @ u) * 2


@pytest.mark.parametrize("kernel", [diagonal_of_product_written, diagonal_of_product_changed])
def test_the_diagonal_of_a_new_array_is_not_written(kernel):
    u = np.arange(9.0).reshape(3, 3)
    with pytest.raises(ValueError, match="read-only"):
        np.diagonal(u @ u)[0] = 1
    with pytest.raises(
        cy.TraceError, match=r"diagonal of an array, `d`.*\n.*\n.*\n(.*\n)?.*`\.copy\(\)`"
    ) as error:
        kernel(u)
    assert error.value.code == "CYC107"


def test_the_copy_of_a_diagonal_is_written():
    u = np.arange(9.0).reshape(3, 3)
    d = np.diagonal(u @ u).copy()
    d[0] = 1
    for found, right in zip(diagonal_of_product_copied(u), (d, np.diagonal(u @ u) * 2), strict=True):
        np.testing.assert_array_equal(found, right)


@cy.kernel
def negated_truth_in_a_branch(v, a):
    return cy.cast(a, "bool") if v[0] > 1 else -cy.cast(a, "bool")


@cy.kernel
def difference_of_truths_in_a_sum(v, a):
    return sum(v[k] if v[k] > 0 else np.bool_(a) - np.bool_(True) for k in range(3))


@pytest.mark.parametrize("kernel", [negated_truth_in_a_branch, difference_of_truths_in_a_sum])
def test_what_numpy_lacks_of_truth_values_is_refused_in_branches_too(kernel):
    with pytest.raises(cy.TraceError, match=r"numpy boolean .*write `~x`|numpy boolean") as error:
        kernel(np.ones(3), 1)
    assert error.value.code == "CYC121"
    assert "`~x`" in error.value.help


@cy.kernel
def arrays_added_where_data_tell(v):
    total = 1
    for _ in range(2):
        if v[0] > 0:
            total += v
    return total


@cy.kernel
def arrays_added_to_an_array_where_data_tell(v):
    total = cy.ones_like(v)
    for _ in range(2):
        if v[0] > 0:
            total += v
    return total


def test_data_do_not_tell_whether_a_number_becomes_an_array():
    v = np.array([-1.0, 2, 3])
    assert arrays_added_where_data_tell.reference(v) == 1  # a number
    with pytest.raises(
        cy.ShapeError, match=r"`total` has shape \(\) .* array of shape \(3\)|\(3,\)"
    ) as error:
        arrays_added_where_data_tell(v)
    assert error.value.code == "CYC122"
    for one in (v, -v):
        expected = np.ones(3) + (2 * one if one[0] > 0 else 0)
        np.testing.assert_array_equal(arrays_added_to_an_array_where_data_tell(one), expected)


@cy.kernel
def number_without_axes_stored(w, a):
    w[...] = a
    return w


def test_arrays_without_axes_wrap_around_in_plain_runs_as_in_numpy():
    w, a = np.zeros(3, "int8"), np.array(2**62 + 3)
    expected = w.copy()
    expected[...] = a
    np.testing.assert_array_equal(number_without_axes_stored.reference(w, a), expected)


@cy.kernel
def lengths_of_complex(u, A):
    return cy.norm(u), cy.norm(A, axis=0), cy.norm(u, 1), cy.norm(u, np.inf)


def test_lengths_of_complex_vectors_with_nan_and_infinities():
    u = np.array([complex(np.nan, -np.inf), 1])
    A = np.array([[1 + 2j, complex(np.nan, np.inf)], [3 - 1j, 2]])
    expected = [np.linalg.norm(*one) for one in [(u,), (A, None, 0), (u, 1), (u, np.inf)]]
    for found, right in zip(lengths_of_complex(u, A), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-15)


@cy.kernel
def numbers_of_shapes(u, v):
    return u.shape[0] // np.int32(3), np.int32(3) * len(u), cy.all(v) ** 2, (v > 1) ** 2


def test_shapes_are_numbers_of_python_beside_numbers_of_numpy():
    u, v = np.ones(7, "int64"), np.array([2.0, 0])
    right = [7 // np.int32(3), np.int32(3) * 7, np.all(v) ** 2, (v > 1) ** 2]
    for found, expected in zip(numbers_of_shapes(u, v), right, strict=True):
        assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())


@cy.kernel
def roots_of_indices_from_0(u):
    y = cy.zeros(4)
    for i in range(1, 5):
        y[i - 1] = u[i - 1] * (i - 1) ** 0.5 + sum(k for k in range(i)) ** 1.5
    return y


@cy.kernel
def roots_of_indices_from_less(u):
    y = cy.zeros(3)
    for i in range(3):
        y[i] = u[i] * (i - 1) ** 0.5
    return y


@cy.kernel
def root_of_a_sum(u):
    return u * (-sum(k for k in range(1, -1, -1))) ** 0.5


def test_roots_of_numbers_that_indices_make():
    expected = [(i - 1) ** 0.5 + sum(range(i)) ** 1.5 for i in range(1, 5)]
    np.testing.assert_allclose(roots_of_indices_from_0(np.ones(4)), expected, rtol=1e-15)


@pytest.mark.parametrize("kernel", [roots_of_indices_from_less, root_of_a_sum])
def test_numbers_that_indices_make_have_no_complex_roots(kernel):
    with pytest.raises(cy.ShapeError, match=r"CYC120|negative numbers are complex") as error:
        kernel(np.ones(3))
    assert "power 0.5" in str(error.value)


class Size(enum.IntEnum):
    LARGE = 300


class Length(float):
    pass


@cy.kernel
def scaled(u, s):
    return u * s


@pytest.mark.parametrize(
    ("u", "s"),
    [(np.ones(2, "int8"), Size.LARGE), (np.ones(2, "float32"), Length(2)), (np.ones(2, "int8"), True)],
)
def test_numbers_of_other_classes_are_numpys(u, s):
    assert scaled(u, s).dtype == (u * s).dtype
    np.testing.assert_array_equal(scaled(u, s), u * s)


def test_whole_numbers_beyond_floating_ones_are_refused():
    for u in (np.ones(2), np.ones(2, "complex64"), np.ones(2, "int8")):
        with pytest.raises(cy.ShapeError) as caught:
            scaled(u, 10**400)
        assert caught.value.code == "CYC120"
        assert len(str(caught.value)) < 1000
    assert scaled(np.ones(2), 10**30).tolist() == [1e30, 1e30]


MASKED = np.ma.array([1.0, 2.0], mask=[True, False])


@cy.kernel
def masked_in_the_text(u):
    return u + np.ma.array(1.0, mask=True)


@cy.kernel
def masked_outside(u):
    return u * MASKED


@cy.kernel
def masked_element(u):
    u[0] = np.ma.masked
    return u


@pytest.mark.parametrize("kernel", [masked_in_the_text, masked_outside, masked_element], ids=lambda k: k.name)
@pytest.mark.parametrize("way", ["reference", "__call__"])
def test_masks_are_not_lost_in_kernels(kernel, way):
    with pytest.raises(cy.TraceError, match="operators are not those of arrays") as caught:
        getattr(kernel, way)(np.ones(2))
    assert caught.value.code == "CYC107"


@pytest.mark.parametrize(
    "given",
    [
        lambda: cy.blocked(MASKED, 1),
        lambda: cy.linalg.matmul(MASKED, np.ones((2, 2))),
        lambda: scaled(MASKED, 2),
    ],
)
def test_masks_are_not_lost_in_arguments(given):
    with pytest.raises(cy.CyclotronError, match=r"mask|MaskedArray"):
        given()


@cy.kernel
def imaginary_written(u):
    v = u.imag
    v[...] = 3
    return u


def test_imaginary_parts_of_real_arrays_are_not_written():
    with pytest.raises(cy.TraceError, match=r"the .imag of a real array, `v`, is assigned") as caught:
        imaginary_written(np.ones(2))
    assert caught.value.code == "CYC107"
    with pytest.raises(ValueError, match="read-only"):
        imaginary_written.reference(np.ones(2))


def text_of_an_element(u):
    return u + 1 if str(u[0]) == "1.5" else u


def formatted_element(u):
    return u * len(f"{u[0]}")


def formatted_index(u):
    y = cy.zeros_like(u)
    for i in range(2):
        y[i] = len("%s" % i)  # noqa: UP031
    return y


def formatted_by_a_method(u):
    return u * len("{}".format(u[0]))  # noqa: UP032


def formatted_by_name(u):
    return u * len("{x}".format(x=u[0]))  # noqa: UP032


def set_of_elements(u):
    return u * len({u[0], u[1]})


def type_of_an_element(u):
    return u + 1 if type(u[0]) is np.float64 else u


@pytest.mark.parametrize(
    "kernel",
    [
        text_of_an_element,
        formatted_element,
        formatted_index,
        formatted_by_a_method,
        formatted_by_name,
        set_of_elements,
        type_of_an_element,
    ],
)
def test_what_python_tells_of_data_is_refused(kernel):
    """While a kernel is recorded, an element has a text and a class of its own, which are not the value's."""
    with pytest.raises(cy.TraceError, match="known only when the program runs") as caught:
        cy.kernel(kernel)(np.array([1.5, 1.5]))
    assert caught.value.code == "CYC105"


@cy.kernel
def of_the_host(u, n, word):
    count = len(str(n)) * len(f"{word}{n}") * len({1, 2, n})
    count *= len("%d" % n) * len("{}".format(n))  # noqa: UP031, UP032
    count += len("{} {}".format(*[n, word])) + len(f"{n:{n}}")
    return u * count * (2 if isinstance(n, int) else 1) + len(f"{u.shape[0]}")


def test_what_python_tells_of_the_host_is_known():
    u = np.array([1.5, 2.5])
    np.testing.assert_array_equal(of_the_host(u, 12, "ab"), of_the_host.reference(u, 12, "ab"))


def test_elements_are_rounded_by_python_in_the_reference():
    @cy.kernel
    def rounded(u):
        y = cy.zeros_like(u)
        y[0] = round(u[0])
        return y

    assert rounded.reference(np.array([1.6, 0.0])).tolist() == [2.0, 0.0]

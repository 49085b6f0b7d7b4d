"""Elements that a mask takes are computed with, put back where it or an equal one holds, and summed."""

import numpy as np
import pytest

import cyclotron as cy

X = np.array([-1.5, 2.0, 0.0, 1.25, -0.5, 3.0])


def tripled(x):
    x[x > 0] *= 3
    return x


def moved_apart(x):
    x[x > 0] += 1
    x[x < 0] -= 1
    return x


def of_a_named_mask(x):
    mask = x > 0
    y = cy.zeros_like(x)
    y[mask] = x[mask] * 2 + 1
    return y


def put_back(x):
    mask = x > 0
    taken = x[mask]
    x[mask] = 0
    x[mask] = taken
    return x


def a_copy(x):
    mask = x > 0
    taken = x[mask]
    taken *= 2
    return x


def under_two_names(x):
    mask = x > 0
    taken = x[mask]
    other = taken
    taken *= 2
    y = cy.zeros_like(x)
    y[mask] = other
    return y


def doubled(x, mask):
    taken = x[mask]
    taken *= 2
    y = cy.zeros_like(x)
    y[mask] = taken
    return y, x


def in_a_function(x):
    first, second = doubled(x, x > 0)
    return first + second


def of_equal_masks(x):
    y = -x
    y[x > 0] = cy.sqrt(x[x > 0])
    return y


def in_steps(x):
    for _ in range(3):
        x[x > 1] /= 2
    return x


def of_rows(x):
    A = cy.outer(x, x)
    A[A > 0] *= 2
    A[x > 0] -= 1
    return A


def of_both(x):
    x[(x > 0) & ~(x > 2)] **= 2
    x[(x + 1) > 0] //= 2
    return x


def in_the_dtype_of_the_array(x):
    y = x.astype("float32")
    y[x > 0] *= np.float64(0.1)
    return y


def beside_elements(x):
    mask = x > 0
    x[mask] += x[-1]
    x[~mask] *= x[~mask] - x[1]
    return x


def sums(x):
    mask = x > 0
    return x[mask].sum() / mask.sum() + np.sum(x[x < 0]) + cy.sum(2 * x[~mask])


def sum_of_a_slice(x):
    n = cy.sum(x > 0)
    return x[:n].sum() + x


KERNELS = [tripled, moved_apart, of_a_named_mask, put_back, a_copy, under_two_names, in_a_function]
KERNELS += [
    beside_elements,
    of_equal_masks,
    in_steps,
    of_rows,
    of_both,
    in_the_dtype_of_the_array,
    sums,
    sum_of_a_slice,
]


@pytest.mark.parametrize("function", KERNELS, ids=lambda one: one.__name__)
def test_masks_are_numpys(function):
    kernel = cy.kernel(function)
    expected = kernel.reference(X) if function is sum_of_a_slice else function(X.copy())
    program = kernel.compile(X)
    for backend in ("sim", "local"):
        (found,) = cy.run(program, backend=backend).outputs.values()
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-15)


def used_after_it_changed(x):
    return under_two_names(x)  # a function, where no name holds what a mask takes


def of_another_mask(x):
    mask = x > 0
    x[mask] = cy.sqrt(x[mask]) + x[~mask]
    return x


def of_a_mask_that_changed(x):
    mask = x > 0
    taken = x[mask] + 1
    mask[0] = True
    x[mask] = taken
    return x


def beside_an_array(x):
    x[x > 0] += x
    return x


def returned(x):
    return x[x > 0]


def along_an_axis(x):
    return x[x > 0].sum(axis=0)


REFUSED = [used_after_it_changed, of_another_mask, of_a_mask_that_changed, beside_an_array, returned]
REFUSED += [along_an_axis]


@pytest.mark.parametrize("function", REFUSED, ids=lambda one: one.__name__)
def test_what_depends_on_how_many_a_mask_takes_is_refused(function):
    with pytest.raises(cy.TraceError, match="CYC107"):
        cy.kernel(function).compile(X)


def test_a_mask_has_the_shape_of_first_axes():
    @cy.kernel
    def narrow(x):
        x[x[1:] > 0] *= 2
        return x

    with pytest.raises(cy.ShapeError, match="CYC122"):
        narrow.compile(X)

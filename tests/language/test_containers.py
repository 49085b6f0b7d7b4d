"""Lists, tuples and dicts of arrays, and what functions and masks change: Python's while it records."""

import numpy as np
import pytest

import cyclotron as cy

RNG = np.random.default_rng(5)
U, V = RNG.standard_normal(5), RNG.standard_normal(5)


def doubled(u, v):
    return sum(one * 2 for one in (u, v))


def of_a_list(u, v):
    parts = [u, v + 1]
    return sum([part * 2 for part in parts])


def of_a_dict(u, v):
    total = u * 0
    for weight, part in {2.0: u, 3.0: v}.items():
        total = total + weight * part
    return total + sum(part for part in {"u": u, "v": v}.values())


def zipped(u, v):
    return sum(one * other for one, other in zip((u, v), (v, 2)))


def counted(u, v):
    total = u * 0
    for n, one in enumerate((u, v)):
        total = total + one * n
    return total


def backwards(u, v):
    total = u
    for one in reversed([u, v]):
        total = total * 2 + one
    return total


def stencil(u, v):
    result = cy.zeros_like(u)
    for i in range(1, u.shape[0] - 1):
        result[i] = sum(c * u[i + d] for d, c in ((-1, 1.0), (0, -2.0), (1, 1.0)))
    return result + v


def of_elements(u, v):
    result = cy.zeros_like(u)
    for i in range(u.shape[0]):
        result[i] = max(part[i] for part in (u, v)) - min(part[i] * i for part in (u, v))
    return result


def in_loops(u, v):
    result = cy.zeros_like(u)
    for i in range(u.shape[0]):
        both = [u[i], v[i]]
        result[i] = [2 * one for one in both][1] + sum(one for one in both)
    return result


def largest(u, v):
    return u + max(cy.max(one) for one in (u, v))


def of_one(u, v):
    return u + min(one[1] for one in [v])


STENCIL = [(-1, 1.0), (0, -2.0), (1, 1.0)]


def by_a_stencil_of_the_host(u, v):
    result = v.copy()
    for i in range(1, u.shape[0] - 1):
        result[i] = sum(c * u[i + d] for d, c in STENCIL)
    return result


def at_indices(u, v):
    result = cy.zeros_like(u)
    for i in range(u.shape[0] - 1):
        result[i] = sum(u[k] * 2 for k in (i, i + 1)) + {n: v[i] * n for n in range(3)}[2]
    return result


def read_in_loops(u, v):
    for _ in range(2):
        u = u + [v * n for n in range(3)][2]
    return u


def joined_by_numpy(u, v):
    longer = np.r_[0, u, v[:2]]
    return longer[2:] - longer[:-2] + (np.c_[u, u] @ np.ones(2, u.dtype))[0]


KERNELS = [by_a_stencil_of_the_host, at_indices, read_in_loops, joined_by_numpy]
KERNELS += [doubled, of_a_list, of_a_dict, zipped, counted, backwards, stencil, of_elements, in_loops]
KERNELS += [largest, of_one]


@pytest.mark.parametrize("function", KERNELS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_loops_over_containers_are_pythons(function, dtype):
    u, v = (5 * U).astype(dtype), (5 * V).astype(dtype)
    expected = function(u, v)
    program = cy.kernel(function).compile(u, v)
    for backend in ("sim", "local"):
        (found,) = cy.run(program, backend=backend).outputs.values()
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_a_name_that_is_also_an_array_is_one():
    @cy.kernel
    def mixed(u, v):
        rows = [u, v]
        first = rows[0]
        rows = u
        return first + sum(one for one in rows)

    with np.errstate(all="raise"):
        np.testing.assert_allclose(mixed(U, V), U + sum(U), rtol=1e-15)


def shortened(x):
    x = x.copy()
    x *= 2
    x[0] = 5
    return x


def shared_by_two(x):
    y = (x + 1).copy()
    y[1:] = y[:-1] * 2
    return y, y[1:]


def changed_by_functions(u, v):
    return shortened(u) * v + shortened(np.copy(u + v)), u


def changed_in_steps(u, v):
    for _ in range(3):
        u = shortened(u) - v
    return u


def views_of_a_functions_array(u, v):
    whole, part = shared_by_two(u)
    part[0] = 7
    whole[2] = 8
    return whole, part + v[1:]


@pytest.mark.parametrize("function", [changed_by_functions, changed_in_steps, views_of_a_functions_array])
def test_functions_change_their_copies(function):
    expected = function(U.copy(), V.copy())
    expected = expected if isinstance(expected, tuple) else (expected,)
    program = cy.kernel(function).compile(U, V)
    for backend in ("sim", "local"):
        for found, right in zip(cy.run(program, backend=backend).outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(found, right)


def test_an_argument_that_gets_a_list_later_is_an_array():
    @cy.kernel
    def renamed(u, v):
        total = 0.0
        for one in u:
            total += one
        u = [v, v + total]
        return u[0] + u[1]

    total = 0.0
    for one in U:
        total += one
    np.testing.assert_allclose(renamed(U, V), V + (V + total), rtol=1e-15)


def masked_in_steps(u, v):
    for _ in range(2):
        u[u > 0] = 2
        u += v
        v[(v < 1) & (v > -1)] = 3
        v -= 1
    return u, v


def test_elements_that_tests_choose_are_changed_in_steps():
    expected = masked_in_steps(U.copy(), V.copy())
    for found, right in zip(cy.kernel(masked_in_steps)(U, V), expected, strict=True):
        np.testing.assert_array_equal(found, right)

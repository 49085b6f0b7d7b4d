"""Loops that end by data in some iterations only: they end in the one in which Python leaves them."""

from __future__ import annotations

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def every_and(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if t % 10 == 9 and cy.max(u) < tol:
            break
    return u


@cy.kernel
def and_every(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if cy.max(u) < tol and t % 10 == 9:
            break
    return u


@cy.kernel
def every_if(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if t % 10 == 9:  # noqa: SIM102
            if cy.max(u) < tol:
                break
    return u


@cy.kernel
def every_of_a_change(u, tol, n):
    for t in range(n):
        new = u.copy()
        new[1:-1] = (u[2:] + u[:-2]) / 2
        change = cy.max(cy.abs(new - u))
        u = new
        if t % 10 == 9:  # noqa: SIM102
            if change < tol:
                break
    return u


@cy.kernel
def warm_and(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if t > 30 and cy.max(u) < tol:
            break
    return u


@cy.kernel
def if_warm(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if cy.max(u) < tol:  # noqa: SIM102
            if t > 30:
                break
    return u


@cy.kernel
def warm_if(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if t > 3:  # noqa: SIM102
            if cy.max(u) < tol:
                break
    return u


@cy.kernel
def by_an_old_number(u, tol, n):
    old = 1e10
    for t in range(n):
        u = u * 0.9
        m = cy.max(u)
        if old - m < tol:  # noqa: SIM102
            if t > 3:
                break
        old = m
    return u, old


@cy.kernel
def at_or(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if t == 250 or cy.max(u) < tol:
            break
    return u


@cy.kernel
def or_odd(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if cy.max(u) < tol and (t % 7 == 3 or t % 7 == 5):
            break
    return u


@cy.kernel
def in_place(u, tol, n):
    for t in range(n):
        u *= 0.9
        if t % 4 == 1 and cy.max(u) < tol:
            break
        u += 1e-3
    return u


@cy.kernel
def of_quotients(u, tol, n):
    """Numbers of Python's that divide by 0 in the iterations that leave the test out."""
    left = 5
    for t in range(n):
        u = u * 0.9
        if t > 5 and 1.0 / (t - 3) * cy.sqrt(cy.max(u)) < tol:
            break
    return u, left


@cy.kernel
def of_elements(x, tol, n):
    """Its test reads an element that the first iteration does not have."""
    total = 0.0
    for t in range(n):
        total += x[t]
        if t > 0 and x[t - 1] > tol:
            break
    return total


@cy.kernel
def after_a_continue(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if t % 10:
            continue
        if cy.max(u) < tol:
            break
    return u


@cy.kernel
def in_else(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if t % 2 == 1:
            u = u + 1e-3
        elif cy.max(u) < tol:
            break
    return u


@cy.kernel
def of_negated(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if not (t % 10 != 9 or cy.max(u) >= tol):
            break
    return u


@cy.kernel
def while_and(u, tol, n):
    t = 0
    while t < n and cy.max(u) > tol:
        u = u * 0.9
        t += 1
    return u, t


@cy.kernel
def within(u, tol, n):
    for s in range(3):
        for t in range(n):
            u = u * 0.9
            if t % 5 == 4 and cy.max(u) < tol:
                break
        u = u + 1.0
    return u


LINE = np.linspace(1.0, 2.0, 8)
PLANE = np.linspace(1.0, 2.0, 16).reshape(4, 4)


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def check(kernel, *arguments, **options):
    """Run a kernel on both backends, which give what NumPy gives; return what the simulator says."""
    program = kernel.compile(*arguments, **options)
    expected = as_tuple(kernel.reference(*arguments))
    runs = [cy.run(program, backend=backend) for backend in ("local", "sim")]
    for run in runs:
        for one, other in zip(run.outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(one, other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
    return runs[-1]


def steps_of(kernel, *arguments):
    """The iterations that Python runs: the fewest with which it gives the same."""
    *given, n = arguments
    whole = as_tuple(kernel.reference(*given, n))
    return next(k for k in range(n) if all(map(np.array_equal, as_tuple(kernel.reference(*given, k)), whole)))


def check_steps(kernel, *arguments, **options):
    taken = check(kernel, *arguments, **options).steps["t"]
    steps = steps_of(kernel, *arguments)
    assert steps <= taken <= steps + 3, f"{taken} instead of {steps}"


@cy.kernel
def by_a_name_of_the_branch(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if t % 10 == 9:
            m = cy.max(u)
            if m < tol:
                break
    return u


@cy.kernel
def noting_when(u, tol, n):
    found = -1
    for t in range(n):
        u = u * 0.9
        if t % 10 == 9 and cy.max(u) < tol:
            found = t
            break
    return u, found


@cy.kernel
def changed_where_it_ends(u, tol, n):
    for t in range(n):
        u = u * 0.9
        if t % 10 == 9:
            r = cy.sum(u * u)
            m = cy.sqrt(r)
            if m < tol and r < 1:
                u = u + 1
                break
    return u


@cy.kernel
def since_the_last_test(u, tol, n):
    v = u * 2
    for t in range(n):
        u = u * 0.9
        if t % 10 == 9:
            if cy.max(cy.abs(u - v)) < tol:
                break
            v = u * 1
    return u, v


@pytest.mark.parametrize(
    "kernel",
    [by_a_name_of_the_branch, noting_when, changed_where_it_ends, since_the_last_test],
    ids=lambda kernel: kernel.__name__,
)
@pytest.mark.parametrize("tol", [0.0, 0.5, 9.0])
def test_names_that_the_branch_assigns(kernel, tol: float) -> None:
    check(kernel, LINE, tol, 60)


def test_it_ends_early_where_the_branch_goes_on_to_assign() -> None:
    check_steps(since_the_last_test, LINE, 0.5, 300)
    check_steps(since_the_last_test, LINE, 0.5, 300, schedule=cy.Schedule().space("0"))


KERNELS = (
    every_and,
    and_every,
    every_if,
    warm_and,
    if_warm,
    warm_if,
    by_an_old_number,
    at_or,
    or_odd,
    in_place,
    of_negated,
    after_a_continue,
    in_else,
)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_it_ends_in_the_iteration_in_which_python_leaves_it(kernel) -> None:
    check_steps(kernel, LINE, 0.03, 300)


@pytest.mark.parametrize("kernel", [every_and, every_if, if_warm], ids=lambda kernel: kernel.__name__)
def test_on_a_plane_and_on_one_pe(kernel) -> None:
    check_steps(kernel, PLANE, 0.5, 300)
    check_steps(kernel, LINE, 0.5, 300, schedule=cy.Schedule().space("0"))


def test_it_ends_by_what_an_iteration_changes() -> None:
    check_steps(every_of_a_change, LINE**3, 0.01, 200)


@pytest.mark.parametrize(
    "kernel", [every_and, every_if, warm_and, if_warm], ids=lambda kernel: kernel.__name__
)
@pytest.mark.parametrize("tol", [0.0, 9.0])
def test_it_ends_never_or_as_soon_as_it_may(kernel, tol: float) -> None:
    check(kernel, LINE, tol, 40)


def test_what_only_some_iterations_have_is_read_in_those() -> None:
    check(of_elements, np.arange(9.0), 4.0, 9)
    check(of_quotients, LINE, 0.1, 60)


def test_in_a_loop_and_by_a_while() -> None:
    check(within, LINE, 0.5, 40)
    assert check(while_and, LINE, 0.5, 300).steps["iteration"] < 20

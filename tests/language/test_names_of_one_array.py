"""Names that branches give arrays, changed in place: as in Python, or refused where two may hold one."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def in_a_loop(x, w):
    y = x * 1
    for _t in range(3):
        if y[0] > 0:
            if w[0] > 0:
                y = y - 1
            y[0] += 2
        else:
            y = y + w
    return y


@cy.kernel
def in_both_branches(x, w):
    y = x * 1
    for _t in range(3):
        if y[0] > 0:
            y = y - 1
            if w[0] > 0:
                y = y * 2
            elif w[0] < -1:
                y[0] = 4
            y += 3
        else:
            if x[0] > 0:
                y[0] = 5
            y = y + w
    return y


@cy.kernel
def in_each_branch(x, w):
    y = x * 1
    if x[0] > 0:
        if w[0] > 0:
            y = w + 1
        else:
            y = w * 2
        y[0] += 2
    y[0] *= 3
    return y


@cy.kernel
def in_elif(x, w):
    y = x * 1
    if x[0] > 0:
        if w[0] > 0:
            y = y + 1
        y[0] += 2
    elif w[0] > 1:
        if x[0] < -1:
            y = y - 1
        y[0] -= 1
    y[0] *= 3
    return y


@cy.kernel
def copied(x, w):
    v = x * 2
    a = x + 1
    b = x + 2
    if x[0] > 0:
        a = v.copy()
    if w[0] > 0:
        b = v
    a[0] = 9
    return a + 100 * b


@cy.kernel
def nested(x, w):
    z = x + 2
    y = x + 1
    if x[0] > 0:
        x = x + 1
        if w[0] > 0:
            y = z
    y[0] = 9
    return y + 100 * z


@cy.kernel
def loop_in_a_branch(x, w):
    z = x + 2
    y = x + 1
    if x[0] > 0:
        for _t in range(2):
            y = z
    y[0] = 9
    return y + 100 * z


@cy.kernel
def expression_in_a_branch(x, w):
    z = x + 2
    y = x + 1
    if x[0] > 0:
        v = z if w[0] > 0 else y
        y = v
    y[0] = 9
    return y + 100 * z


@cy.kernel
def nested_in_a_loop(x, w):
    z = x + 2
    y = x + 1
    for _t in range(3):
        if x[0] > 0:
            w = w + 1
            if w[0] > 0:
                y = z
        y[0] = 9
    return y + 100 * z


@cy.kernel
def made_in_a_branch(x, w):
    y = x + 1
    z = x + 1
    if x[0] > 0:
        z = x * 5
        y = z
    y[0] = 9
    return y + 100 * z


@cy.kernel
def two_conditions(x, w):
    v = x * 2
    a = x + 1
    b = x + 2
    if x[0] > 0:
        a = v
    if w[0] > 0:
        b = v
    a[0] = 9
    return a + 100 * b


@cy.kernel
def condition_and_loop(x, w):
    v = x * 2
    a = x + 1
    b = x + 2
    if x[0] > 0:
        a = v
    for _t in range(2):
        b = v
    a[0] = 9
    return a + 100 * b


@cy.kernel
def loop_and_condition(x, w):
    v = x * 2
    a = x + 1
    b = x + 2
    for _t in range(2):
        b = v
    if x[0] > 0:
        a = v
    b[0] = 9
    return a + 100 * b


@cy.kernel
def two_loops(x, w):
    v = x * 2
    a = x + 1
    b = x + 2
    for _t in range(2):
        b = v
    for _t in range(2):
        a = v
    b[0] = 9
    return a + 100 * b


@cy.kernel
def made_in_a_branch_in_a_loop(x, w):
    a = x + 1
    b = x + 2
    for _t in range(2):
        if x[0] > 0:
            b = x * 7
            a = b
        a[0] = 9
    return a + 100 * b


@cy.kernel
def before_the_condition(x, w):
    y = x * 1
    z = y
    if x[0] > 0:
        if w[0] > 0:
            y = y + 1
        y[0] += 2
    return y + 10 * z


@cy.kernel
def next_iteration(x, w):
    y = x * 1
    z = x * 3
    for t in range(3):
        if t == 1:
            y = z
            if w[0] > 0:
                y = y * 2
            y[0] += 2
        else:
            y = z + 1
    return y


@cy.kernel
def made_in_a_loop(x, w):
    y = x * 1
    for _t in range(3):
        v = w * 2
        a, b = v + 1, v + 2
        if x[0] > 0:
            a = v
        if w[0] > 0:
            b = v
        y = y + b
        a[0] = 9
        y = y + a
    return y


@cy.kernel
def nested_and_made_in_a_loop(x, w):
    y = x * 1
    for _t in range(3):
        v = w * 1
        if x[0] > 0:
            if w[0] > 0:
                v = v + 1
            v[0] += 1
        y = y + v
    return y


@cy.kernel
def loop_that_does_not_run(x, w):
    v = x * 2
    a = x + 1
    b = v
    for _t in range(w.shape[0] - 3):
        b = b + 1
    if x[0] > 0:
        a = v
    a[0] = 9
    return a + 100 * b


LEGAL = (
    made_in_a_loop,
    nested_and_made_in_a_loop,
    in_a_loop,
    in_both_branches,
    in_each_branch,
    in_elif,
    copied,
)
SHARED = (
    loop_that_does_not_run,
    nested,
    loop_in_a_branch,
    expression_in_a_branch,
    nested_in_a_loop,
    made_in_a_branch,
    two_conditions,
    condition_and_loop,
    loop_and_condition,
    two_loops,
    made_in_a_branch_in_a_loop,
    before_the_condition,
    next_iteration,
)


@pytest.mark.parametrize("kernel", LEGAL, ids=[kernel.name for kernel in LEGAL])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_as_in_python(kernel: cy.Kernel, size: int) -> None:
    for seed in range(8):
        x, w = np.random.default_rng(seed).integers(-3, 4, (2, size)).astype(float)
        program = kernel.compile(x, w)
        for backend in ("sim", "local"):
            found = cy.run(program, backend=backend).output
            np.testing.assert_array_equal(found, kernel.reference(x, w))


@pytest.mark.parametrize("kernel", SHARED, ids=[kernel.name for kernel in SHARED])
def test_one_array_under_two_names_is_refused(kernel: cy.Kernel) -> None:
    """Each name has a copy in the program: in Python a change under one is seen under the other."""
    with pytest.raises(cy.TraceError, match=r"may hold .* array.* changed in place") as error:
        kernel.recurrences(np.ones(3), np.ones(3))
    assert error.value.code == "CYC111"


@cy.kernel
def nested_choice(u, v):
    y = (v[:-1] if u[0] > 0 else u) if v[1] > 0 else -v[:-1]
    y[2] = 3
    y[1] -= v[2]
    return y


@cy.kernel
def nested_choice_of_new_arrays(u, v):
    y = (v[:-1] + 1 if u[0] > 0 else u * 2) if v[1] > 0 else -v[:-1]
    y[2] = 3
    y[1] -= v[2]
    return y, v


def test_choices_of_choices_may_be_arrays_that_are_there():
    u, v = np.array([1.0, 2.0, 3.0]), np.array([-3.0, 3.0, -2.0, 2.0])
    with pytest.raises(cy.TraceError, match="which a condition chooses, may hold the array that `v` is"):
        nested_choice(u, v)
    for found, expected in zip(
        nested_choice_of_new_arrays(u, v), nested_choice_of_new_arrays.reference(u, v), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@cy.kernel
def left_by_a_test_of_the_host(u, m):
    v = u
    for _ in range(3):
        if m < 1:
            v = v + 1
            break
    v *= 2
    return u, v.copy()


@cy.kernel
def perhaps_not_entered(u, m):
    w = u + 1
    v = w
    c = 0
    while c < m - 2:
        w = w + 1
        c += 1
    v[0] += 5
    return w, v.copy()


@cy.kernel
def reversed_in_a_while(u, m):
    w = u
    v = w
    c = 0
    while c < m:
        w = w[::-1]
        c += 1
    w[0] += 5
    return u + 0, v + 0, w + 0


@pytest.mark.parametrize(
    "kernel", [left_by_a_test_of_the_host, perhaps_not_entered, reversed_in_a_while], ids=lambda one: one.name
)
def test_loops_that_may_end_early_may_leave_names_as_they_were(kernel):
    with pytest.raises(cy.TraceError, match="which a loop assigns anew, may hold the array") as caught:
        kernel(np.array([1.0, 2.0, 4.0]), 2)
    assert caught.value.code == "CYC111"


def paired(u):
    return [u, 1]


@cy.kernel
def sums_of_one_array(u, v, a):
    x = paired(u)[0]
    y = [u, v][0]
    for _ in range(2):
        x += 1
        y = y + a
    return x, y, u + 0


@cy.kernel
def sums_of_an_array_that_another_changes(u, v, a):
    x = paired(u)[0]
    w = [u, v][0]
    y = paired(a)[0]
    for _ in range(2):
        x += 1
        y = y + w
    return x, y, u + 0


@pytest.mark.parametrize(
    "kernel", [sums_of_one_array, sums_of_an_array_that_another_changes], ids=lambda one: one.name
)
def test_sums_beside_each_other_do_not_read_what_one_of_them_changes(kernel):
    """The text does not tell that the names hold one array."""
    with pytest.raises(cy.TraceError, match="which is a part of `u`, and reads that array too") as caught:
        kernel(np.array([1.0, 2.0, 4.0]), np.array([5.0, 6.0, 7.0]), np.array([10.0, 20.0, 30.0]))
    assert caught.value.code == "CYC113"


@cy.kernel
def sums_of_two_arrays(u, v, a):
    x = paired(u)[0]
    y = [v, u][0]
    for _ in range(2):
        x += 1
        y = y + a
    return x, y, u + 0, v + 0


def test_sums_beside_each_other_of_different_arrays():
    u, v, a = np.array([1.0, 2.0, 4.0]), np.array([5.0, 6.0, 7.0]), np.array([10.0, 20.0, 30.0])
    for found, right in zip(sums_of_two_arrays(u, v, a), (u + 2, v + 2 * a, u + 2, v), strict=True):
        np.testing.assert_array_equal(found, right)

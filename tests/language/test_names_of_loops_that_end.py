"""Values of names after loops that end early: as in Python, or refused."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def read_in_the_next_iteration(x):
    s = x * 0
    m = x * 1
    for w in (1.0, 2.0):
        s = s + m
        for t in range(4):
            m = x * w
            x = x + 1
            if x[0] > 2:
                break
    return s


@cy.kernel
def assigned_in_no_iteration(x):
    m = cy.max(x)
    for t in range(4):
        m = cy.max(x)
        x = x + 1
        if x[0] > 2:
            break
    for j in range(x.shape[0] - 3):
        m = cy.sum(x)
    return m * 1


@cy.kernel
def added_to(x):
    m = x * 2
    for t in range(4):
        m = x * 1
        x = x + 1
        if x[0] > 2:
            break
    m += 1
    return m


@cy.kernel
def added_to_after_all_steps(x):
    m = x * 2
    for t in range(4):
        m = x * 1
        x = x + 1
    m += 1
    return m


@cy.kernel
def items_added_to(x):
    b = x * 1
    for row in b:
        row += 1
    return b


@pytest.mark.parametrize(
    ("kernel", "x"),
    [
        (read_in_the_next_iteration, np.arange(3.0)),
        (assigned_in_no_iteration, np.arange(3.0)),
        (added_to, np.arange(3.0)),
        (added_to_after_all_steps, np.arange(3.0)),
        (items_added_to, np.ones((2, 3))),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_values(kernel, x):
    np.testing.assert_array_equal(kernel(x.copy()), kernel.reference(x.copy()))


@cy.kernel
def another_name(x):
    y = x * 1
    z = x * 2
    for t in range(4):
        z = y
        if z[0] > 2:
            break
        y = y * 2 + 1
    z[...] = 0
    return y


@cy.kernel
def another_name_by_elements(x):
    y = x * 1
    z = x * 2
    for t in range(4):
        z = y
        if z[0] > 2:
            break
        y = y * 2 + 1
    for j in range(2):
        z[j] = 9
    return y


@cy.kernel
def no_array_before(x):
    s = x * 0
    for w in (1.0, 2.0):
        if w > 1:
            s = s + m
        for t in range(4):
            m = x * w  # noqa: F841
            x = x + 1
            if x[0] > 2:
                break
    return s


@cy.kernel
def swapped(x):
    w = x * 1
    v = x
    for k in range(3):
        if len(x) > 100:
            break
        v, w = w, v
    w[1:] = 3
    return x + 0


@cy.kernel
def changed_where_it_ends(x):
    w = x
    y = x
    for k in range(1):
        if y[0] > 4:
            break
        y, w = w, y
        w[0] += w[1]
    return y + 0, w + 0


@cy.kernel
def index_of_sums(x):
    k = 5
    s = 0.0
    for k in range(2):
        s += x[k]
    return x * k + s


@cy.kernel
def index_of_no_statement(x):
    for k in range(2):
        pass
    return x * k


@cy.kernel
def last_step(u, tol):
    err = np.inf
    while err > tol:
        new = u * 0.5
        err = cy.max(cy.abs(new - u))
        u = new
    return new


@cy.kernel
def at_the_break(u):
    for t in range(20):
        new = u * 0.5
        err = cy.max(cy.abs(new - u))
        if err < 0.1:
            break
        u = new
    return new, err, u


@cy.kernel
def after_a_while_of_data(u):
    while cy.max(u) > 1:
        largest = cy.max(u)
        u = u * 0.5
    return u * largest


@cy.kernel
def before_and_after_a_break(u):
    t = 0
    while True:
        last = t
        if u[t] > 3 or t >= 5:
            break
        v = u[t] * 2
        t += 1
    return last, v


@cy.kernel
def of_rows(x, row):
    y = cy.zeros(3)
    for i in range(3):
        for k in range(row[i], row[i + 1]):
            s = x[k] * 2
        y[i] = s
    return y


@cy.kernel
def item_after_the_loop(x):
    y = cy.zeros_like(x)
    for v in x:
        if v > 3:
            break
        y += v
    y[0] = v
    return y


@cy.kernel
def alias_assigned_in_the_loop(x):
    y = x * 1
    for t in range(4):
        z = y
        if x[0] + t > 2:
            break
        y = y * 2 + 1
    z[...] = 0
    return y


LAST = [
    (last_step, (np.arange(4.0), 0.01), True),
    (at_the_break, (np.arange(4.0),), True),
    (at_the_break, (np.zeros(4, "float32"),), True),
    (after_a_while_of_data, (np.arange(4.0),), True),
    (after_a_while_of_data, (np.zeros(4),), False),
    (before_and_after_a_break, (np.arange(9.0),), True),
    (before_and_after_a_break, (np.arange(9.0) + 7,), False),
    (item_after_the_loop, (np.arange(6.0),), True),
    (of_rows, (np.arange(9.0), np.array([0, 2, 2, 5])), True),
    (of_rows, (np.arange(9.0), np.array([2, 2, 4, 5])), False),
]


@pytest.mark.parametrize(("kernel", "arguments", "has_value"), LAST)
@pytest.mark.parametrize("backend", ["sim", "local"])
def test_values_that_only_the_loop_assigns(kernel, arguments, has_value, backend):
    """They are as Python leaves them; where it has an `UnboundLocalError`, the run ends with an error."""
    arrays = [one for one in arguments if isinstance(one, np.ndarray)]
    program = kernel.compile(*arguments)
    if not has_value:
        with pytest.raises(UnboundLocalError):
            kernel.__wrapped__(*arguments)
        with pytest.raises(
            cy.ExecutionError, match="is read after a loop that has not assigned it"
        ) as caught:
            cy.run(program, *arrays, backend=backend)
        assert caught.value.code == "CYC723"
        return
    expected = kernel.__wrapped__(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for found, right in zip(
        cy.run(program, *arrays, backend=backend).outputs.values(), expected, strict=True
    ):
        assert found.dtype == np.asarray(right).dtype
        np.testing.assert_array_equal(found, right)


REFUSED = [
    alias_assigned_in_the_loop,
    another_name, another_name_by_elements, no_array_before, swapped, changed_where_it_ends, index_of_sums,
    index_of_no_statement,
]  # fmt: skip


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda one: one.name)
def test_refusals(kernel):
    with pytest.raises(cy.TraceError, match="CYC111"):
        kernel(np.arange(2.0))

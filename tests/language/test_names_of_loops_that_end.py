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


REFUSED = [
    another_name, another_name_by_elements, no_array_before, swapped, changed_where_it_ends, index_of_sums,
    index_of_no_statement,
]  # fmt: skip


@pytest.mark.parametrize("kernel", REFUSED, ids=lambda one: one.name)
def test_refusals(kernel):
    with pytest.raises(cy.TraceError, match="CYC111"):
        kernel(np.arange(2.0))

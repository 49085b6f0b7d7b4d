"""Changes of Python's own containers, and in parts of expressions: refused where they would be lost."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def counted_in_a_list(u):
    w = [0]
    for _ in range(3):
        w[0] = w[0] + 1
    return w[0] * u


@cy.kernel
def chosen_in_a_dict(u):
    w = {"a": 1}
    if u[0] > 5:
        w["a"] = 2
    return w["a"] * u


@cy.kernel
def arrays_in_a_list(u):
    w = [u * 1]
    x = u
    for _ in range(3):
        w[0] = x
        x = x + 1
    return w[0]


@cy.kernel
def doubled_in_a_while(u):
    w = [u[0]]
    c = 0
    while c < 3:
        w[0] = w[0] * 2
        c += 1
    return w[0] * u


@cy.kernel
def made_in_the_loop_and_chosen(u):
    for k in range(3):
        w = {"s": u[k]}
        if u[k] > 1:
            w["s"] = 9
        u[k] = w["s"]
    return u


@cy.kernel
def taken_from_a_list(u):
    w = [1, 2]
    x = 0
    if u[0] > 5:
        x = w.pop()
    return len(w) * u + x


@cy.kernel
def taken_from_an_iterator(u):
    numbers = iter([1, 2, 3])
    y = 0
    for _ in range(3):
        y = y + next(numbers)
    return y * u


LOST = [
    counted_in_a_list, chosen_in_a_dict, arrays_in_a_list, doubled_in_a_while, made_in_the_loop_and_chosen,
    taken_from_a_list, taken_from_an_iterator,
]  # fmt: skip


@pytest.mark.parametrize("kernel", LOST, ids=[one.name for one in LOST])
def test_changes_of_containers_in_loops_and_branches_are_refused(kernel):
    with pytest.raises(cy.TraceError, match="of the host is changed in a loop or branch") as caught:
        kernel(np.array([1.0, 2.0, 4.0]))
    assert caught.value.code == "CYC101"


@cy.kernel
def changed(x):
    x[0] += 10
    x[1] = 7
    return x[1] + x[0]


@cy.kernel
def in_a_choice(u):
    y = changed(u) if u[0] > 100 else u[0] * 1
    return y, u


@cy.kernel
def in_a_test(u):
    if u[0] > 100 and changed(u) > 3:
        u[2] = 0
    return u


@cy.kernel
def in_a_conjunction(u):
    t = u[0] > 100 and changed(u) > 3
    return u, t


@cy.kernel
def in_a_sum(u):
    return sum(changed(u) for _ in range(3)), u


@cy.kernel
def in_a_test_of_any(u):
    return any(changed(u) > 15 for _ in range(3)), u


@cy.kernel
def in_a_while(u):
    while changed(u) < 40:
        u[2] += 1
    return u


CHANGING = [in_a_choice, in_a_test, in_a_conjunction, in_a_sum, in_a_test_of_any, in_a_while]


@pytest.mark.parametrize("kernel", CHANGING, ids=lambda one: one.name)
def test_changes_in_parts_of_expressions_are_refused(kernel):
    with pytest.raises(
        cy.TraceError, match=r"`u` is changed in (a (part|term) of a|the test of a `while`)"
    ) as caught:
        kernel(np.array([1.0, 2.0, 4.0]))
    assert caught.value.code == "CYC104"


@cy.kernel
def made_in_each_iteration(u):
    y = cy.zeros_like(u)
    for k in range(3):
        w = [0, 0]
        w[0] = u[k]
        w[1] = w[0] * 2
        y[k] = w[1]
    return y


@cy.kernel
def of_values_of_the_host(u):
    w, d = [0] * 3, {}
    for k in (0, 1, 2):
        w[k] = u * k
        d[k] = w[k] + 1
    if len(w) > 2:
        w[0] = u
    return w[0] + w[1] + w[2] + d[2]


@cy.kernel
def of_a_kernel_that_is_called(x):
    w = [0, 0]
    w[0] = x * 2
    for i in (0, 1):
        w[i] = x + i
    return w[0] + w[1]


@cy.kernel
def calls_it_in_a_loop(u):
    for _ in range(2):
        u = of_a_kernel_that_is_called(u)
    return u


@cy.kernel
def changes_in_a_statement(u):
    y = of_a_kernel_that_is_called(u) if u[0] > 100 else u * 1
    if changed(u) > 3:
        u[2] = 0
    return y, u


HELD = [made_in_each_iteration, of_values_of_the_host, calls_it_in_a_loop, changes_in_a_statement]


@pytest.mark.parametrize("kernel", HELD, ids=[one.name for one in HELD])
def test_other_changes_hold(kernel):
    u = np.array([1.0, 2.0, 4.0])
    expected = kernel.reference(u.copy())
    for backend in ("sim", "local"):
        outputs = cy.run(kernel.compile(u), backend=backend).outputs.values()
        wholes = expected if isinstance(expected, tuple) else (expected,)
        for found, right in zip(outputs, wholes, strict=True):
            np.testing.assert_array_equal(found, right)


COUNTS = [0]
TOTAL = 0
NUMBERS = np.random.default_rng(3)
ITEMS = iter((1.0, 2.0, 3.0, 4.0))


class Counter:
    count = 0

    def next(self):
        self.count += 1
        return self.count


COUNTER = Counter()


def of_a_list():
    COUNTS[0] += 1
    return COUNTS[0]


def of_a_global():
    global TOTAL
    TOTAL += 1
    return TOTAL


def of_a_default(seen=[]):
    seen.append(1)
    return len(seen)


def of_an_iterator():
    return next(ITEMS)


def of_a_generator():
    return NUMBERS.normal()


def of_an_object():
    return COUNTER.next()


@pytest.mark.parametrize(
    "function", [of_a_list, of_a_global, of_a_default, of_an_iterator, of_a_generator, of_an_object]
)
def test_functions_that_change_the_host_in_loops_are_refused(function):
    @cy.kernel
    def counted(x):
        y = cy.zeros_like(x)
        for i in range(len(x)):
            y[i] = function()
        return y

    @cy.kernel
    def branched(x):
        y = 0
        if x[0] > 1:
            y = function()
        return x + y

    for kernel in (counted, branched):
        with pytest.raises(cy.TraceError, match="recorded once") as caught:
            kernel.compile(np.ones(3))
        assert caught.value.code == "CYC105"


@cy.kernel
def by_a_method(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        y[i] = COUNTER.next()
    return y


@cy.kernel
def drawn_once(x):
    return x + of_a_generator()


@pytest.mark.parametrize("kernel", [by_a_method, drawn_once])
def test_so_are_methods_and_random_numbers(kernel):
    with pytest.raises(cy.TraceError, match="recorded once") as caught:
        kernel.compile(np.ones(3))
    assert caught.value.code == "CYC105"


def scaled_by_counts(x, i):
    return x[i] * len(COUNTS)


def test_functions_that_only_read_are_called():
    @cy.kernel
    def reading(x):
        y = cy.zeros_like(x)
        for i in range(len(x)):
            y[i] = scaled_by_counts(x, i)
        return y + of_a_list() * 0

    assert reading(np.array([1.5, 2.0])).tolist() == [1.5, 2.0]

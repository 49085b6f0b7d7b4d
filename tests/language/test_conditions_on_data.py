"""Conditions on data and on indices that assign names, and `continue`, against the same text in Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def chains(u, n):
    kinds = cy.zeros((n,))
    for t in range(n):
        s = cy.sum(u)
        if s > 20:
            u = u * 0.25
        elif s > 10:
            u = u - 1
            kinds[t] = 1.0
        elif s < 0:
            u = -u
            kinds[t] = 2.0
        else:
            u = u + 2
            kinds[t] = 3.0
    return u, kinds


@cy.kernel
def one_branch(x):
    y = x.copy()
    if cy.sum(x) > 2:
        y[1:] = 5.0
    return y


@cy.kernel
def ends_in_branches(u, n):
    count = cy.zeros(())
    for _t in range(n):
        u = u + 1
        if cy.sum(u) > 9:
            u = u * 10
            if u[0] > 2:
                count += 1
                break
            count += 100
        count += 1
    return u, count


@cy.kernel
def goes_on(u, n):
    sums = cy.zeros((n,))
    for t in range(n):
        u = u * 1.5
        if t == 1:
            continue
        if u[0] > 4:
            u = u - 3
            continue
        if u[1] > 4:
            if t > 2:
                continue
            sums[t] = -1
        sums[t] += cy.sum(u)
    return u, sums


@cy.kernel(max_steps=40)
def collatz(n):
    count = cy.zeros((), dtype="int64")
    while n[0] > 1:
        count += 1
        if n[0] % 2 == 0:
            n = n // 2
            continue
        n = 3 * n + 1
    return count


@cy.kernel
def of_elements(A):
    B = cy.zeros_like(A)
    n, m = A.shape
    for i in range(n):
        for j in range(m):
            if j > 0 and A[i, j - 1] > A[i, j]:
                B[i, j] = A[i, j - 1]
            elif A[i, j] < 0 or j == m - 1:
                B[i, j] = -1
            else:
                v = A[i, j] * 2
                B[i, j] = v
    return B


@cy.kernel
def names_of_elements(x):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        if x[i] > 0:
            v = x[i]
            w = 1
        else:
            v, w = -x[i], 2
        if i < 2:
            u = x[i]
        else:
            u = v
        y[i] = v * w + u
    return y


@cy.kernel
def prefix_maximum(x):
    m = cy.zeros_like(x)
    for i in range(x.shape[0]):
        if i == 0 or x[i] > m[i - 1]:
            m[i] = x[i]
        else:
            m[i] = m[i - 1]
    return m


@cy.kernel
def bubbles(x):
    for _i in range(x.shape[0]):
        for j in range(x.shape[0] - 1):
            if x[j] > x[j + 1]:
                a = x.copy()
                x[j] = a[j + 1]
                x[j + 1] = a[j]
    return x


@cy.kernel
def nested(u, n):
    for _t in range(n):
        if cy.max(u) > 3:
            for i in range(u.shape[0]):
                if u[i] > 1:
                    u[i] = u[i] / 2
            u[0] += 1
        else:
            w = u * u
            if w[1] > 2:
                u = w - 1
            else:
                u = w + 1
    return u


@cy.kernel
def roots(u):
    if cy.min(u) >= 0:
        y = cy.sqrt(u)
    else:
        y = cy.sqrt(cy.abs(u))
    return y


@cy.kernel
def numbers(u):
    k = 1
    if u[0] > 2:
        k = 2.5
    return u * k


@cy.kernel
def expressions(x):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] if x[i] > 0 and i > 0 else 2
    return y * 2 if cy.sum(x) > 2 else y


@cy.kernel
def filters(x):
    y = cy.zeros((5,), dtype=x.dtype)
    n = x.shape[0]
    y[0] = sum(x[i] for i in range(n) if x[i] > 0)
    y[1] = math.prod(x[i] for i in range(n) if x[i] != 0 and i > 0)
    y[2] = sum(x[i] * x[i - 1] for i in range(n) if i > 0 and x[i - 1] > 0)
    y[3] = sum(1 for i in range(n) if x[i] > 1)
    s = 0
    for i in range(n):
        if x[i] < 0:
            continue
        s += x[i]
    y[4] = s
    return y


@cy.kernel
def of_the_host(u, flag):
    if flag:
        u = u + 1
    else:
        u = u - 1
    for k in (1, 2, 3):
        if k == 2:
            continue
        u = u * k
    if flag is None:
        return u + 0.5
    return u * 2


@cy.kernel
def doubled(x):
    y = x * 2
    return y


@cy.kernel
def calls(x):
    if cy.sum(x) > 2:
        x = doubled(x)
    return x + 1


VECTOR = np.array([3.0, -1, 2, 0, -2, 4])
MATRIX = np.random.default_rng(0).integers(-3, 4, (4, 5)).astype(float)
CASES: list[tuple[cy.Kernel, tuple[Any, ...]]] = [
    *((chains, (VECTOR[:3], n)) for n in (0, 1, 7)),
    (chains, (VECTOR[:3].astype("float32"), 7)),
    (chains, (np.array([], dtype="float64"), 2)),
    (one_branch, (VECTOR,)),
    (one_branch, (-VECTOR,)),
    (one_branch, (np.array([9.5]),)),
    (ends_in_branches, (VECTOR[:3], 9)),
    (ends_in_branches, (np.array([-9.0, 5, 2]), 9)),
    (goes_on, (VECTOR[:3], 6)),
    (goes_on, (np.array([1.0, 3, 2]), 6)),
    (collatz, (np.array([7]),)),
    (collatz, (np.array([1]),)),
    (of_elements, (MATRIX,)),
    (of_elements, (MATRIX[:, :1],)),
    (of_elements, (np.zeros((0, 3)),)),
    (names_of_elements, (VECTOR,)),
    (names_of_elements, (VECTOR.astype("int32"),)),
    (prefix_maximum, (VECTOR,)),
    (prefix_maximum, (VECTOR[:1],)),
    (bubbles, (VECTOR[:4],)),
    (nested, (VECTOR, 4)),
    (roots, (VECTOR,)),
    (roots, (np.abs(VECTOR),)),
    (numbers, (VECTOR,)),
    (numbers, (-VECTOR,)),
    (expressions, (VECTOR,)),
    (expressions, (-VECTOR,)),
    (filters, (VECTOR,)),
    (filters, (np.array([1, 2, -3, 5]),)),
    (calls, (VECTOR,)),
    (calls, (-VECTOR,)),
    (of_the_host, (VECTOR, True)),
    (of_the_host, (VECTOR, None)),
]


@pytest.mark.parametrize(
    ("kernel", "arguments"), CASES, ids=[f"{k.name}-{n}" for n, (k, _) in enumerate(CASES)]
)
def test_as_in_python(kernel: cy.Kernel, arguments: tuple[Any, ...]) -> None:
    program = kernel.compile(*arguments)
    expected = kernel.reference(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for backend in ("sim", "local"):
        for found, wanted in zip(cy.run(program, backend=backend).outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == np.asarray(wanted).dtype


def test_on_several_pes() -> None:
    """A condition on all elements is told to all PEs; one on an element stays in its PE."""
    schedule = cy.Schedule().space("i")
    program = one_branch.compile(VECTOR, schedule=schedule)
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, one_branch.reference(VECTOR))
    program = prefix_maximum.compile(VECTOR, schedule=schedule)
    np.testing.assert_array_equal(cy.run(program, backend="sim").output, prefix_maximum.reference(VECTOR))


def test_elements_that_a_condition_chooses_are_one_equation() -> None:
    @cy.kernel
    def absolute(x):
        y = cy.empty_like(x)
        for i in range(x.shape[0]):
            if x[i] > 0:
                y[i] = x[i]
            else:
                y[i] = -x[i]
        return y

    assert len(str(absolute.recurrences(VECTOR)).splitlines()) == len(
        str(negated.recurrences(VECTOR)).splitlines()
    )


@cy.kernel
def negated(x):
    y = cy.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = -x[i]
    return y


@cy.kernel
def reads_what_the_other_branch_assigns(x, w):
    scale = 2
    if x[0] > 0:
        w = w + 1
        scale = 3
        y = x * w
    elif w[0] > 3:
        y = x * scale
    else:
        y = x - w
    return y


@cy.kernel
def reads_it_under_indices(a):
    n = a.shape[0]
    y, z = cy.zeros((n,)), cy.zeros((n,))
    for i in range(n):
        q = a[i]
        if i > 1:
            q = q * 10
            y[i] = q
        else:
            z[i] = q
    return y, z


@cy.kernel
def changes_and_goes_on(x, w, n):
    for _t in range(n):
        if x[0] > 2:
            w = w * 10
            x = x - w
            continue
        x = x + w
    return x


@cy.kernel
def halves(u, n):
    for _t in range(n):
        if cy.sum(u) > 3:
            u = u / 2
    return u


@cy.kernel
def by_index_and_data(u, n):
    for t in range(n):
        if t > 1 and cy.max(u) < 2:
            w = u * 2
            u = u + w
        elif t == 0 or u[0] > 1:
            u = u - 1
    return u


@cy.kernel
def not_both(a):
    y = cy.zeros_like(a)
    for i in range(a.shape[0]):
        if not (i > 0 and a[i - 1] > 0):
            y[i] = a[i]
        else:
            y[i] = -1.0
    return y


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_branches_see_what_was_before_the_condition(size: int, sign: float) -> None:
    x = sign * (np.arange(size) / 4 + 0.5)
    w = np.arange(size) + 2.75
    for kernel, arguments in (
        (reads_what_the_other_branch_assigns, (x, w)),
        (reads_what_the_other_branch_assigns, (x, w + 1)),
        (reads_it_under_indices, (x,)),
        (changes_and_goes_on, (x, w, 4)),
        (halves, (x, 5)),
        (by_index_and_data, (x, 1)),
        (by_index_and_data, (x, 5)),
        (not_both, (x,)),
    ):
        wanted = kernel.reference(*arguments)
        for backend in ("sim", "local"):
            found = cy.run(kernel.compile(*arguments), backend=backend).outputs.values()
            pairs = zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True)
            assert all(np.array_equal(*pair) for pair in pairs), kernel.name


@cy.kernel
def chosen_twice(u):
    v, w = u * 2, u * 3
    z = w
    if u[0] > 0:
        z = v
    q = u + 1
    if u[1] > 0:
        q = z
    q[1] = 77
    return v, q


@cy.kernel
def chosen_after_a_loop(u, n):
    for _t in range(n):
        u = u + 1
    y = u * 2
    if cy.sum(u) > 5:
        y = u
    u[0] = 99
    return y, u


@pytest.mark.parametrize("kernel", [chosen_twice, chosen_after_a_loop], ids=lambda kernel: kernel.name)
def test_arrays_that_may_be_one_are_not_changed(kernel: cy.Kernel) -> None:
    """In NumPy the change shows in what the condition chose, or in what it chose from."""
    arguments = (np.ones(3),) if kernel is chosen_twice else (np.ones(3), 2)
    with pytest.raises(cy.TraceError, match=r"give `[a-z]` an array of its own") as refused:
        kernel.compile(*arguments)
    assert refused.value.code == "CYC111"


@cy.kernel
def part_of_its_own(w):
    v = w * 2
    v[:2] = cy.max(v)
    return v


def test_a_part_gets_what_the_whole_array_gives() -> None:
    w = np.array([1.0, 5.0, 2.0, 4.0])
    np.testing.assert_array_equal(part_of_its_own(w), part_of_its_own.reference(w))


def test_a_graph_of_conditions() -> None:
    graph = chains.graph(VECTOR[:3], 4)
    for found, wanted in zip(graph.evaluate().values(), chains.reference(VECTOR[:3], 4), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_the_intermediate_language_runs() -> None:
    namespace: dict[str, Any] = {}
    exec(compile(chains.il(), "<il>", "exec"), namespace)
    il = namespace["chains"]
    assert "branch = il.branches(" in chains.il()
    assert isinstance(il, cy.Kernel)

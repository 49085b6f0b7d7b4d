"""`break` and `while`: what loops leave is what Python leaves."""

from __future__ import annotations

import re
import runpy
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import il
from cyclotron.compiler.program import Program


@cy.kernel
def relax(u, tolerance, steps):
    """Two arrays: one new in each step, one declared empty and assigned in place."""
    v = cy.empty_like(u)
    count = cy.zeros((1,), dtype="int64")
    for t in range(steps):
        v[...] = u
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        count += 1
        if cy.max(cy.abs(v - u)) < tolerance:
            break
        u = v.copy()
    return u, v, count


@cy.kernel(max_steps=6)
def halve(x):
    n = cy.zeros((1,), dtype="int64")
    while x[0] > 1 and n[0] < 100:
        x = x / 2
        n += 1
    return x, n


@cy.kernel
def row_sums(A, limit):
    """A loop over elements that ends early in each iteration of the loop around it."""
    s = cy.zeros((A.shape[0],))
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s[i] += A[i, j]
            if s[i] > limit:
                break
    return s


@cy.kernel(max_steps=20)
def nested(x, f):
    for t in range(3):
        x = x + f
        while cy.max(x) > 8:
            x = x / 2
            if x[0] == 4:
                break
        if cy.sum(x) > 14:
            break
    return x


@cy.kernel
def by_index(x):
    """A condition on the index or on data; `else` is what follows."""
    for t in range(6):
        x = x * 2
        if t == 3 or x[0] > 100:
            break
        x[1] += 1
    return x


@cy.kernel
def exchanged(u, v, limit, steps):
    """Values at the break are those of then, also where two names have changed places."""
    for t in range(steps):
        u, v = v, u + v
        if not 0 <= v[0] < limit:
            break
        u[0] += 1
    return u, v


@cy.kernel
def two_ways_out(x, low, high):
    for t in range(8):
        if x[0] > high:
            break
        x = x + 3
        if x[1] > 2 * low or (x[0] > low and x[1] > -low):
            break
        x = x - 1
    return x


@cy.kernel
def flags(x, go):
    """Numbers as conditions, a host value among them, and a break under a condition on the index."""
    for t in range(5):
        x = x + 1
        if go is not None and (t == 4 or not (go and x[0] - 2)):
            break
        if t > 1:
            x[1] += 1
            if x[1]:
                break
    return x


@cy.kernel
def unless(x, limit):
    for t in range(6):
        if x[0] < limit:
            x = x + 1
            x[1] += x[0]
        else:
            break
        x[2] += 1
    return x


@cy.kernel
def ends_of_the_host(x, text):
    """Loops of the host may end as they like; those for the reference alone do not count."""
    with cy.host():
        for n in range(9):
            if n > 2:
                break
    for t in range(3):
        x = x + n
        with cy.ignore():
            if x[0] > 1e9:
                break
        if text or []:
            break
    return x


@cy.kernel(max_steps=8)
def several_whiles_of_one_text(x):
    for limit in (4, 20):
        while x[0] < limit:
            x = x * 2
    return x


@cy.kernel
def at_once(x):
    for t in range(4):
        x = x + 1
        if True:
            break
        x = x * 100
    return x


@cy.kernel
def made_in_the_loop(x, limit):
    """An array that each iteration makes anew needs no value from before."""
    total = cy.zeros_like(x)
    for t in range(4):
        d = cy.empty_like(x)
        d[0] = x[0]
        d[1:] = x[1:] + total[:-1]
        total += d
        if cy.sum(total) > limit:
            break
        total[0] += 1
    return total


@cy.kernel
def assigned_before_it_is_read(x, limit, steps):
    """A name that only the loop after it, or the one around it, reads."""
    largest = cy.max(x)
    for t in range(2):
        y = x + 1
        for k in range(steps):
            x = y * 2
            y = x + 1
            largest = cy.max(x)
            if largest > limit:
                break
    return x, largest


@cy.kernel(max_steps=9)
def forever_but(x, limit):
    while True:
        x = x * 2
        if cy.any(x > limit):
            break
    return x


@cy.kernel
def complex_steps(x):
    for t in range(5):
        x = x * 2 + 1j
        if cy.abs(x[1]) > 6:
            break
    return x


@cy.kernel
def integer_steps(x):
    for t in range(5):
        x = x * 2 + 1
        if x[1] > 6:
            break
    return x


def check(kernel: cy.Kernel, *arguments: Any) -> None:
    """The recorded equations, and local and sim, give what the Python body gives."""
    reference = kernel.reference(*arguments)
    expected = reference if isinstance(reference, tuple) else (reference,)
    program = kernel.compile(*arguments)
    for backend in ("local", "sim"):
        found = cy.run(program, backend=backend).outputs
        for (name, array), wanted in zip(found.items(), expected, strict=True):
            np.testing.assert_array_equal(array, wanted, err_msg=f"{name} on {backend}")
            assert array.dtype == wanted.dtype


SPIKE = np.array([1024.0, 0, 0, 0, 0, 0, 8])


@pytest.mark.parametrize("tolerance", [0.0, 1.0, 100.0, 1e9, np.nan])
@pytest.mark.parametrize("steps", [1, 2, 9])
def test_break_at_the_first_step_at_the_last_never_and_with_nan(tolerance: float, steps: int) -> None:
    check(relax, SPIKE, tolerance, steps)


@pytest.mark.parametrize("first", [1.0, 3.0, 64.0, np.nan, -np.inf])
def test_while_of_no_step_some_and_the_most(first: float) -> None:
    check(halve, np.array([first, 2.0]))


CASES: list[tuple[cy.Kernel, tuple[Any, ...]]] = [
    *((row_sums, (np.arange(12.0).reshape(3, 4), limit)) for limit in (-1.0, 4.0, 1e3)),
    (row_sums, (np.ones((0, 3)), 1.0)),
    (row_sums, (np.ones((2, 0)), 1.0)),
    (nested, (np.array([3.0, 1, 64]), np.array([5.0, 1, 2]))),
    (nested, (np.array([3.0, 1, 4]), np.array([0.0, 1, 2]))),
    (by_index, (np.array([1.0, 2]),)),
    (by_index, (np.array([40.0, 2]),)),
    *((exchanged, (np.array([1.0, 2]), np.array([1.0, 3]), limit, 9)) for limit in (0.0, 5.0, 20.0, 1e9)),
    *((two_ways_out, (np.array([0.0, x]), 3.0, 5.0)) for x in (-9.0, -5.0, 1.0, 9.0)),
    (flags, (np.array([0.0, -3]), 1)),
    (flags, (np.array([5.0, -3]), 0)),
    (flags, (np.array([5.0, -4]), 1)),
    (flags, (np.array([5.0, -40]), None)),
    (exchanged, (np.array([1.0, 2]), np.array([1.0, 3]), 9.0, 0)),
    *((unless, (np.arange(3.0), limit)) for limit in (0.0, 2.0, 99.0)),
    (complex_steps, (np.array([0, 1j, 2]),)),
    *((integer_steps, (np.arange(3, dtype=dtype),)) for dtype in ("int32", "int64", "float32")),
    (ends_of_the_host, (np.zeros(2), "")),
    (ends_of_the_host, (np.zeros(2), "now")),
    *((several_whiles_of_one_text, (np.array([first, 1]),)) for first in (1.0, 7.0, 30.0)),
    (at_once, (np.arange(3.0),)),
    *((made_in_the_loop, (np.arange(3.0), limit)) for limit in (-1.0, 9.0, 1e3)),
    *(
        (assigned_before_it_is_read, (np.arange(3.0), limit, steps))
        for limit in (0.0, 20.0, 99.0)
        for steps in (0, 4)
    ),
    (forever_but, (np.array([1.0, 3.0]), 20.0)),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kernel", "arguments"), CASES, ids=lambda value: getattr(value, "name", None))
def test_leaves_what_python_leaves(kernel: cy.Kernel, arguments: tuple[Any, ...]) -> None:
    check(kernel, *arguments)


def test_spaces_and_grids() -> None:
    """PEs in a line give the same bits."""
    line = cy.Schedule().space("i").time("t")
    for n in (2, 7):
        u = np.arange(float(n)) ** 3
        expected = relax.reference(u, 2.0, 5)
        found = cy.run(relax.compile(u, 2.0, 5, schedule=line), backend="sim").outputs.values()
        for array, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(array, wanted)


def test_a_while_at_its_most_steps_keeps_what_it_has() -> None:
    program = halve.compile(np.array([65.0, 1.0]))
    for backend in ("local", "sim"):
        with pytest.raises(cy.ExecutionError) as caught:
            cy.run(program, backend=backend)
        assert caught.value.code == "CYC719"
        assert "6 steps" in str(caught.value)
        result = caught.value.result
        np.testing.assert_array_equal(result.outputs["n"], [6])
        np.testing.assert_array_equal(result.outputs["x_out"], np.array([65.0, 1.0]) / 64)
    timed = cy.run(program, backend="sim", functional=False)
    assert timed.outputs == {}
    assert timed.cycles == caught.value.result.cycles  # time alone is that of the bound
    assert timed.cycles > cy.run(program, np.array([1.0, 1.0]), backend="sim").cycles


def test_a_saved_program_says_so_too() -> None:
    program = halve.compile(np.array([65.0, 1.0]))
    core = type(program.core).from_bytes(program.core.to_bytes())
    loaded = Program(core)
    assert list(cy.run(loaded, np.array([3.0, 1.0])).outputs) == ["x_out", "n"]
    with pytest.raises(cy.ExecutionError) as caught:
        cy.run(loaded, np.array([65.0, 1.0]))
    assert caught.value.code == "CYC719"


def test_hand_written() -> None:
    @il.program
    def counted(x, limit):
        n = il.zeros((1,), name="n", dtype="float64")
        runs = il.running(name="t")
        with il.loop("t", 5, running=runs):
            n[0] = n[0] + x[0]
            il.stop(runs, n[0] > limit)
        return il.outputs(n=n)

    program = counted.compile(np.array([2.0]), 5.0)
    np.testing.assert_array_equal(cy.run(program).output, [6.0])


def test_printed_text_runs(tmp_path: Path) -> None:
    text = halve.il().replace("lambda :", "lambda:")  # as Python 3.10 writes it
    path = tmp_path / "halve.py"
    path.write_text(text)
    again = runpy.run_path(str(path))["halve"]
    for first in (1.0, 40.0):
        found = cy.run(again.compile(np.array([first, 2.0]))).outputs.values()
        for array, wanted in zip(found, halve.reference(np.array([first, 2.0])), strict=True):
            np.testing.assert_array_equal(array, wanted)
    assert (
        "il.stop(iteration_runs, il.no(il.every(lambda: x[0] > 1, lambda: n[0] < 100)), x=(x_kept, x))"
        in text
    )
    assert "il.unfinished(iteration_runs, " in text


@pytest.mark.parametrize("steps", [-1, 2.5, True, "10"])
def test_a_bound_that_is_none(steps: Any) -> None:
    with pytest.raises(cy.TraceError) as caught:
        cy.kernel(max_steps=steps)
    assert caught.value.code == "CYC116"


def test_one_of_several_whiles_goes_on() -> None:
    for first, right in ((0.0, 0.0), (0.1, 25.6), (1e-4, 1e-4 * 2**16)):  # 16 steps in all
        with pytest.raises(cy.ExecutionError) if right < 20 else nullcontext() as caught:
            np.testing.assert_array_equal(several_whiles_of_one_text(np.array([first, 1]))[0], right)
        if caught is not None:
            assert caught.value.result.outputs["x_out"][0] == right


def test_no_step_at_all() -> None:
    @cy.kernel(max_steps=0)
    def never(x):
        while x[0] > 0:
            x = x - 1
        return x

    np.testing.assert_array_equal(never(np.array([-1.0])), [-1.0])
    with pytest.raises(cy.ExecutionError):
        never(np.array([1.0]))


@cy.kernel(max_steps=4)
def halves(u, scale=0.5):
    while cy.max(u) > 1:
        v = u
        while cy.min(v) > 3:
            v = v - 1
        u = scale * v
    return u


class Solver:
    """A kernel whose bound the reference keeps, with attributes."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    @cy.kernel(max_steps=3)
    def run(self, u):
        while cy.max(u) > 1:
            u = self.scale * u
        return u


def test_the_reference_stops_at_the_bound_too() -> None:
    u = np.array([4.0, 6.0])
    np.testing.assert_array_equal(halves(u), halves.reference(u))
    solver = Solver(0.5)
    np.testing.assert_array_equal(solver.run(u), solver.run.reference(u))
    for wrong in (lambda: halves.reference(u, 2.0), lambda: Solver(1.0).run.reference(u)):
        with pytest.raises(cy.ExecutionError, match=r"has not ended after \d steps") as caught:
            wrong()
        assert caught.value.code == "CYC719"
    with pytest.raises(cy.ExecutionError, match="CYC719"):
        cy.check(halves.compile(u, 2.0), backends=("local",))


@cy.kernel
def at_a_step(x, first, second):
    """Steps known when the kernel is recorded, the first in one branch and behind statements of others."""
    history = cy.zeros((12,))
    for t in range(12):
        if t > 4:
            history[t] = x[0]
        if t > first:
            break
        x = x * 2
        if t == second:
            break
        x[1] += 1
    return x, history


@cy.kernel
def at_a_step_counting_down(x, last):
    total = cy.zeros((1,))
    for s in range(3):
        for t in range(9, s, -1):
            total += x[0]
            if t <= last:
                break
            if t < s + 2:
                break
            x = x + 1
        if x[1] > 20:
            break
    return x, total


@pytest.mark.parametrize("first", [-5, -1, 0, 3, 10, 11, 99])
@pytest.mark.parametrize("second", [0, 4, 40])
def test_break_by_the_index(first: int, second: int) -> None:
    check(at_a_step, np.array([1.0, 2]), first, second)


@pytest.mark.parametrize("last", [0, 3, 4, 9, 50])
def test_break_by_an_index_that_counts_down(last: int) -> None:
    check(at_a_step_counting_down, np.array([1.0, 2]), last)


@cy.kernel
def up_to(x, steps, last):
    for t in range(steps):
        x = x * 2
        if t >= last:
            break
    return x


def test_a_break_by_the_index_is_a_bound() -> None:
    x = np.arange(3.0)
    cycles = [cy.run(up_to.compile(x, steps, 5), backend="sim").cycles for steps in (6, 7, 1000)]
    assert cycles[0] == cycles[1] == cycles[2]


@cy.kernel
def sums_of_the_first(x, most):
    y = cy.zeros_like(x)
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(i):
            if x[j] > most:
                break
            s += x[j]
        y[i] = s
    return y


def test_a_short_loop_that_runs_to_its_bound_says_so() -> None:
    x = np.array([1.0, 2, 9, 3, 4, 5])
    with pytest.warns(cy.PerformanceWarning, match="depends on `i`.*CYC331"):
        program = sums_of_the_first.compile(x, 8.0)
    np.testing.assert_array_equal(cy.run(program).output, sums_of_the_first.reference(x, 8.0))


def bubble_sort(x, shrinks):
    n = len(x)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i if shrinks else n - 1):
            if x[j] > x[j + 1]:
                t = x[j]
                x[j] = x[j + 1]
                x[j + 1] = t
                swapped = True
        if not swapped:
            break
    return x


def test_a_loop_ends_where_those_in_it_have_one_range(recwarn) -> None:
    """As the warning says where they do not."""
    x = np.array([3.0, 1, 2, *range(4, 17)])
    kernel = cy.kernel(bubble_sort)
    program = kernel.compile(x, False)
    assert not recwarn.list
    result = cy.run(program, backend="sim")
    assert result.steps["i"] < 8
    with pytest.warns(cy.PerformanceWarning, match=r"may show in `x`(.|\n)*the same range in each"):
        other = cy.run(kernel.compile(x, True), backend="sim")
    assert result.cycles < other.cycles
    for one in (result, other):
        np.testing.assert_array_equal(one.output, np.sort(x))


def own_flag_of_numbers(x, steps):
    runs = cy.full((), True, dtype="bool")
    for _ in range(steps):
        runs = cy.logical_and(runs, cy.max(x) > 1)
        x = cy.where(runs, x * 0.5, x)
    return x


def own_flag_of_tests(x, steps):
    runs = cy.full((), True, dtype="bool")
    for _ in range(steps):
        runs = cy.logical_and(runs, cy.any(x > 1))
        x = cy.where(runs, x * 0.5, x)
    return x


@pytest.mark.parametrize("function", [own_flag_of_numbers, own_flag_of_tests])
@pytest.mark.parametrize("folded", [False, True])
def test_a_flag_made_of_a_sum_is_what_the_whole_sum_says(function: Any, folded: bool) -> None:
    """Parts of a maximum, which PEs hand on one after the other, are not yet the flag of the loop."""
    schedule = cy.Schedule().space("i")
    schedule = schedule.fold(i=cy.block(2)) if folded else schedule
    x, cycles = np.arange(8.0), set()
    for steps in (12, 500):
        program = cy.kernel(function).compile(x, steps, schedule=schedule)
        assert program.verify()
        for backend in ("local", "sim"):
            result = cy.run(program, backend=backend)
            np.testing.assert_array_equal(result.output, x / 8)
        cycles.add(result.cycles)
    assert len(cycles) == 1


@cy.kernel(max_steps=60)
def heads(s, least):
    while s[0] > least:
        s = s * 0.5
    return s


@cy.kernel
def head_of_a_for(s, least, steps):
    for _ in range(steps):
        if s[0] <= least:
            break
        s = s * 0.5
    return s


def test_a_test_at_the_head_of_a_loop_is_negated_once_at_most() -> None:
    """Nothing has changed where it ends: a comparison and what goes on decide, and no other operator."""
    s = np.array([40.0])
    for kernel, arguments, expected in (
        (heads, (s, 1.0), {"greater", "logical_and", "multiply", "where"}),
        (head_of_a_for, (s, 1.0, 60), {"less_equal", "logical_not", "logical_and", "multiply", "where"}),
    ):
        program = kernel.compile(*arguments)
        np.testing.assert_array_equal(cy.run(program, backend="sim").output, [0.625])
        (code,) = [str(one) for one in program.classes]
        (loop,) = re.findall(r"\n  for .*?exit unless", code, re.DOTALL)
        found = re.findall(r"← (\w+)\(", loop) + ["multiply"] * loop.count(" · ")
        assert sorted(found) == sorted(expected)

"""`cy.debug.print`: the lines that the plain function prints, in its order, on every backend."""

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def in_loops(x, n):
    y = cy.zeros_like(x)
    cy.debug.print("start {}", x[0])
    for i in range(len(x)):
        y[i] = 2 * x[i]
        cy.debug.print("y[{}] = {}", i, y[i])
        if i > 1:
            cy.debug.print("  large {}", i)
        for j in range(i):
            cy.debug.print("    {} {}", j, x[i] + n[j])
    cy.debug.print("done {}", cy.sum(y))
    return y


@cy.kernel
def in_steps(u):
    for t in range(3):
        u[1:-1] = (u[2:] + u[:-2]) / 2
        cy.debug.print("t={} u1={:.3f}", t, u[1])
    cy.debug.print("u = {}", u)
    return u


@cy.kernel
def under_data(x):
    y = cy.zeros_like(x)
    for i in range(len(x)):
        y[i] = 2 * x[i]
        if y[i] > 3:
            cy.debug.print("big y[{}] = {}", i, y[i])
        else:
            cy.debug.print("small y[{}] = {}", i, y[i])
    return y


@cy.kernel(max_steps=40)
def until_large(x):
    k = 0
    while cy.sum(x) < 100:
        x = x * 2
        k += 1
        cy.debug.print("step {} sum {}", k, cy.sum(x))
    return x


CASES = {
    "under_data": (under_data, (np.arange(4.0),)),
    "until_large": (until_large, (np.arange(4.0),)),
    "in_loops": (in_loops, (np.arange(4.0), np.arange(4))),
    "in_steps": (in_steps, (np.arange(6.0) ** 2,)),
}


@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("backend", ["sim", "local", "numpy"])
@pytest.mark.parametrize("case", CASES)
def test_the_lines_of_the_plain_function(case, backend, capsys):
    kernel, arguments = CASES[case]
    expected = kernel.reference(*map(np.copy, arguments))
    lines = capsys.readouterr().out
    assert len(lines.splitlines()) >= 4
    program = kernel.compile(*arguments)
    result = cy.run(program, backend=backend)
    assert capsys.readouterr().out == lines
    assert len(result.outputs) == 1
    np.testing.assert_array_equal(result.output, expected)


def test_a_loaded_program_prints_too(tmp_path, capsys):
    program = in_steps.compile(np.arange(6.0) ** 2)
    cy.run(program, backend="sim")
    lines = capsys.readouterr().out
    program.save(tmp_path / "program.json")
    cy.run(cy.load(tmp_path / "program.json"), np.arange(6.0) ** 2, backend="sim")
    assert capsys.readouterr().out == lines


@cy.kernel
def many(x):
    for i in range(len(x)):
        cy.debug.print("{}", x[i])
    return x + 1


def test_what_is_too_long_is_cut(capsys):
    cy.run(many.compile(np.arange(1200.0)), backend="sim")
    lines = capsys.readouterr().out.splitlines()
    assert lines[999:] == ["999.0", "... and 200 lines more"]


@cy.kernel
def array_in_a_loop(A):
    for i in range(len(A)):
        cy.debug.print("{}", A[i])
    return A + 1


def test_an_array_in_a_loop_is_refused():
    with pytest.raises(cy.TraceError, match="is printed in a loop") as caught:
        array_in_a_loop.compile(np.eye(2))
    assert caught.value.code == "CYC105"


def until_smooth(u, tol):
    change = 1.0
    k = 0
    while change > tol:
        new = u.copy()
        new[1:-1] = (u[:-2] + u[2:]) / 2
        change = np.max(np.abs(new - u))
        u = new
        cy.debug.print("{}: {}", k, change)
        k += 1
    return u


def until_break(u, tol):
    for k in range(500):
        u[1:-1] = (u[:-2] + u[2:]) / 2
        cy.debug.print("{}: {} {}", k, u[4], u[4] > tol)
        if u[4] > tol:
            break
    return u


def inner_loops(u, tol):
    for t in range(3):
        u = u + 1
        change = 1.0
        k = 0
        while change > tol:
            new = u.copy()
            new[1:-1] = (u[:-2] + u[2:]) / 2
            change = np.max(np.abs(new - u))
            u = new
            k += 1
            if change < 0.2:
                cy.debug.print("{} {}: {}", t, k, change)
        cy.debug.print("{} ends after {}", t, k)
    return u


ENDING = {
    until_smooth: ("iteration", 1e-2),
    until_break: ("k", 0.25),
    inner_loops: ("iteration", 0.1),
}


@pytest.mark.filterwarnings("error::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("backend", ["sim", "local"])
@pytest.mark.parametrize("function", ENDING)
def test_a_loop_ends_as_early_as_without_what_it_prints(function, backend, capsys):
    loop, tolerance = ENDING[function]
    u = np.zeros(10)
    u[0] = 1
    expected = function(u.copy(), tolerance)
    lines = capsys.readouterr().out
    result = cy.run(cy.kernel(function).compile(u, tolerance), backend=backend)
    assert capsys.readouterr().out == lines
    np.testing.assert_allclose(result.output, expected)
    each = [int(line.split()[-1]) for line in lines.splitlines() if "ends after" in line]
    runs = each or [len(lines.splitlines())]
    assert 0 <= result.steps[loop] - sum(runs) <= 2 * len(runs)  # a flag takes some iterations to all PEs

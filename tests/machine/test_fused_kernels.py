"""`with cy.fuse():`: statements that are one kernel, set up once, and compute what they do apart."""

import numpy as np
import pytest

import cyclotron as cy
from cyclotron import il

SETUP = 1000
RNG = np.random.default_rng(5)


def waves(fused):
    """One kernel, with the block and without."""
    if fused:

        @cy.kernel
        def kernel(u, v, most):
            for _ in range(12):
                with cy.fuse():
                    bend = cy.zeros(u.shape)
                    bend[1:-1] = u[2:] - 2.0 * u[1:-1] + u[:-2]
                    v = v + 0.5 * bend
                    u = u + v
                if cy.max(cy.abs(u)) > most:
                    break
            return u, v

    else:

        @cy.kernel
        def kernel(u, v, most):
            for _ in range(12):
                bend = cy.zeros(u.shape)
                bend[1:-1] = u[2:] - 2.0 * u[1:-1] + u[:-2]
                v = v + 0.5 * bend
                u = u + v
                if cy.max(cy.abs(u)) > most:
                    break
            return u, v

    return kernel


def compiled(fused, n, pes, setup=SETUP):
    u, v = RNG.standard_normal((2, n))
    machine = cy.Machine(grid=(pes,), control=cy.Control(setup=setup))
    schedule = cy.Schedule().space("i")
    return waves(fused).compile(u, v, 3.0, schedule=schedule, machine=machine), (u, v)


@pytest.mark.parametrize(("n", "pes"), [(16, 4), (7, 3), (9, 9), (3, 1)])
@pytest.mark.parametrize("backend", ["sim", "local", "numpy"])
def test_computes_what_the_statements_do(n, pes, backend):
    program, (u, v) = compiled(True, n, pes)
    expected = waves(False)(u, v, 3.0)
    result = cy.run(program, u, v, backend=backend)
    for name, want in zip(("u_out", "v_out"), expected, strict=True):
        np.testing.assert_array_equal(result.outputs[name], want)
    cy.prove(program)


def calls_of_iterations(program):
    return next(section.calls for section in program.sections if section.loop)


def lines(kernel, first, last):
    return set(range(kernel.first_line + first, kernel.first_line + last + 1))


def test_what_stands_together_is_one_call():
    apart, fused = compiled(False, 16, 4)[0], compiled(True, 16, 4)[0]
    block = lines(waves(True), 5, 8)
    assert block <= {line for _, line in calls_of_iterations(fused)[0].lines}
    # Of the others some take part in no call of the block: they come after the decision.
    assert len(calls_of_iterations(fused)) == len(calls_of_iterations(apart)) - 2


def test_only_set_ups_are_saved():
    (apart, inputs), (fused, _) = compiled(False, 16, 4, setup=0), compiled(True, 16, 4, setup=0)
    without = [cy.run(one, *inputs, backend="sim").cycles for one in (apart, fused)]
    assert abs(without[0] - without[1]) <= 2  # a call waits for all of its arguments, a word a cycle
    (apart, inputs), (fused, _) = compiled(False, 16, 4), compiled(True, 16, 4)
    assert (
        cy.run(fused, *inputs, backend="sim").cycles <= cy.run(apart, *inputs, backend="sim").cycles - SETUP
    )


def test_blocks_stay_in_files_and_in_the_intermediate_language(tmp_path):
    program, (u, v) = compiled(True, 16, 4)
    program.save(tmp_path / "fused.cyc")
    assert list(cy.load(tmp_path / "fused.cyc").sections) == list(program.sections)
    kernel = waves(True)
    kernel.compile(u, v, 3.0)
    assert "with il.fuse():" in kernel.il()


@cy.kernel
def stepped(x, y):
    return x + y, y * 0.5


def with_helpers(x, y):
    return x - y, y + 1.0


@cy.kernel
def nested(x, y, down):
    for t in range(6):
        with cy.fuse():
            for _ in range(2):
                x, y = stepped(x, y)
            with cy.fuse():
                x, y = with_helpers(x, y)
            if x[0] > 0:
                y = y + 2.0
        if cy.sum(y) > down:
            break
    return x, y


@pytest.mark.parametrize("n", [1, 5, 8])
def test_whatever_a_block_records_is_of_it(n):
    x, y = RNG.standard_normal((2, n))
    machine = cy.Machine(grid=(min(n, 4),), control=cy.Control())
    program = nested.compile(x, y, 50.0, machine=machine)
    for got, want in zip(
        cy.run(program, x, y, backend="sim").outputs.values(), nested(x, y, 50.0), strict=True
    ):
        np.testing.assert_array_equal(got, want)
    called = [call for call in calls_of_iterations(program) if len(call.lines) > 1]
    first = nested.first_line
    assert {first + 4 + 2, first + 4 + 3} & {line for _, line in called[0].lines}


@cy.kernel
def fused_in_a_branch(x, n):
    for t in range(n):
        if x[0] > 3:
            with cy.fuse():
                x = x - 2.0
                x = x * 0.5
        x = x + 1.0
    return x


@pytest.mark.parametrize("n", [0, 1, 7])
def test_stands_in_branches_on_data(n):
    x = RNG.standard_normal(6)
    program = fused_in_a_branch.compile(x, n, machine=cy.Machine(grid=(3,)))
    for backend in ("sim", "local"):
        np.testing.assert_array_equal(cy.run(program, x, backend=backend).output, fused_in_a_branch(x, n))


@il.program
def by_hand(x):
    with il.fuse():
        y = il.array(x + 1.0, name="y")
    return il.outputs(y=y)


def test_the_intermediate_language_has_blocks():
    x = RNG.standard_normal(3)
    np.testing.assert_array_equal(cy.run(by_hand.compile(x), x, backend="sim").output, x + 1.0)


def test_does_nothing_in_plain_python():
    with cy.fuse():
        assert with_helpers(3.0, 2.0) == (1.0, 3.0)


@cy.kernel
def until_an_index(x):
    with cy.fuse():
        for i in range(4):
            if i > 2:
                break
            x = x * 2.0
    return x


def test_loops_in_a_block_may_end_by_indices():
    np.testing.assert_array_equal(cy.run(until_an_index.compile(np.ones(3)), backend="sim").output, [8, 8, 8])

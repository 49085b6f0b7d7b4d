"""The report of a deadlock: who waits for whom, and exactly which depths let the program pass."""

import dataclasses
import re

import kernels
import numpy as np
import pytest
from advice import changes, exact, passes, uniform

import cyclotron as cy

SPACE = cy.Schedule().space


@cy.kernel
def exchange(A):
    """Neighbours exchange what they made five steps ago."""
    T, n = A.shape
    X = cy.empty_like(A)
    for t in range(T):
        for i in range(n):
            if t < 5:
                X[t, i] = A[t, i]
            elif i == 0:
                X[t, i] = X[t - 5, i + 1]
            else:
                X[t, i] = X[t - 5, i - 1]
    return X


@cy.kernel
def exchange_on_a_grid(A):
    """The same both ways on two axes, three steps ago along one and four along the other."""
    T, n, m = A.shape
    X = cy.empty_like(A)
    for t in range(T):
        for i in range(n):
            for j in range(m):
                if t < 4 or i == 0 or i == n - 1 or j == 0 or j == m - 1:
                    X[t, i, j] = A[t, i, j]
                else:
                    X[t, i, j] = (
                        X[t - 3, i - 1, j] + X[t - 3, i + 1, j] + X[t - 4, i, j - 1] + X[t - 4, i, j + 1]
                    )
    return X


def at_depth(kernel, shape, space, depth, **links):
    """As compiled for deep links: for shallow ones messages would be sent late."""
    link = cy.Link(depth=depth)
    machine = cy.Machine(link=link, broadcast=link, links=links.get("links", {}))
    return kernel.compile(np.ones(shape), schedule=SPACE(*space)).with_machine(machine)


def deadlock(program, backend="sim"):
    with pytest.raises(cy.DeadlockError) as caught:
        cy.run(program, backend=backend)
    return caught.value


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [2, 3, 6])
def test_one_channel_suffices(n, depth):
    program = at_depth(exchange, (13, n), "i", depth)
    error = deadlock(program)
    assert len(changes(error)) == 1
    assert uniform(error) == 5
    exact(program, error)


def test_links_between_chips_that_are_too_shallow():
    """The advice names them, and is exact."""
    chiplets = cy.Chiplets((1,), cy.Link(latency=3, depth=2))
    machine = cy.Machine(link=cy.Link(depth=64), chiplets=chiplets)
    program = exchange.compile(np.ones((13, 6)), schedule=SPACE("i")).with_machine(machine)
    error = deadlock(program)
    assert "full (depth 2)" in str(error)
    assert "cy.Machine(chiplets=cy.Chiplets(link=cy.Link(depth=5), ...), ...)" in error.help
    exact(program, error)
    deeper = cy.Chiplets((1,), cy.Link(latency=3, depth=5))
    assert passes(program.with_machine(cy.Machine(link=cy.Link(depth=64), chiplets=deeper)))
    with pytest.raises(cy.DeadlockError, match=r"full \(depth 2\)"):
        cy.prove(program)
    assert cy.prove(program.with_machine(cy.Machine(link=cy.Link(depth=64), chiplets=deeper)))


@pytest.mark.parametrize("depth", [1, 2])
def test_two_channels_are_needed(depth):
    program = at_depth(exchange_on_a_grid, (12, 5, 5), "ij", depth)
    error = deadlock(program)
    assert len(changes(error)) == 2
    exact(program, error)


def test_the_machine_that_is_advised_lets_it_pass():
    """The help is code: the machine in it, with what it leaves open as it was."""
    program = at_depth(exchange, (13, 4), "i", 2, links={(1,): cy.Link(depth=3, latency=4)})
    error = deadlock(program)
    text = re.search(r"for every channel: (cy\.Machine\(.*\))$", error.help).group(1)
    machine = eval(text.replace(", ...", ""), {"cy": cy})
    assert set(machine.links) == {(1,)}
    assert machine.link.depth == machine.links[1,].depth == uniform(error)
    assert passes(program.with_machine(machine))
    exact(program, error)


def test_depths_that_the_program_sets_are_not_the_machines():
    program = at_depth(exchange, (13, 4), "i", 9)
    names = [channel["name"] for channel in program.channels]
    shallow = program.with_depths(dict.fromkeys(names, 2))
    error = deadlock(shallow)
    assert "cy.Machine" not in error.help
    exact(shallow, error)


@pytest.mark.parametrize("backend", ["sim", "local"])
def test_the_same_on_every_backend(backend):
    program = at_depth(exchange, (13, 4), "i", 2)
    assert str(deadlock(program, backend)) == str(deadlock(program))
    timing = cy.run(program.with_depths(changes(deadlock(program))), backend=backend)
    assert np.array_equal(timing.output, exchange.reference(np.ones((13, 4))))


def test_the_circle_names_pes_channels_depths_and_lines():
    error = deadlock(at_depth(exchange, (13, 4), "i", 2))
    waits = [(span.line - error.span.line, text) for span, text in error.notes if span is not None]
    assert len(waits) == 2
    for _, text in waits:
        assert re.fullmatch(
            r"PE \(\d\) waits at cycle \d+ to send on `\S+ along -?i` to PE \(\d\): full \(depth 2\)", text
        )
    assert [line for line, _ in waits] == [0, -2]


def test_a_channel_by_its_number():
    """It changes alone, and comes before the name."""

    def depths(program):
        return [channel["depth"] for channel in program.channels]

    program = at_depth(exchange, (13, 4), "i", 2)
    names = [channel["name"] for channel in program.channels]
    deep = program.with_depths(dict.fromkeys(names, 7) | {1: 3})
    assert depths(deep) == [7, 3, *[7] * (len(names) - 2)]
    assert depths(program.with_depths({1: 3})) == [0, 3, *[0] * (len(names) - 2)]
    assert deep.with_depths(dict.fromkeys(range(len(names)), 0)).core == program.core
    with pytest.raises(cy.ShapeError, match="has no channel `99`"):
        program.with_depths({99: 3})


def test_with_depths(golden_refusal):
    program = kernels.matmul.compile(
        np.eye(4), np.eye(4), schedule=cy.schedules.output_stationary(kernels.matmul)
    )
    names = [channel["name"] for channel in program.channels]
    assert len(set(names)) == len(names) == 2
    deep = program.with_depths({names[0]: 7})
    assert [channel["depth"] for channel in deep.channels] == [7, 0]
    assert deep.with_depths({names[0]: 0}) == program
    assert deep != program
    assert (deep.kernel, deep.schedule, deep.machine) == (program.kernel, program.schedule, program.machine)
    assert np.array_equal(cy.run(deep, backend="sim").output, np.eye(4))
    golden_refusal("unknown-channel", cy.ShapeError, "CYC403", lambda: program.with_depths({"C": 2}))
    with pytest.raises(cy.ShapeError) as caught:
        program.with_depths({names[0]: -1})
    assert caught.value.code == "CYC401"


@pytest.mark.parametrize("memory", [cy.Memory(latency=30, depth=1), cy.Memory(latency=9, shared_by=(5,))])
def test_memories_change_no_advice(memory):
    """A PE that waits for its memory goes on, whoever waits for that PE meanwhile."""
    program = at_depth(exchange, (30, 5), ("i",), 2)
    slow = program.with_machine(dataclasses.replace(program.machine, memories={"dram": memory}))
    assert changes(deadlock(slow)) == changes(deadlock(program))
    exact(slow, deadlock(slow))
    deep = slow.with_depths(changes(deadlock(slow)))
    assert cy.run(deep, backend="sim", functional=False).stats["stall_memory"].any()

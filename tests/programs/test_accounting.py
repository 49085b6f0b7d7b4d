"""Cycles by cause: worked out by hand, and adding up to what the simulator counts by itself."""

import accounts
import cases
import kernels
import numpy as np
import pytest

import cyclotron as cy

SOME = list(cases.all_cases())[::7]


def product(n, k, m, recipe=cy.schedules.output_stationary, **machine):
    spec = cy.spec((n, k)), cy.spec((k, m))
    program = kernels.matmul.compile(*spec, schedule=recipe(kernels.matmul), machine=cy.Machine(**machine))
    return cy.run(program, backend="sim", functional=False)


def channels(by_channel):
    return {name: cycles.tolist() for name, cycles in by_channel.items() if cycles.any()}


def test_pes_of_a_wavefront_wait_to_start_and_then_no_more():
    found = accounts.check(product(3, 9, 4))
    assert found.start.tolist() == [[i + j for j in range(4)] for i in range(3)]
    assert channels(found.empty) == channels(found.full) == {}


def test_a_shallow_channel_is_waited_for_at_both_ends():
    """A message leaves every second cycle: it takes one cycle, and the free place another one to be seen."""
    found = accounts.check(product(1, 9, 2, link=cy.Link(latency=1, response_latency=1, depth=1)))
    assert found.start.tolist() == [[0, 1]]
    assert channels(found.full) == {"A along j": [[8, 0]]}
    assert channels(found.empty) == {"A along j": [[0, 8]]}
    assert found.done.tolist() == [[1, 0]]


def test_a_wait_is_of_the_channel_that_is_slow():
    slow = cy.Link(latency=1, response_latency=5, depth=1)
    found = accounts.check(product(2, 9, 2, links={(1, 0): slow}))
    assert set(channels(found.full)) == {"B along i"}
    assert found.full["B along i"][0, 0] == 8 * 5  # a place is free 6 cycles after a send, and one is busy


def test_a_sender_waits_once_for_a_broadcast():
    """To three receivers at once, over a network that is free every fourth cycle."""
    schedule = cy.Schedule().space("i", "j").time("k").broadcast("A", along="j").stream("B", along="i")
    tiles = cy.blocked(np.ones((1, 36)), (1, 4)), cy.blocked(np.ones((36, 4)), (4, 1))
    machine = cy.Machine(
        broadcast=cy.Link(depth=99), pe=cy.PE(cycles=dict.fromkeys(("matmul", "matmul_add"), 1))
    )
    result = cy.run(kernels.matmul.compile(*tiles, schedule=schedule, machine=machine), backend="sim")
    found = accounts.check(result)
    assert channels(found.full) == {"A broadcast along j": [[8 * 3, 0, 0, 0]]}
    assert "a broadcast on" in str(found)


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
def test_all_causes_add_up(case):
    accounts.check(cy.run(case.compile(), backend="sim"))


def test_tables():
    found = product(2, 3, 2, link=cy.Link(latency=1, response_latency=1, depth=1)).accounting()
    for text in (str(found), found._repr_html_()):
        assert all(words in text for words in ("computes", "waits to start", "A along j", "done", "matmul"))
    assert repr(found).startswith("<accounting of matmul on 2×2: ")


def test_runs_without_messages_say_what_to_do():
    result = product(3, 4, 5)
    assert result.accounting().start.shape == (3, 5)
    bare = cy.run(result.program, backend="sim", functional=False, event_limit=0)
    with pytest.raises(cy.ExecutionError, match="event_limit"):
        bare.accounting()

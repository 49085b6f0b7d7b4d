"""The messages that a simulation records."""

import itertools

import cases
import numpy as np
import pytest

import cyclotron as cy

SOME = [case for case in cases.all_cases() if case.name.endswith(("/5", "/5x5", "/3x4x5", "ragged-tiles"))]


def place(result, pes):
    return np.stack(np.unravel_index(pes.astype(np.int64), result.grid), axis=-1)


@pytest.mark.parametrize("functional", [True, False])
@pytest.mark.parametrize("case", SOME, ids=[case.name for case in SOME])
def test_messages_are_what_the_channels_carried(case, functional):
    result = cy.run(case.compile(), backend="sim", functional=functional)
    messages = result.messages
    for number, channel in enumerate(result.stats["channels"]):
        of = messages[messages["channel"] == number]
        assert len(of) == channel["messages"]
        assert of["words"].sum() == channel["words"]
        assert (of["link_free"] - of["sent"]).sum() == channel["busy_cycles"]
        found = result.program.channels[number]
        if found["kind"] == "link" and len(of):
            hop = (place(result, of["receiver"]) - place(result, of["sender"])).tolist()
            assert hop == [found["offset"]] * len(of)
    times = [messages[name] for name in ("ready", "sent", "arrival", "received")]
    assert all((before <= after).all() for before, after in itertools.pairwise(times))
    np.testing.assert_array_equal(messages["received"], np.maximum(messages["arrival"], messages["waiting"]))
    waits = np.zeros(result.grid, dtype=np.int64).ravel()
    np.add.at(waits, messages["receiver"], messages["received"] - messages["waiting"])
    np.testing.assert_array_equal(waits, result.stats["stall_empty"].ravel())


@pytest.mark.parametrize("functional", [True, False])
def test_a_pe_does_one_thing_after_the_other(functional):
    """Its computations, sends and receives, in order, each start where the one before ended."""
    for case in SOME:
        result = cy.run(case.compile(), backend="sim", functional=functional)
        spans = {}
        for event in result.events:
            spans[int(event["pe"]), int(event["order"])] = (int(event["start"]), int(event["end"]))
        for m in result.messages:
            spans[int(m["sender"]), int(m["send_order"])] = (int(m["ready"]), int(m["sent"]))
            spans[int(m["receiver"]), int(m["receive_order"])] = (int(m["waiting"]), int(m["received"]))
        orders = sorted(order for _, order in spans)
        assert orders == list(range(len(orders)))
        now = {}
        for (pe, _), (start, end) in sorted(spans.items()):
            assert start == now.get(pe, 0)
            now[pe] = end
        assert max(now.values(), default=0) == result.cycles
        assert (result.messages["send_order"] < result.messages["receive_order"]).all()


@pytest.mark.parametrize("functional", [True, False])
def test_messages_are_kept_up_to_the_limit_and_not_without_events(functional):
    case = next(case for case in SOME if case.name == "matmul/output-stationary/3x4x5")
    program = case.compile()

    def kept(limit):
        result = cy.run(program, backend="sim", functional=functional, event_limit=limit)
        return len(result.events), len(result.messages), result.messages_dropped

    sent = 4 * (3 * 4 + 5 * 2)
    assert kept(200_000) == (60, sent, 0)
    assert kept(sent) == (60, sent, 0)
    assert kept(sent - 1) == (60, 0, sent)
    assert kept(59) == (0, 0, sent)
    assert kept(0) == (0, 0, 0)

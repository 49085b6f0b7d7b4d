"""Listing 1 of MACH's paper beside its Listings 3 to 6 and 9: shares of sections, order, channels.

The paper's tables are written out here; of its errata M2, M6 and M7 matter. Where programs differ: the
first iteration, which no flag decides, is in the section before the loop; the flag comes from the workers,
that hold `myGS`, so an iteration's section is sent before it is known whether the loop ends in it, and
elements stay as they are there; arguments of a call are the addresses of the tensors that it loads and
stores, without filters and lengths; and sums are by chains of workers, so there are no colors
`reduction_1` to `reduction_4`.
"""

import itertools
import sys
from pathlib import Path

import mutants
import numpy as np
import pytest

import cyclotron as cy

sys.path.append(str(Path(__file__).parents[2] / "examples"))
import mach_listing

ELEMENTS = 10  # of myGA: Listing 3, line 16
# By response PE, for sections 0 (an iteration) and 1 (after the loop): Listings 4 and 5, lines 14 to 16.
# Lengths are in words of 16 bits, of which a call has two.
CONTROL_LENGTHS = ((2, 2), (0, 2))
# Listing 4, lines 10 and 11; Listing 5, lines 10 and 11. The last zero of each of the latter is padding (M2).
ARGUMENTS = (((24546, 24560), (1, 24544)), ((24546, 1, 1, 0), (0, 10, 24566, 0)))
READ = (5, 4 + 1)  # Listing 7, lines 17, 49 and 91
# Listing 9, lines 3 to 7, and the channels of the control system.
COLORS = {
    "ctrl_color": "calls",
    "args_color": "arguments",
    "ctrl_color_dist": "calls in",
    "args_color_dist": "arguments in",
    "ctrl_coord_color": "section",
}


@pytest.fixture(scope="module")
def program():
    machine = cy.machines.wse2(10, 10)
    return mach_listing.listing.compile(
        *mach_listing.problem(), schedule=mach_listing.WORKERS, machine=machine
    )


def document_of(control):
    return mutants.text_of(control.core.to_bytes())[0]


def code_of(control, name):
    (found,) = [one for one in document_of(control)["classes"] if one["name"] == name]
    return found["code"]


def wavelet_of(control, response):
    """The word by which routers turn: the section's number, of which only that it comes counts."""
    (found,) = [one for one in document_of(control)["classes"] if one["name"] == f"response {response}"]
    return {"slot": [slot["name"] for slot in found["slots"]].index("section"), "index": [0]}


def words_sent(control, response, channel):
    """By section: how many words a response PE sends, after it has heard the number of each."""
    number = [one["name"] for one in document_of(control)["channels"]].index(channel)
    wavelet = wavelet_of(control, response)
    counts, times, blocks = [], [1], []
    for one in code_of(control, f"response {response}"):
        if one["do"] in ("loop", "if"):
            repeats = one["do"] == "loop" and one["name"] == "n"
            steps = one["upper"][0]["form"][0] - one["lower"][0]["form"][0] + 1 if repeats else 1
            blocks.append(one["do"])
            times.append(times[-1] * steps)
        elif one["do"] == "end":
            times.pop()
        elif one["do"] == "receive" and control.channels[one["channel"]]["name"] == "section":
            counts.append(0)
        elif one["do"] == "broadcast" and one["channel"] == number and one["source"] != wavelet:
            counts[-1] += times[-1]
    return counts


def test_paper_and_errata():
    """The tables are consistent without their padding: workers read what response PEs send."""
    for section, read in enumerate(READ):
        sent = sum(len(response[section]) for response in ARGUMENTS)
        assert sent - 1 == read
        assert ARGUMENTS[1][section][-1] == 0


def test_calls_are_shared_out_as_in_the_paper(program):
    """MA-024, MA-111, MA-121: of an iteration's section and of the one after the loop, by response PE."""
    _, iteration, after = program.sections
    assert (iteration.loop, after.loop) == ("gs_at", "")
    assert [len(one.calls) for one in (iteration, after)] == [
        sum(lengths[section] for lengths in CONTROL_LENGTHS) // 2 for section in (0, 1)
    ]
    control = program.control_system
    assert len(program.roles["response"]) == len(CONTROL_LENGTHS)
    for response, lengths in enumerate(CONTROL_LENGTHS):
        own = [length // 2 for length in lengths]
        sent = words_sent(control, response, "calls in")
        assert [count for count in sent[1:] if count] == [count for count in own if count]
    # Arguments go with their call: the same response PE sends both.
    arguments = [sum(words_sent(control, response, "arguments in")) for response in (0, 1)]
    expected = np.zeros(2, int)
    for section in program.sections:
        first = -(-len(section.calls) // 2)
        expected += [
            sum(len(call.arguments) for call in part)
            for part in (section.calls[:first], section.calls[first:])
        ]
    assert arguments == expected.tolist()


def test_a_wavelet_follows_each_share_on_both_ways(program):
    """MA-029, MA-121: Listing 4, lines 57 to 71; with one response PE a side none has to be reset."""
    control = program.control_system
    names = [one["name"] for one in control.channels]
    assert "reset" not in names
    for response in (0, 1):
        sent = [
            (names[one["channel"]], one["source"] == wavelet_of(control, response))
            for one in code_of(control, f"response {response}")
            if one["do"] == "broadcast"
        ]
        shares = sum(is_wavelet for _, is_wavelet in sent) // 2
        assert shares == sum(count > 0 for count in words_sent(control, response, "calls in"))
        after = [n for n, (_, is_wavelet) in enumerate(sent) if is_wavelet]
        assert after[1::2] == [n + 1 for n in after[::2]]
        for n in after[::2]:
            assert sent[n : n + 2] == [("calls in", True), ("arguments in", True)]
            assert sent[n - 1] == ("arguments in", False)


def test_the_executive_sends_a_section_an_iteration_and_one_after_the_loop(program):
    """MA-022, MA-026, MA-110, MA-121: Listing 3, lines 22 to 45; the loop over myGA is there, whole."""
    code = code_of(program.control_system, "executive")
    kinds = [one["do"] for one in code]
    (loop,) = [one for one in code if one["do"] == "loop"]
    first, last = (loop[name][0]["form"][0] for name in ("lower", "upper"))
    assert (first, last) == (1, ELEMENTS - 1)  # iteration 0 is in the section before
    start, exit_at = kinds.index("loop"), kinds.index("exit")
    numbers = [one["source"]["real"] for one in code if one["do"] == "move" and "real" in one["source"]]
    assert numbers[-3:] == [1, 2, 3]  # one before, one an iteration, one after, each written once
    inside = [one["do"] for one in code[start:exit_at]]
    assert inside.count("move") == 1
    assert kinds[exit_at + 1 : exit_at + 3] == ["end", "move"]


def test_each_iteration_sends_its_section_until_the_sum_is_over_100(program):
    """MA-032, MA-110: Listing 3, lines 27 to 34, which ends the loop; here one iteration more may be begun.

    It changes nothing, as in the paper the iteration that ends the loop (M7).
    """
    _, elements = mach_listing.problem()
    rounds = int(np.argmax(np.cumsum(elements) > 100.0)) + 1
    result = cy.run(program, backend="sim")
    (steps,) = result.steps.values()
    assert steps in (rounds, rounds + 1)
    assert steps < ELEMENTS
    for found, right in zip(
        result.outputs.values(), mach_listing.listing.reference(*mach_listing.problem()), strict=True
    ):
        np.testing.assert_array_equal(found, right)


def test_the_merge_pe_passes_on_what_it_is_sent(program):
    """MA-027, MA-028, MA-114: Listing 6: words in the order of the shares, by a queue of 1,000."""
    control = program.control_system
    code = code_of(control, "merge")
    passed = [
        (control.channels[one["channel"]]["name"], control.channels[after["channel"]]["name"])
        for one, after in itertools.pairwise(code)
        if one["do"] == "receive"
        and control.channels[one["channel"]]["name"] != "goes on"
        and after["do"] == "send"
    ]
    assert set(passed) == {("calls in", "calls"), ("arguments in", "arguments")}
    received = [control.channels[one["channel"]]["name"] for one in code if one["do"] == "receive"]
    sent = [one for one in code if one["do"] == "send"]
    shares = sum(count > 0 for n in (0, 1) for count in words_sent(control, n, "calls in"))
    assert len(passed) == len(sent) == len([name for name in received if name != "goes on"]) - 2 * shares
    depths = {one["name"]: one["depth"] for one in control.channels}
    assert depths["calls"] == depths["arguments"] == 1000


def test_colors_of_the_control_system(program):
    """MA-019, MA-122: Listing 9's colors of control and arguments have a channel each."""
    names = [one["name"] for one in program.control_system.channels]
    assert set(COLORS.values()) < set(names)
    assert len(set(names)) == len(names) <= program.machine.pe.channels

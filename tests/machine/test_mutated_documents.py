"""Documents with one wrong entry are refused, as Cyclotron refuses, or are of a machine or a schedule."""

import copy
import math

import pytest

import cyclotron as cy

VALUES = [
    *(None, True, 0, -1, 1, 7, 2**31, 2**63, 2**64, -(2**80), 1.5, -0.0, math.nan, math.inf, 1e308),
    *(
        "",
        "i",
        "0,1",
        "i-",
        "é\0",
        [],
        [[]],
        [None],
        [1, 2, 3],
        ["i", "i"],
        [{}],
        {},
        {"i": 1},
        {"": {}},
        {1: 2},
    ),
    *({"i": ["j"]}, {"A": "j"}, {"i": {}}, (1, 2), 1j, b"i", {1, 2}, object),
]

MACHINES = {
    "wormhole": cy.machines.wormhole(),
    "tpu": cy.machines.tpu_v1(),
    "tree": cy.machines.tree(16),
    "linked": cy.Machine(
        grid=(4, 4),
        topology=("torus", "mesh"),
        links={(0, 1): cy.Link(latency=2)},
        memories={"dram": cy.Memory(bandwidth=2, latency=3, serves=":, 0", shared_by=(2, 1))},
        clock=1e9,
        chiplets=cy.Chiplets((2, 2), cy.Link(latency=5)),
        control=cy.Control(latency=3),
    ),
}
SCHEDULES = {
    "streams": cy.Schedule().space("i", "j").time("k").stream("A", along="j").broadcast("B"),
    "parts": cy.Schedule()
    .space("i-k", "j")
    .fold(i=cy.block(2), j=cy.cyclic(3))
    .rotate("k", by="i")
    .panels("k", 2),
    "sums": cy.Schedule().space("i", "b").reassociate("k", 4, into="b").inwards("b").reduce("i", "tree"),
    "places": cy.Schedule().space("i").prefetch("W").place("x", "i", 0).stages("k"),
}


def documents():
    for name, machine in MACHINES.items():
        yield pytest.param(cy.Machine, machine.to_dict(), id=name)
    for name, schedule in SCHEDULES.items():
        yield pytest.param(cy.Schedule, schedule.to_dict(), id=name)


def places(value, path=()):
    """The places of a document's entries and keys, of all depths."""
    yield path
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, entry in entries:
        yield from places(entry, (*path, key))


def changed(document, path, change):
    """The document where `change(holder, key)` was called for the entry at a path."""
    holder = whole = {"document": copy.deepcopy(document)}
    for key in ("document", *path)[:-1]:
        holder = holder[key]
    change(holder, ("document", *path)[-1])
    return whole["document"]


def mutants(document):
    for path in places(document):
        for value in VALUES:
            yield changed(document, path, lambda holder, key, value=value: holder.__setitem__(key, value))
            if path and isinstance(path[-1], str):  # as a name, too
                named = value if value.__hash__ is not None else None
                yield changed(
                    document, path, lambda holder, key, name=named: holder.__setitem__(name, holder.pop(key))
                )
        if path:
            yield changed(document, path, lambda holder, key: holder.__delitem__(key))


@pytest.mark.parametrize(("kind", "document"), list(documents()))
def test_a_wrong_entry_is_refused(kind, document):
    assert kind.from_dict(document).to_dict() == document
    bare = {}
    for mutant in mutants(document):
        try:
            read = kind.from_dict(mutant)
            read.to_core()
        except cy.InternalError as error:
            bare[repr(error)] = mutant
        except cy.CyclotronError:
            continue
        except Exception as error:
            bare[repr(error)] = mutant
        else:
            str(read), repr(read), hash(read)
            assert kind.from_dict(read.to_dict()) == read
    assert not bare

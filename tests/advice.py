"""The advice of a DeadlockError is exact: the program runs with each change of depths."""

import ast
import dataclasses
import itertools
import re

import cyclotron as cy
from cyclotron.machine.parts import UNBOUNDED


def changes(error):
    """The depths of the channels that it names."""
    found = re.search(r"program\.with_depths\((\{.*?\})\)", error.help)
    return ast.literal_eval(found.group(1))


def uniform(error):
    """The one depth for all channels."""
    return int(re.search(r"depth of (\d+) for every channel", error.help).group(1))


def passes(program):
    try:
        cy.run(program, backend="sim", functional=False, event_limit=0)
    except cy.DeadlockError:
        return False
    return True


def given(program):
    """The depths that the program and its machine give, by channel, the least of any queue."""
    machine = program.core.machine

    def depth(channel):
        if channel["depth"] > 0:
            return channel["depth"]
        if channel["kind"] == "network":
            return machine.broadcast.depth
        own = machine.links.get(tuple(channel["offset"]), machine.link).depth
        return min(own, machine.chiplets.link.depth) if machine.chiplets else own

    return {channel["name"]: depth(channel) for channel in program.channels}


def exact(program, error):
    """The changes pass, none of them can be less, no fewer channels suffice; and so for the one depth."""
    before, named = given(program), changes(error)
    assert all(depth > before[name] for name, depth in named.items())
    assert passes(program.with_depths(named))
    for name, depth in named.items():
        assert not passes(program.with_depths({**named, name: depth - 1}))
    for fewer in itertools.combinations(before, len(named) - 1):
        assert not passes(program.with_depths(dict.fromkeys(fewer, UNBOUNDED)))
    depth = uniform(error)
    assert passes(deepened(program, depth))
    assert not passes(deepened(program, depth - 1))


def deepened(program, depth):
    """With no queue shallower than that, whether its depth is the program's or the machine's."""
    machine = program.machine

    def deeper(link):
        return link and dataclasses.replace(link, depth=max(depth, link.depth))

    def deeper_links(links):
        return {key: deeper(link) for key, link in links.items()}

    chiplets, topology = machine.chiplets, machine.topology
    if chiplets:
        chiplets = dataclasses.replace(chiplets, link=deeper(chiplets.link))
    if machine.link_maps:
        maps = machine.link_maps
        topology = tuple(dataclasses.replace(one, link=deeper(one.link)) for one in maps)
    own = {number: channel["depth"] for number, channel in enumerate(program.channels)}
    return program.with_machine(
        dataclasses.replace(
            machine,
            link=deeper(machine.link),
            broadcast=deeper(machine.broadcast),
            broadcasts=deeper_links(machine.broadcasts),
            links=deeper_links(machine.links),
            chiplets=chiplets,
            topology=topology,
        )
    ).with_depths({number: max(depth, old) for number, old in own.items() if old > 0})

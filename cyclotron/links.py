"""What a program's channels travel on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def link_of(machine: Mapping[str, Any], channel: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the link along a channel's offset, or the broadcast network.

    Parameters
    ----------
    machine : mapping
        Of the core's program.
    channel : mapping
        One of `Program.channels`.

    Returns
    -------
    mapping
        ``latency_cycles``, ``response_latency_cycles``, ``words_per_cycle`` and ``depth``.
    """
    if channel["kind"] == "network":
        network: Mapping[str, Any] = machine["broadcast"]
        return network
    along = (link for offset, link in machine["links"] if tuple(offset) == tuple(channel["offset"]))
    found: Mapping[str, Any] = next(along, machine["link"])
    return found


def depth_of(machine: Mapping[str, Any], channel: Mapping[str, Any]) -> int:
    """Return how many messages each queue of a channel holds: its own depth, or its link's.

    Parameters
    ----------
    machine : mapping
        Of the core's program.
    channel : mapping
        One of `Program.channels`.
    """
    return int(channel["depth"] or link_of(machine, channel)["depth"])

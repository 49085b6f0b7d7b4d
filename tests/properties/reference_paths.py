"""The graph of what each step of a PE has to wait for, and the longest paths in it.

The graph comes from the order of things in the slow simulator, not from its clocks.
"""

from __future__ import annotations

import graphlib
import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import reference_simulator

import cyclotron as cy


@dataclass
class Node:
    """The end of a computation, a send or a receive, or a PE's start."""

    pe: tuple[int, ...]
    waits: list[tuple[int, int, str]] = field(default_factory=list)  # node, cycles, kind


def longest_paths(program: cy.Program) -> tuple[list[Node], list[int]]:
    """All nodes, and the length of the longest path to each."""
    graph = _Graph(program)
    graph.run()
    nodes = graph.nodes
    sorter = graphlib.TopologicalSorter(
        {n: {before for before, _, _ in node.waits} for n, node in enumerate(nodes)}
    )
    length = [0] * len(nodes)
    for n in sorter.static_order():
        length[n] = max((length[w] + cycles for w, cycles, _ in nodes[n].waits), default=0)
    return nodes, length


class _Graph(reference_simulator._Simulation):
    def __init__(self, program: cy.Program) -> None:
        super().__init__(program, json.loads(program.core.to_bytes()[24:]), [])
        self.nodes: list[Node] = []
        self.passes: dict[tuple[Any, bool], list[int]] = defaultdict(list)  # nodes by PE
        self.last: dict[Any, int] = {}  # node by PE
        self.last_on: dict[Any, tuple[int, int]] = {}  # node and transfer by channel and sender
        self.sends: dict[int, list[int]] = defaultdict(list)  # nodes by queue
        self.receives: dict[int, list[int]] = defaultdict(list)

    def run(self) -> Any:
        found = super().run()
        self.add_transfers()
        return found

    def add_transfers(self) -> None:
        """Nodes for the starts of transfers, once their order is known."""
        memories = self.memories
        start_of: dict[tuple[Any, bool], list[int]] = defaultdict(list)
        for port in memories.ports:
            before = None
            for request in port.served:
                pe, depth = request.pe, port.machine["depth"]
                own = start_of[pe, request.stores]
                node = Node(pe)
                if before is not None:
                    node.waits.append((len(self.nodes) - 1, before.cycles, "port"))
                if request.stores:
                    node.waits.append((self.passes[pe, True][len(own)], 0, "order"))
                elif len(own) >= depth:
                    node.waits.append((self.passes[pe, False][len(own) - depth], 0, "order"))
                own.append(len(self.nodes))
                self.nodes.append(node)
                before = request
        for pe, number in memories.port_of.items():
            if number < 0:
                continue
            port = memories.ports[number]
            latency, depth = port.machine["latency_cycles"], port.machine["depth"]
            cycles = {
                stores: [-(-len(w) // port.machine["words_per_cycle"]) for w in transfers[pe].places]
                for stores, transfers in ((False, memories.loads), (True, memories.stores))
            }
            for m, node in enumerate(self.passes[pe, False]):
                way = cycles[False][m] + latency - 1
                self.nodes[node].waits.append((start_of[pe, False][m], way, "memory"))
            for m, node in enumerate(self.passes[pe, True][depth:]):
                self.nodes[node].waits.append((start_of[pe, True][m], cycles[True][m], "memory"))
            for m, start in enumerate(start_of[pe, True]):
                node = Node(pe, [(start, cycles[True][m] + latency - 1, "memory")])
                self.nodes.append(node)

    def load(self, step: Any, environment: Any, pe: Any, clock: Any, sizes: Any) -> Any:
        yield from super().load(step, environment, pe, clock, sizes)
        self.add_pass(pe, False)

    def store(self, step: Any, environment: Any, pe: Any, clock: Any, sizes: Any) -> Any:
        yield from super().store(step, environment, pe, clock, sizes)
        self.add_pass(pe, True)

    def add_pass(self, pe: Any, stores: bool) -> None:
        """A node where the PE goes on from a LOAD or STORE."""
        if self.memories.port_of[pe] >= 0:
            self.add(pe)
            self.passes[pe, stores].append(self.last[pe])

    def add(self, pe: Any, cycles: int = 0, kind: str = "order") -> Node:
        """A node after the PE's last."""
        if pe not in self.last:  # its start
            self.last[pe] = len(self.nodes)
            self.nodes.append(Node(pe))
        node = Node(pe, [(self.last[pe], cycles, kind)])
        self.last[pe] = len(self.nodes)
        self.nodes.append(node)
        return node

    def compute(self, step: Any, environment: Any, pe: Any, clock: Any, sizes: Any) -> Any:
        done = super().compute(step, environment, pe, clock, sizes)
        start, end, _ = clock.operators[-1]
        self.add(pe, end - start, "compute")
        return done

    def enter(self, step: Any, environment: Any, pe: Any, receivers: Any, size: Any, clock: Any) -> Any:
        yield from super().enter(step, environment, pe, receivers, size, clock)
        if not receivers:
            return
        number = step["channel"]
        node = self.add(pe)
        link = self.queue(number, pe, receivers[0]).link
        if (number, pe) in self.last_on:
            node.waits.append((*self.last_on[number, pe], "bandwidth"))
        self.last_on[number, pe] = (self.last[pe], reference_simulator._transfer(size, link))
        for to in receivers:
            queue = self.queue(number, pe, to)
            message = len(self.sends[id(queue)])
            self.sends[id(queue)].append(self.last[pe])
            if message >= queue.depth:
                left = self.receives[id(queue)][message - queue.depth]
                node.waits.append((left, link["response_latency_cycles"], "capacity"))

    def receive(self, step: Any, environment: Any, pe: Any, clock: Any, sizes: Any) -> Any:
        before = {key: len(queue.left) for key, queue in self.queues.items()}
        yield from super().receive(step, environment, pe, clock, sizes)
        ((number, _, _), queue) = next(
            (key, queue)
            for key, queue in self.queues.items()
            if key[2] == pe and len(queue.left) > before.get(key, 0)
        )
        message = len(self.receives[id(queue)])
        transfer = reference_simulator._transfer(queue.sizes[message], queue.link)
        node = self.add(pe)
        kind = "data" if self.program["channels"][number]["kind"] == "link" else "broadcast"
        delay = queue.link["latency_cycles"] + transfer - 1
        node.waits.append((self.sends[id(queue)][message], delay, kind))
        self.receives[id(queue)].append(self.last[pe])

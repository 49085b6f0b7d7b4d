"""A network of routers in plain Python, slow and obvious: the rules of the documentation one by one.

A channel is ``(node, port, number)``: a virtual channel of the link that leaves `node` by `port`, or, where
it is a buffer, of the link that comes in there. Nodes are coordinates; ports are ``(-1, 0)``, the node, and
``(dimension, -1)`` and ``(dimension, 1)``, its neighbours.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict, deque
from dataclasses import dataclass, field

HERE = (-1, 0)


@dataclass(eq=False)
class Packet:
    """Flits from a node to another, and when they were created and were there."""

    created: int
    source: tuple[int, ...]
    destination: tuple[int, ...]
    flits: int
    arrived: int | None = None


@dataclass
class Buffer:
    """Flits of packets, each with the cycle of its arrival, the last one marked."""

    flits: deque = field(default_factory=deque)
    in_front_since: int = 0  # of the packet in front
    channel: tuple | None = None  # that it has been given
    switches_from: int = 0


class Turns:
    """Round robin: the first candidate after the last winner, at first from the lowest."""

    def __init__(self):
        self.next = defaultdict(int)

    def choose(self, who, candidates, order):
        return min(candidates, key=lambda one: (order.index(one) - self.next[who]) % len(order))

    def won(self, who, winner, order):
        self.next[who] = (order.index(winner) + 1) % len(order)


class Mesh:
    """A mesh or a torus of routers."""

    def __init__(
        self,
        shape=(8, 8),
        *,
        wraps=False,
        first_dimension_first=False,
        router=3,
        link=1,
        credit=1,
        channels=2,
        depth=8,
        switching="wormhole",
    ):
        self.shape, self.wraps, self.first_dimension_first = shape, wraps, first_dimension_first
        self.router, self.link, self.credit = router, link, credit
        self.channels, self.switching = channels, switching
        self.nodes = list(itertools.product(*map(range, shape)))
        self.ports = [HERE] + [(d, step) for d in range(len(shape)) for step in (-1, 1)]
        self.numbers = list(range(channels))
        self.of_router = [(port, number) for port in self.ports for number in self.numbers]
        self.buffers = {(node, *one): Buffer() for node in self.nodes for one in self.of_router}
        self.room = defaultdict(lambda: depth)  # flits that may still be sent over a channel
        self.owner = {}  # the buffer whose packet has a channel
        self.waiting = {node: deque() for node in self.nodes}  # packets at their nodes
        self.sending = {}  # by node: the number of its channel and the flits that are left
        self.turns = {name: Turns() for name in ("source", "channel", "buffer", "link", "port", "number")}
        self.landing = defaultdict(list)  # by cycle
        self.returning = defaultdict(list)
        self.cycle = 0

    # Ways.

    def distance(self, node, destination, d):
        steps = destination[d] - node[d]
        if self.wraps:
            steps %= self.shape[d]
            if 2 * steps > self.shape[d]:
                steps -= self.shape[d]
        return steps

    def hops(self, node, destination):
        return sum(abs(self.distance(node, destination, d)) for d in range(len(self.shape)))

    def port_to(self, node, destination):
        dimensions = range(len(self.shape))
        for d in dimensions if self.first_dimension_first else reversed(dimensions):
            steps = self.distance(node, destination, d)
            if steps:
                return (d, 1 if steps > 0 else -1)
        return HERE

    def neighbor(self, node, port):
        d, step = port
        return (*node[:d], (node[d] + step) % self.shape[d], *node[d + 1 :])

    def numbers_for(self, node, port, packet):
        """The virtual channels that a packet may have."""
        if port == HERE or not self.wraps:
            return self.numbers
        d, step = port
        at, end = packet.source[d], node[d]
        places = [at]  # along this dimension, up to the end of the next hop
        while at != end:
            at = (at + step) % self.shape[d]
            places.append(at)
        places.append((end + step) % self.shape[d])
        has_wrapped = any(abs(b - a) > 1 or (b - a) * step < 0 for a, b in itertools.pairwise(places))
        upper = self.channels // 2
        return self.numbers[-upper:] if has_wrapped else self.numbers[: self.channels - upper]

    # A cycle.

    def step(self):
        now = self.cycle
        for channel in self.returning.pop(now, ()):
            self.room[channel] += 1
        for place, packet, is_last in self.landing.pop(now, ()):
            if place is None:
                if is_last:
                    packet.arrived = now + 1
                continue
            buffer = self.buffers[place]
            if not buffer.flits:
                buffer.in_front_since = now
            buffer.flits.append((packet, now, is_last))
        for node in self.nodes:
            if self.waiting[node]:
                self.send_from(node)
        for node in self.nodes:
            if any(self.buffers[node, port, number].flits for port, number in self.of_router):
                self.give_channels(node)
                self.switch(node)
        self.cycle += 1

    def has_room(self, channel, packet):
        return self.room[channel] >= (1 if self.switching == "wormhole" else packet.flits)

    def send_from(self, node):
        packet = self.waiting[node][0]
        if node not in self.sending:
            free = [n for n in self.numbers if self.has_room(("source", node, n), packet)]
            if not free:
                return
            number = self.turns["source"].choose(node, free, self.numbers)
            self.turns["source"].won(node, number, self.numbers)
            self.sending[node] = (number, packet.flits)
        number, left = self.sending[node]
        if not self.room["source", node, number]:
            return
        self.room["source", node, number] -= 1
        self.landing[self.cycle + self.link].append(((node, HERE, number), packet, left == 1))
        self.sending[node] = (number, left - 1)
        if left == 1:
            del self.sending[node]
            self.waiting[node].popleft()

    def asks_for(self, node, place):
        """The channels that the packet in front of a buffer asks for."""
        buffer = self.buffers[place]
        if not buffer.flits or buffer.channel is not None:
            return []
        packet = buffer.flits[0][0]
        since = buffer.in_front_since
        if self.switching == "store_and_forward":
            own = [flit for flit in buffer.flits if flit[0] is packet]
            if not own[-1][2]:
                return []
            since = max(since, own[-1][1])
        if self.cycle < since + max(0, self.router - 3):
            return []
        port = self.port_to(node, packet.destination)
        channels = [(node, port, number) for number in self.numbers_for(node, port, packet)]
        if self.switching != "wormhole" and port != HERE:
            channels = [channel for channel in channels if self.has_room(channel, packet)]
        return [channel for channel in channels if channel not in self.owner]

    def give_channels(self, node):
        order = [(node, *one) for one in self.of_router]
        wishes = {place: asked for place in order if (asked := self.asks_for(node, place))}
        offers = defaultdict(list)
        for channel in dict.fromkeys(itertools.chain(*wishes.values())):
            asking = [place for place in wishes if channel in wishes[place]]
            offers[self.turns["channel"].choose(channel, asking, order)].append(channel)
        for place, offered in offers.items():
            channel = self.turns["buffer"].choose(place, offered, order)
            self.turns["buffer"].won(place, channel, order)
            self.turns["channel"].won(channel, place, order)
            self.owner[channel] = place
            self.buffers[place].channel = channel
            self.buffers[place].switches_from = self.cycle + (0 if self.router == 1 else 1)

    def switch(self, node):
        ready = defaultdict(list)  # by input and output port: the numbers of the buffers
        for port, number in self.of_router:
            buffer = self.buffers[node, port, number]
            if buffer.channel is None or not buffer.flits or self.cycle < buffer.switches_from:
                continue
            if buffer.channel[1] == HERE or self.room[buffer.channel]:
                ready[port, buffer.channel[1]].append(number)
        offers = defaultdict(list)
        for output in {output for _, output in ready}:
            asking = [port for port in self.ports if (port, output) in ready]
            offers[self.turns["link"].choose((node, output), asking, self.ports)].append(output)
        for port, offered in offers.items():
            output = self.turns["port"].choose((node, port), offered, self.ports)
            number = self.turns["number"].choose((node, port), ready[port, output], self.numbers)
            self.turns["port"].won((node, port), output, self.ports)
            self.turns["link"].won((node, output), port, self.ports)
            self.turns["number"].won((node, port), number, self.numbers)
            self.send_on(node, port, number)

    def send_on(self, node, port, number):
        buffer = self.buffers[node, port, number]
        packet, _, is_last = buffer.flits.popleft()
        before = ("source", node) if port == HERE else (self.neighbor(node, port), (port[0], -port[1]))
        self.returning[self.cycle + self.link + self.credit].append((*before, number))
        _, output, taken = buffer.channel
        place = None
        if output != HERE:
            self.room[buffer.channel] -= 1
            place = (self.neighbor(node, output), (output[0], -output[1]), taken)
        crossing = min(2, max(1, self.router - 1))
        self.landing[self.cycle + crossing + self.link].append((place, packet, is_last))
        if is_last:
            del self.owner[buffer.channel]
            buffer.channel = None
            buffer.in_front_since = self.cycle + 1

    # Runs.

    def deliver(self, packets):
        """Run until all packets are there."""
        later = deque(sorted(packets, key=lambda packet: packet.created))
        while any(packet.arrived is None for packet in packets):
            while later and later[0].created == self.cycle:
                packet = later.popleft()
                self.waiting[packet.source].append(packet)
            self.step()
        return [packet.arrived for packet in packets]

    def mean_latency(self, draw, rate, flits, *, seed, warmup, cycles):
        """Of the packets that nodes create in some cycles; `draw` says where to, and traffic goes on."""
        numbers = random.Random(seed)
        measured = []
        while self.cycle < warmup + cycles or any(packet.arrived is None for packet in measured):
            for node in self.nodes:
                if numbers.random() < rate / flits and (destination := draw(node, numbers)) != node:
                    packet = Packet(self.cycle, node, destination, flits)
                    self.waiting[node].append(packet)
                    if warmup <= self.cycle < warmup + cycles:
                        measured.append(packet)
            self.step()
        return sum(packet.arrived - packet.created for packet in measured) / len(measured)

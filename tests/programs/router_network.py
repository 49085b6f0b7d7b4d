"""A wafer's fabric, wavelet by wavelet: routers with the routes of `Routes.to_dict`, and PEs that use them.

It shares nothing with the package but the decoded program and that dict: regions are evaluated here, PE by
PE. A port of a router is a queue for each color; in a state wavelets go from the state's ports in to all of
its ports out at once, where these have room; those at other ports wait. A control wavelet that passes takes
the router to its next state. Queues hold as many messages as the machine's links, a PE takes one word at a
time, and all wait for room: what comes late, early, or not at all is found by its tag.
"""

import collections
import random

import numpy as np
import toy_backend

WORDS = 2  # of a message, the tile in the first one
NEIGHBOUR = {"L": (0, -1), "R": (0, 1), "U": (-1, 0), "D": (1, 0)}
OPPOSITE = {"L": "R", "R": "L", "U": "D", "D": "U"}
ADVANCE = "advance"
OTHERS = {"select": np.where, "to_float64": np.float64}


def kernel(name):
    """An operator: NumPy's where `toy_backend` has none."""
    return toy_backend.KERNELS.get(name) or OTHERS.get(name) or getattr(np, name)


class Routers:
    """The routers of a grid, each color of each in one state of one way."""

    def __init__(self, routes, grid, room):
        self.grid, self.room = grid, room
        self.states, self.state = {}, {}
        self.ways = {}  # by channel: senders, receivers, color, whether messages end in an advance wavelet
        for color in routes["colors"]:
            for way in color["ways"]:
                for channel in way["channels"]:
                    ends = way["senders"], way["receivers"]
                    self.ways.setdefault(channel, []).append((*ends, color["name"], way["advances"]))
                for router in way["routers"]:
                    for pe in self.pes():
                        if toy_backend.holds(router["region"], pe):
                            assert (pe, color["name"]) not in self.states, f"{pe} has two routes of a color"
                            assert 1 <= len(router["states"]) <= 4
                            self.states[pe, color["name"]] = router["states"], router["ring"]
                            self.state[pe, color["name"]] = 0
        self.ports = collections.defaultdict(collections.deque)  # by PE, color and port
        self.inbox = collections.defaultdict(collections.deque)

    def pes(self):
        rows = [()]
        for extent in self.grid:
            rows = [(*row, x) for row in rows for x in range(extent)]
        return rows

    def way(self, channel, sender, receivers):
        """The color of messages from a PE to others, and whether they end in an advance wavelet."""
        found = {
            (color, advances)
            for start, end, color, advances in self.ways[channel]
            if toy_backend.holds(start, sender)
            for receiver in receivers
            if toy_backend.holds(end, receiver)
        }
        assert len(found) == 1, f"{sender} has {len(found)} colors for a channel"
        return found.pop()

    def beside(self, pe, port):
        move = NEIGHBOUR[port] if len(pe) == 2 else NEIGHBOUR[port][1:]
        to = tuple(x + d for x, d in zip(pe, move, strict=True))
        assert len(pe) == 2 or port in "LR"
        assert all(0 <= x < n for x, n in zip(to, self.grid, strict=True)), f"{pe} routes out of the grid"
        return to

    def step(self, order):
        """Move the first wavelet of each port that can; return how many did."""
        moved = 0
        waiting = [key for key, queue in self.ports.items() if queue]
        order.shuffle(waiting)
        for pe, color, port in waiting:
            assert (pe, color) in self.states, f"{pe} has no route of {color}"
            states, ring = self.states[pe, color]
            come, go = states[self.state[pe, color]]
            if port not in come:
                continue
            wavelet = self.ports[pe, color, port][0]
            targets = [(self.beside(pe, side), color, OPPOSITE[side]) for side in go if side != "C"]
            room = all(len(self.ports[target]) < self.room for target in targets)
            if not room or ("C" in go and wavelet != ADVANCE and self.inbox[pe, color]):
                continue
            self.ports[pe, color, port].popleft()
            for target in targets:
                self.ports[target].append(wavelet)
            if wavelet == ADVANCE:
                last = len(states) - 1
                self.state[pe, color] = (
                    (self.state[pe, color] + 1) % len(states)
                    if ring
                    else min(self.state[pe, color] + 1, last)
                )
            elif "C" in go:
                self.inbox[pe, color].append(wavelet)
            moved += 1
        return moved


class Run(toy_backend._Run):
    """A program of which each word goes through routers."""

    def __init__(self, program, inputs, routes, seed=0):
        super().__init__(program.decoded(), inputs)
        self.order = random.Random(seed)
        self.routers = Routers(
            routes, self.program["grid"], (WORDS + 1) * self.program["machine"]["link"]["depth"]
        )
        self.messages = collections.Counter()
        self.exits = {}

    def run(self):
        pes = list(self.routers.pes())
        waiting = [self.execute(pe) for pe in pes]
        while waiting or any(self.routers.ports.values()):
            self.order.shuffle(waiting)
            before = self.moves, len(waiting)
            waiting = [pe for pe in waiting if next(pe, "done") != "done"]
            self.moves += self.routers.step(self.order)
            if (self.moves, len(waiting)) == before:
                raise toy_backend.Deadlock
        assert not any(self.routers.inbox.values()), "words that nobody took"
        return self.outputs

    def block(self, code, at, where, pe, memory):
        """As there; a loop that ends early leaves out what its plan says."""
        while at < len(code) and code[at]["do"] != "end":
            step = code[at]
            if step["do"] == "loop":
                last = toy_backend.upper(step, where)
                value = toy_backend.lower(step, where)
                while value <= last:
                    yield from self.block(code, at + 1, (*where, value), pe, memory)
                    plan = self.exits.pop(pe, None)
                    if plan and plan["first"] <= value <= plan["last"]:
                        value += (plan["last"] - value) // plan["period"] * plan["period"]
                    value += step["step"]
                at = toy_backend.after(code, at)
            else:
                if step["do"] == "if":
                    if toy_backend.holds(step["condition"], where):
                        yield from self.block(code, at + 1, where, pe, memory)
                    at = toy_backend.after(code, at)
                    continue
                yield from getattr(self, step["do"])(step, where, pe, memory) or ()
                self.moves += 1
                at += 1

    def exit(self, step, where, pe, memory):
        if not toy_backend.read(step["runs"], where, memory).all():
            self.exits[pe] = self.program["endings"][step["ending"]]

    def compute(self, step, where, pe, memory):
        if "indexed" not in step:
            operands = [toy_backend.read(operand, where, memory) for operand in step["operands"]]
            result = kernel(step["op"])(*operands, **dict.fromkeys(step["flags"], True))
            memory[toy_backend.element(step["destination"], where)] = result
            return
        at = step["indexed"]
        number = int(toy_backend.read(at["number"], where, memory).item())
        table = dict(step["operands"][-1])
        first = toy_backend.value(at["lower"], where)
        assert first <= number <= toy_backend.value(at["upper"], where)
        table["index"] = [table["index"][0] + at["stride"] * (number - first), *table["index"][1:]]
        memory[toy_backend.element(step["destination"], where)] = toy_backend.read(table, where, memory)

    def put(self, step, receivers, where, pe, memory):
        if not receivers:
            return
        channel = step["channel"]
        color, advances = self.routers.way(channel, pe, receivers)
        tile = toy_backend.read(step["source"], where, memory)
        number = self.messages[channel, pe, color]
        self.messages[channel, pe, color] += 1
        words = [(channel, pe, number, word, tile if word == 0 else None) for word in range(WORDS)]
        for wavelet in words + [ADVANCE] * advances:
            while len(self.routers.ports[pe, color, "C"]) >= 1:
                yield
            self.routers.ports[pe, color, "C"].append(wavelet)
            self.moves += 1

    def receive(self, step, where, pe, memory):
        number = step["channel"]
        channel = self.channels[number]
        if channel["kind"] == "network":
            axis = channel["axis"]
            sender = (*pe[:axis], toy_backend.value(step["sender"][0], where), *pe[axis + 1 :])
        else:
            sender = self.moved(pe, [-dx for dx in channel["offset"]], None)
        color, _ = self.routers.way(number, sender, [pe])
        message = self.messages["to", number, sender, pe]
        self.messages["to", number, sender, pe] += 1
        for word in range(WORDS):
            inbox = self.routers.inbox[pe, color]
            while not inbox:
                yield
            *tag, tile = inbox.popleft()
            self.moves += 1
            assert tag == [number, sender, message, word], f"{pe} took {tag} on {color}"
            if word == 0:
                memory[toy_backend.element(step["destination"], where)] = tile

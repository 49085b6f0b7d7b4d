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

from cyclotron.machine.fabric import Header

WORDS = 2  # of a message, the tile in the first one
NEIGHBOUR = {"L": (0, -1), "R": (0, 1), "U": (-1, 0), "D": (1, 0)}
OPPOSITE = {"L": "R", "R": "L", "U": "D", "D": "U"}
ADVANCE, END = "advance", "end"  # control wavelets
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


class Packets:
    """Messages with headers: a router passes one on at a time, to each side, up to its last word.

    Headers are read here bit by bit, as `fabric.Header.word` says.
    """

    def __init__(self, grid):
        self.rows, self.columns = (1, *grid)[-2:]
        self.ports = collections.defaultdict(collections.deque)  # by router and port
        self.way, self.left, self.owner = {}, {}, {}
        self.out = collections.defaultdict(collections.deque)  # by PE: words that it sends
        self.taken = collections.defaultdict(list)  # by PE: words of the message that comes in

    def is_empty(self):
        return not any(self.ports.values()) and not any(self.out.values())

    def step(self, order, arrived):
        moved = 0
        for pe, words in self.out.items():
            if words and len(self.ports[pe, "C"]) < 2:
                self.ports[pe, "C"].append(words.popleft())
                moved += 1
        waiting = [key for key, queue in self.ports.items() if queue]
        order.shuffle(waiting)
        for (row, column), port in waiting:
            key = (row, column), port
            word = self.ports[key][0]
            begins = key not in self.way
            if begins:  # a header
                side, length = self.read(word, row, column)
                if self.owner.get(((row, column), side)) is not None:
                    continue  # another message goes there
            else:
                side = self.way[key]
            to = None
            if side != "C":
                move = NEIGHBOUR[side]
                to = (row + move[0], column + move[1]), OPPOSITE[side]
                assert 0 <= to[0][0] < self.rows
                assert 0 <= to[0][1] < self.columns
                if len(self.ports[to]) >= 2:
                    continue
            self.ports[key].popleft()
            moved += 1
            if begins:
                self.way[key], self.left[key], self.owner[(row, column), side] = side, length, port
            elif word is END:
                self.left[key] = 0
            elif self.left[key] is not None:
                self.left[key] -= 1
            if to is not None:
                self.ports[to].append(word)
            elif not begins and word is not END:
                self.taken[row, column].append(word)
            if self.left[key] == 0:
                self.owner[(row, column), side] = None
                del self.way[key]
                if to is None:
                    arrived((row, column), self.taken.pop((row, column)))
        return moved

    @staticmethod
    def read(word, row, column):
        """The side where a message goes next, and how many words it has; None up to a control wavelet."""
        length, turn, to_column, to_row = word & 31, "CUD"[word >> 5 & 3], word >> 7 & 2047, word >> 18
        if to_column != column:
            return ("R" if to_column > column else "L"), length or None
        if to_row == row:
            return "C", length or None
        assert turn == ("U" if to_row < row else "D")
        return turn, length or None


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
        self.packets = Packets(self.program["grid"])
        self.by_header = {one["number"]: one for one in routes["messages"]}
        self.unanswered = collections.Counter()  # by number, sender and receiver
        self.inbox = collections.defaultdict(collections.deque)  # by number, sender and receiver

    def run(self):
        pes = list(self.routers.pes())
        waiting = [self.execute(pe) for pe in pes]
        while waiting or any(self.routers.ports.values()) or not self.packets.is_empty():
            self.order.shuffle(waiting)
            before = self.moves, len(waiting)
            waiting = [pe for pe in waiting if next(pe, "done") != "done"]
            self.moves += self.routers.step(self.order) + self.packets.step(self.order, self.arrived)
            if (self.moves, len(waiting)) == before:
                raise toy_backend.Deadlock
        assert not any(self.routers.inbox.values()), "words that nobody took"
        assert not any(self.inbox.values())
        assert not any(self.unanswered.values())
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
        tile = toy_backend.read(step["source"], where, memory)
        if channel in self.by_header:
            for receiver in receivers:
                while self.unanswered[channel, pe, receiver] == self.by_header[channel]["room"]:
                    yield
                self.unanswered[channel, pe, receiver] += 1
                words = self.by_header[channel]["words"]
                self.post(pe, receiver, [tag(channel, pe), tile] + [None] * (words - 2))
            return
        color, advances = self.routers.way(channel, pe, receivers)
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
        if number in self.by_header:
            queue = self.inbox[number, sender, pe]
            while not queue:
                yield
            memory[toy_backend.element(step["destination"], where)] = queue.popleft()
            self.post(pe, sender, [1 << 31 | tag(number, pe)])
            return
        color, _ = self.routers.way(number, sender, [pe])
        message = self.messages["to", number, sender, pe]
        self.messages["to", number, sender, pe] += 1
        for word in range(WORDS):
            inbox = self.routers.inbox[pe, color]
            while not inbox:
                yield
            *sent, tile = inbox.popleft()
            self.moves += 1
            assert sent == [number, sender, message, word], f"{pe} took {sent} on {color}"
            if word == 0:
                memory[toy_backend.element(step["destination"], where)] = tile

    def post(self, sender, receiver, words):
        start, end = ((0, *pe)[-2:] for pe in (sender, receiver))
        header = Header.of(start, end, len(words))
        self.packets.out[start].extend([header.word, *words] + [END] * (header.length == 0))
        self.moves += 1

    def arrived(self, pe, words):
        pe = pe[-len(self.program["grid"]) :]
        number, row, column = words[0] >> 22 & 511, words[0] >> 11 & 2047, words[0] & 2047
        other = (row, column)[-len(pe) :]
        if words[0] >> 31:
            assert len(words) == 1
            self.unanswered[number, pe, other] -= 1
            return
        assert len(words) == self.by_header[number]["words"]
        queue = self.inbox[number, other, pe]
        queue.append(words[1])
        assert len(queue) <= self.by_header[number]["room"]


def tag(number, pe):
    row, column = (0, *pe)[-2:]
    return number << 22 | row << 11 | column

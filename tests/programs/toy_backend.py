"""A third backend, as small as can be: what it takes to run compiled programs somewhere else (CY-116).

A backend brings memory, queues and kernels; control is a walk over a class's code. Each PE is a Python
generator that yields where it has to wait, and the PEs take turns. It knows the decoded program and nothing
else of Cyclotron. `docs/extending/backend.md` goes through it.
"""

import collections
import itertools
import math

import numpy as np

from cyclotron.runtime.backend import Backend, Execution

KERNELS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "sqrt": np.sqrt,
    "multiply_add": lambda sum, a, b: sum + a * b,
    "matmul": lambda a, b, transpose_b=False: a @ (b.T if transpose_b else b),
    "matmul_add": lambda sum, a, b, transpose_b=False: sum + a @ (b.T if transpose_b else b),
}


def solve_triangular(a, b, *, transpose_a=False, lower=False, right_side=False):
    """X of op(a) X = b, or of X op(a) = b, by substitution; the other half of `a` may hold anything."""
    a, b = np.tril(a) if lower else np.triu(a), b.T if right_side else b
    if transpose_a != right_side:  # X op(a) = b is op(a)^T X^T = b^T
        a = a.T
    rows = range(len(a)) if lower == (transpose_a == right_side) else reversed(range(len(a)))
    X = np.zeros_like(b)
    for i in rows:
        X[i] = (b[i] - a[i] @ X) / a[i, i]  # rows not solved for yet are 0
    return X.T if right_side else X


KERNELS["solve_triangular"] = solve_triangular


class Deadlock(Exception):  # noqa: N818 (found, not raised, by the caller's view)
    """No PE can go on."""


def run(program, inputs, options, /):
    """Run a program once; there are no options."""
    arrays = {**inputs, **program.constants}
    return Execution(_Run(program.decoded(), arrays).run())


BACKEND = Backend("toy", run)


class _Run:
    def __init__(self, program, inputs):
        self.program = program
        self.channels = program["channels"]
        topology = program["machine"]["topology"]
        names = topology if isinstance(topology, list) else [topology] * len(program["grid"])
        self.wraps = [name in ("torus", "ring") for name in names]
        self.queues = collections.defaultdict(collections.deque)  # by channel, sender and receiver
        self.outputs = {
            t["name"]: np.zeros(t["shape"], t["dtype"]) for t in program["tensors"] if t["role"] == "output"
        }
        self.arrays = inputs | self.outputs
        self.moves = 0

    def run(self):
        waiting = [self.execute(pe) for pe in itertools.product(*map(range, self.program["grid"]))]
        while waiting:
            before = self.moves, len(waiting)
            waiting = [pe for pe in waiting if next(pe, "done") != "done"]
            if (self.moves, len(waiting)) == before:
                raise Deadlock
        return self.outputs

    def execute(self, pe):
        for found in self.program["classes"]:
            if holds(found["region"], pe):
                yield from self.block(found["code"], 0, pe, pe, {})

    def block(self, code, at, where, pe, memory):
        """The instructions from `at` to the End of their block; `where`: coordinates, then loop variables."""
        while at < len(code) and code[at]["do"] != "end":
            step = code[at]
            if step["do"] == "loop":
                for value in range(lower(step, where), upper(step, where) + 1, step["step"]):
                    yield from self.block(code, at + 1, (*where, value), pe, memory)
                at = after(code, at)
            elif step["do"] == "if":
                if holds(step["condition"], where):
                    yield from self.block(code, at + 1, where, pe, memory)
                at = after(code, at)
            else:
                yield from getattr(self, step["do"])(step, where, pe, memory) or ()
                self.moves += 1
                at += 1

    # Memory and kernels.

    def load(self, step, where, pe, memory):
        part = self.part(step, where)
        memory[element(step["destination"], where)] = part.reshape(math.prod(part.shape[:-1]), -1).copy()

    def store(self, step, where, pe, memory):
        part = self.part(step, where)
        part[...] = read(step["source"], where, memory).reshape(part.shape)

    def part(self, step, where):
        tensor = self.program["tensors"][step["tensor"]]
        starts = [value(form, where) * n for form, n in zip(step["index"], tensor["tile"], strict=True)]
        part = self.arrays[tensor["name"]]
        part = part[tuple(slice(x, x + n) for x, n in zip(starts, tensor["tile"], strict=True))]
        return part if len(part.shape) > 1 else part[:, np.newaxis]

    def move(self, step, where, pe, memory):
        memory[element(step["destination"], where)] = read(step["source"], where, memory)

    def compute(self, step, where, pe, memory):
        operands = [read(operand, where, memory) for operand in step["operands"]]
        flags = dict.fromkeys(step["flags"], True)
        memory[element(step["destination"], where)] = KERNELS[step["op"]](*operands, **flags)

    # Messages.

    def send(self, step, where, pe, memory):
        channel = self.channels[step["channel"]]
        receiver = self.moved(pe, channel["offset"], channel.get("scale"))
        return self.put(step, [receiver], where, pe, memory)

    def broadcast(self, step, where, pe, memory):
        axis = self.channels[step["channel"]]["axis"]
        line = range(lower(step, where), upper(step, where) + 1)
        receivers = [(*pe[:axis], x, *pe[axis + 1 :]) for x in line if x != pe[axis]]
        return self.put(step, receivers, where, pe, memory)

    def put(self, step, receivers, where, pe, memory):
        number = step["channel"]
        queues = [self.queues[number, pe, receiver] for receiver in receivers]
        while any(len(queue) >= self.depth(number) for queue in queues):
            yield
        for queue in queues:
            queue.append(read(step["source"], where, memory))

    def depth(self, number):
        channel, machine = self.channels[number], self.program["machine"]
        link = machine["broadcast" if channel["kind"] == "network" else "link"]
        return channel["depth"] or link["depth"]

    def receive(self, step, where, pe, memory):
        channel = self.channels[step["channel"]]
        if channel["kind"] == "network":
            axis = channel["axis"]
            sender = (*pe[:axis], value(step["sender"][0], where), *pe[axis + 1 :])
        else:
            factors = channel.get("scale") or [1] * len(pe)
            scaled = [x * factor for x, factor in zip(pe, factors, strict=True)]
            sender = self.moved(scaled, [-dx for dx in channel["offset"]], None)
        queue = self.queues[step["channel"], sender, pe]
        while not queue:
            yield
        memory[element(step["destination"], where)] = queue.popleft()

    def moved(self, pe, offset, scale):
        grid = self.program["grid"]
        to = [
            (x + dx) % n if wraps else x + dx
            for x, dx, n, wraps in zip(pe, offset, grid, self.wraps, strict=True)
        ]
        return tuple(x // factor for x, factor in zip(to, scale or [1] * len(to), strict=True))


def read(operand, where, memory):
    """A tile, which nobody changes once it is made, or a constant."""
    return memory[element(operand, where)] if "slot" in operand else np.array([[operand["real"]]])


def value(form, where):
    """The constant, then the coefficients of the coordinates and loop variables."""
    return form[0] + sum(c * x for c, x in zip(form[1:], where, strict=False))


def lower(step, where):
    return max(-(-value(bound["form"], where) // bound["divisor"]) for bound in step["lower"])


def upper(step, where):
    return min(value(bound["form"], where) // bound["divisor"] for bound in step["upper"])


def holds(region, where):
    """Tell if all conditions of any conjunction hold."""

    def one(condition):
        found = value(condition["form"], where)
        if condition["is"] == "non_negative":
            return found >= 0
        return found == 0 if condition["is"] == "zero" else found % condition["modulus"] == 0

    return any(all(map(one, conjunction)) for conjunction in region)


def after(code, at):
    """The instruction after the End of the loop or condition at `at`."""
    depth = 0
    for number, step in enumerate(code[at:], at):
        depth += {"loop": 1, "if": 1, "end": -1}.get(step["do"], 0)
        if depth == 0:
            return number + 1
    raise AssertionError


def element(reference, where):
    wrap = reference.get("wrap", {"form": [0], "modulus": 1, "stride": 1})
    turned = wrap["stride"] * (value(wrap["form"], where) % wrap["modulus"])
    return reference["slot"], value(reference["index"], where) + turned

"""Predictions of ranks, against a slow simulation of the same rules and against closed forms."""

import itertools
import math

import numpy as np
import pytest

import cyclotron as cy
from cyclotron.linalg.kernels import cholesky, matmul, solve_lower

TILE = 8


def nodes(*grid, latency=3e-6):
    """Links of 8 words a microsecond: messages take as long as operators."""
    return cy.machines.cluster(
        *grid, flops_per_second=1e8, bytes_per_second=64e6, latency_seconds=latency, memory=1 << 30
    )


def square(count):
    return cy.spec((count * TILE, count * TILE), tile=TILE)


def programs():
    space = cy.Schedule().space
    grid = nodes(4, 4)
    cannon, summa, stationary = cy.schedules.cannon, cy.schedules.summa, cy.schedules.output_stationary
    return {
        "cannon": matmul.compile(square(4), square(4), schedule=cannon(matmul), machine=grid),
        "summa": matmul.compile(square(4), square(4), schedule=summa(matmul), machine=grid),
        "systolic": matmul.compile(square(4), square(4), schedule=stationary(matmul), machine=grid),
        "solve": solve_lower.compile(
            square(4), square(4), False, schedule=space("i", "r").broadcast("X"), machine=grid
        ),
        "cholesky": cholesky.compile(square(4), schedule=space("i", "j").broadcast("L"), machine=grid),
        "columns": cholesky.compile(
            square(4), schedule=space("j").time("k", "i").broadcast("L"), machine=nodes(4)
        ),
    }


PROGRAMS = programs()


def tasks_of(program):
    """The steps of each PE one after the other, from the records of a run in which PEs share nothing."""
    run = cy.run(program, backend="sim", functional=False)
    found = [[] for _ in range(math.prod(program.grid))]
    for event in run.events:
        found[event["pe"]].append((event["order"], "compute", int(event["end"] - event["start"])))
    sends = {}
    for message in run.messages:
        sends.setdefault(int(message["send_order"]), []).append(message)
        found[message["receiver"]].append(
            (message["receive_order"], "receive", (int(message["send_order"]), int(message["receiver"])))
        )
    for order, messages in sends.items():
        told = sorted((int(m["receiver"]), int(m["words"])) for m in messages)
        found[messages[0]["sender"]].append((order, "send", told))
    return [sorted(tasks, key=lambda task: task[0]) for tasks in found]


class Slow:
    """Looks at every PE for the one thing that happens next."""

    def __init__(self, program, owners, ranks, cores):
        self.tasks, self.owners = tasks_of(program), owners
        self.latency = program.machine.link.latency
        self.clock, self.at = [0] * len(self.tasks), [0] * len(self.tasks)
        self.free = {(rank, part): 0 for rank in range(ranks) for part in (0, 1)}
        self.cores = [0] * cores
        self.arrivals = {}
        self.busy, self.sent, self.received = [0] * ranks, [0] * ranks, [0] * ranks
        self.messages = [0] * ranks

    def run(self):
        while any(at < len(tasks) for at, tasks in zip(self.at, self.tasks, strict=True)):
            if not any(self.steps_alone(pe) for pe in range(len(self.tasks))):
                start, (rank, part), _, pe = min(filter(None, map(self.request, range(len(self.tasks)))))
                self.serve(start, rank, part, pe)
        return max(self.clock)

    def steps_alone(self, pe):
        """Take a step that needs neither processor nor network."""
        if self.at[pe] == len(self.tasks[pe]):
            return False
        order, kind, what = self.tasks[pe][self.at[pe]]
        if kind == "receive" and what in self.arrivals:
            self.clock[pe] = max(self.clock[pe], self.arrivals[what])
        elif kind == "send" and not self.others(pe, what):
            self.arrivals.update({(order, receiver): self.clock[pe] for receiver, _ in what})
        elif kind != "compute" or what:
            return False
        self.at[pe] += 1
        return True

    def others(self, pe, receivers):
        ranks = [self.owners[receiver] for receiver, _ in receivers]
        return [rank for rank in dict.fromkeys(ranks) if rank != self.owners[pe]]

    def request(self, pe):
        if self.at[pe] == len(self.tasks[pe]) or self.tasks[pe][self.at[pe]][1] == "receive":
            return None
        part = int(self.tasks[pe][self.at[pe]][1] == "send")
        resource = (self.owners[pe], part)
        start = max(self.clock[pe], self.free[resource], 0 if part else min(self.cores))
        return start, resource, self.clock[pe], pe

    def serve(self, start, rank, part, pe):
        order, _, what = self.tasks[pe][self.at[pe]]
        self.at[pe] += 1
        if part == 0:
            self.free[rank, 0] = self.clock[pe] = start + what
            self.cores[self.cores.index(min(self.cores))] = start + what
            self.busy[rank] += what
            return
        others, words = self.others(pe, what), what[0][1]
        self.free[rank, 1] = start + words * math.ceil(math.log2(len(others) + 1))
        for number, other in enumerate(others, 1):
            hops = math.floor(math.log2(number)) + 1
            self.sent[rank] += words
            self.received[other] += words
            self.messages[rank] += 1
            for receiver, _ in what:
                if self.owners[receiver] == other:
                    self.arrivals[order, receiver] = start + hops * (self.latency + words - 1)
        for receiver, _ in what:
            if self.owners[receiver] == rank:
                self.arrivals[order, receiver] = self.clock[pe]


def owners_of(program, deal):
    """The PEs are the elements of an array that is dealt out."""
    block = deal.tile(program.grid)
    table = deal.owners(program.grid)
    return [
        table[tuple(at // b for at, b in zip(pe, block, strict=True))] for pe in np.ndindex(*program.grid)
    ]


def deals(program):
    if len(program.grid) == 1:
        return [None, cy.Layout((2,), 1), cy.Layout((4,), 1)]
    return [
        None,
        *(cy.Layout(grid, 1) for grid in [(1, 2), (2, 1), (2, 2), (4, 1), (4, 4)]),
        cy.Layout((2, 1)),
        cy.Layout((1, 3), 1),
    ]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("cores", [1, 2, None])
def test_as_the_slow_simulation(name, cores):
    program = PROGRAMS[name]
    count = math.prod(program.grid)
    for deal, ranks in [*((deal, deal.ranks if deal else 3) for deal in deals(program)), (None, 1)]:
        owners = [pe * ranks // count for pe in range(count)] if deal is None else owners_of(program, deal)
        if deal is None:  # as `Part`: rank r starts at r * count // ranks
            owners = np.repeat(np.arange(ranks), np.diff([r * count // ranks for r in range(ranks + 1)]))
        slow = Slow(program, [int(owner) for owner in np.ravel(owners)], ranks, cores or ranks)
        found = cy.predict(program, ranks=ranks, deal=deal, cores=cores)
        assert found.cycles == slow.run(), (deal, ranks)
        assert found.busy.tolist() == slow.busy
        assert found.words_sent.tolist() == slow.sent
        assert found.words_received.tolist() == slow.received
        assert found.messages.tolist() == slow.messages


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_rank_never_waits(name):
    found = cy.predict(PROGRAMS[name], ranks=1)
    assert found.cycles == found.busy.sum() > 0
    assert not found.words_sent.any()
    assert found.seconds == found.cycles / PROGRAMS[name].machine.clock


@pytest.mark.parametrize("side", [1, 2, 4, 8])
def test_words_of_cannon(side):
    program = matmul.compile(
        square(side), square(side), schedule=cy.schedules.cannon(matmul), machine=nodes(side, side)
    )
    found = cy.predict(program, ranks=side**2)
    assert (found.words_received == 2 * (side - 1) * TILE**2).all()
    assert (found.messages == 2 * (side - 1)).all()


def test_a_rank_of_each_pe_is_the_simulator():
    """With one PE on each rank, which sends no faster than its link, nothing is shared."""
    ring = cy.Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by="i")
    for latency, tiles in itertools.product((1e-7, 3e-6, 1e-3), (1, 2, 5)):
        program = matmul.compile(
            square(tiles), square(tiles), schedule=ring, machine=nodes(tiles, latency=latency)
        )
        alone = cy.run(program, backend="sim", functional=False).cycles
        assert cy.predict(program, ranks=tiles).cycles == alone


def test_ranks_without_pes_and_programs_without_points():
    found = cy.predict(PROGRAMS["columns"], ranks=7)
    assert len(found.busy) == 7
    assert (found.busy > 0).sum() == 4
    empty = matmul.compile(cy.spec((0, 8), tile=8), cy.spec((8, 8), tile=8), machine=nodes(1, 1))
    assert cy.predict(empty, ranks=2).cycles == 0


@cy.kernel
def halved(x, steps):
    for _ in range(steps):
        x = x / 2
        if cy.sum(x) < 1:
            break
    return x


@pytest.mark.parametrize("ranks", [1, 2, 6])
def test_ranks_have_no_controller(ranks):
    """They tell the ends of loops by themselves, whatever PEs of the machine do."""
    schedule = cy.Schedule().space("i", "j").time("_")
    plain, controlled = (
        halved.compile(np.ones((2, 3)), 20, schedule=schedule, machine=cy.Machine(control=control))
        for control in (None, cy.Control())
    )
    alone, waiting = (
        cy.run(program, backend="sim", functional=False).cycles for program in (plain, controlled)
    )
    assert alone < waiting
    found, expected = (cy.predict(program, ranks=ranks) for program in (controlled, plain))
    assert found.cycles == expected.cycles
    assert np.array_equal(found.busy, expected.busy)


def test_seconds_need_a_clock():
    program = matmul.compile(square(2), square(2), schedule=cy.schedules.summa(matmul))
    found = cy.predict(program, ranks=4)
    assert found.seconds is None
    assert "cycles on 4 ranks" in str(found)
    assert "ms on 3 ranks" in str(cy.predict(PROGRAMS["summa"], ranks=3))


@pytest.mark.parametrize(
    ("code", "options"),
    [
        ("CYC733", {"ranks": 0}),
        ("CYC733", {"ranks": 2.5}),
        ("CYC733", {"ranks": 4, "cores": 0}),
        ("CYC733", {"ranks": 2, "deal": cy.Layout((2, 2), 1)}),
        ("CYC733", {"ranks": 4, "deal": (2, 2)}),
        ("CYC733", {"ranks": 4, "deal": cy.Layout(block=1, owner=lambda i, j: 0)}),
        ("CYC734", {"ranks": 4, "deal": cy.Layout((2,), 1)}),
    ],
)
def test_refusals(code, options):
    with pytest.raises(cy.CyclotronError) as raised:
        cy.predict(PROGRAMS["summa"], **options)
    assert raised.value.code == code


def test_refuses_what_it_cannot_time():
    with pytest.raises(cy.ProgramError, match="predict"):
        cy.predict(matmul, ranks=1)


@pytest.mark.parametrize("n", [17, 20, 23])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ragged_tiles_count_as_whole_ones(n, ranks):
    """The same as of the next matrix that they divide, and no less than of the largest that is smaller."""
    schedule = cy.Schedule().space("i", "j").broadcast("L", along="i")
    deal = cy.Layout((1, ranks), 1)

    def found(extent):
        matrix = cy.spec((extent, extent), tile=TILE)
        program = cholesky.compile(matrix, schedule=schedule, machine=nodes(3, 3))
        return cy.predict(program, ranks=ranks, deal=deal)

    ragged, whole, less = found(n), found(24), found(16)
    assert less.cycles < ragged.cycles == whole.cycles
    for name in ("busy", "words_sent", "words_received", "messages"):
        np.testing.assert_array_equal(getattr(ragged, name), getattr(whole, name))


def test_ragged_tiles_of_several_shapes():
    """Rows and columns of tiles that end differently meet in one product."""
    left, right = cy.spec((20, 3), tile=(8, 8)), cy.spec((3, 9), tile=(8, 4))
    schedule = cy.schedules.output_stationary(matmul)
    ragged = matmul.compile(left, right, schedule=schedule, machine=nodes(3, 3))
    left, right = cy.spec((24, 3), tile=(8, 8)), cy.spec((3, 12), tile=(8, 4))
    whole = matmul.compile(left, right, schedule=schedule, machine=nodes(3, 3))
    assert cy.predict(ragged, ranks=2).cycles == cy.predict(whole, ranks=2).cycles

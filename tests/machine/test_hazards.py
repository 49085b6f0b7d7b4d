"""Shared links, pipelined units, ports and units side by side: cycles worked out by hand."""

import pickle

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def two_streams(A, B):
    C = cy.empty((3, len(A)))
    for i in range(3):
        for k in range(len(A)):
            C[i, k] = A[k] + B[k]
    return C


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def chain(A):
    total = cy.empty(1)
    for i in range(1):
        total[i] = sum(A[k] * A[k] for k in range(len(A)))
    return total


def simulated(program):
    return cy.run(program, backend="sim", functional=False)


def stalls(result):
    names = ("stall_link", "stall_unit", "stall_port")
    return {name: int(result.stats[name].sum()) for name in names if result.stats[name].any()}


def streamed(length, **machine):
    schedule = cy.Schedule().space("i").time("k").stream("A", along="i").stream("B", along="i")
    return two_streams.compile(
        cy.spec(length), cy.spec(length), schedule=schedule, machine=cy.Machine(**machine)
    )


def product(n=16, fold=None, **machine):
    schedule = cy.schedules.output_stationary(matmul)
    if fold:
        schedule = schedule.fold(**fold)
    return matmul.compile(
        cy.spec((n, 16)), cy.spec((16, n)), schedule=schedule, machine=cy.Machine(**machine)
    )


@pytest.mark.parametrize("length", [8, 64, 100])
def test_two_streams_over_one_link_take_twice_the_cycles(length):
    alone, shared = (simulated(streamed(length, shared_links=shared)) for shared in (False, True))
    assert alone.cycles == length + 2
    # The first PE sends A in even cycles and B in odd ones; the last is done two hops and an addition later.
    assert shared.cycles == 2 * length + 3
    assert stalls(shared).keys() == {"stall_link"}
    # The first PE waits for each B behind its A; the second one's B comes when its A has left.
    assert shared.stats["stall_link"].tolist()[0] == length


def test_a_link_of_two_words_carries_both_streams():
    wide = cy.Link(words_per_cycle=2)
    assert simulated(streamed(64, link=wide, shared_links=True)).cycles == 64 + 2


def test_streams_over_different_hops_do_not_meet():
    alone, shared = (simulated(product(8, shared_links=shared)) for shared in (False, True))
    assert alone.cycles == shared.cycles == 8 + 8 + 16 - 2
    assert stalls(shared) == {}


def test_broadcasts_on_one_line_are_on_one_bus():
    """Two tensors go to a line of PEs, an element of each a step, and the bus takes a word a cycle."""

    def broadcast(shared, width=1):
        schedule = cy.Schedule().space("i").time("k").broadcast("A", along="i").broadcast("B", along="i")
        machine = cy.Machine(shared_links=shared, broadcast=cy.Link(words_per_cycle=width))
        spec = cy.spec(64)
        return simulated(two_streams.compile(spec, spec, schedule=schedule, machine=machine))

    assert broadcast(False).cycles == 64 + 1
    assert broadcast(True).cycles == 2 * 64 + 1
    assert broadcast(True, width=2).cycles == 64 + 1
    assert broadcast(True).stats["stall_link"].sum() == 64


def test_a_chain_waits_for_its_own_sum():
    for latency in (1, 2, 3, 5):
        machine = cy.Machine(pe=cy.PE(scalar=cy.Unit(latency=latency)))
        program = chain.compile(cy.spec(10), machine=machine, schedule=cy.Schedule().space("i").time("k"))
        result = simulated(program)
        assert result.cycles == 9 * latency + latency  # each addition begins once the one before is there
        assert stalls(result).get("stall_unit", 0) == 10 * (latency - 1)
        assert result.stats["busy"].sum() == 10


def test_sums_in_turn_hide_the_latency():
    """A product of 16 x 16 x 16 on 8 x 8 PEs, four sums each: within 5 % of a unit of one cycle."""
    once, three = (cy.PE(scalar=cy.Unit(latency=latency)) for latency in (1, 3))
    ideal, piped = (simulated(product(16, {"i": 8, "j": 8}, pe=pe)) for pe in (once, three))
    assert ideal.grid == (8, 8)
    assert ideal.cycles < piped.cycles <= 1.05 * ideal.cycles
    # With one sum a PE nothing hides it, and the stalls say so.
    ideal, piped = (simulated(product(8, pe=pe)) for pe in (once, three))
    assert piped.cycles == ideal.cycles + 2 * 15 + 2
    assert (piped.stats["stall_unit"] == 2 * 16).all()


def test_ports_limit_what_begins_in_a_cycle():
    assert simulated(product(8)).cycles == 30
    one = simulated(product(8, pe=cy.PE(ports={"receive": 1})))
    # An inner PE receives an A and a B for each product of one cycle.
    assert one.cycles > 30
    assert stalls(one).keys() == {"stall_port"}
    assert stalls(simulated(product(8, pe=cy.PE(ports={"receive": 2})))) == {}


def test_each_instruction_takes_a_cycle_where_one_is_issued():
    machine = cy.Machine(pe=cy.PE(ports={"issue": 1}))
    program = chain.compile(cy.spec(10), machine=machine, schedule=cy.Schedule().space("i").time("k"))
    result = simulated(program)
    executed = sum(int(count.sum()) for count in result.stats["instructions_by_kind"].values())
    assert result.cycles == executed - 1  # the last one, a store, begins then
    assert result.stats["stall_port"].sum() + result.stats["busy"].sum() == result.cycles


@cy.kernel
def tiles(A, B):
    C = cy.empty_like(A)
    for i in range(1):
        for j in range(1):
            C[i, j] = A[i, j] @ B[i, j] - (A[i, j] + B[i, j])
    return C


def test_units_work_side_by_side():
    """A product of 100 cycles and a sum of 30 beside it, then their difference of 30."""

    def run(overlap):
        matrix, vector = cy.Unit((4, 4, 4), cycles=100), cy.Unit((16,), cycles=30)
        machine = cy.Machine(pe=cy.PE(matrix=matrix, vector=vector, overlap=overlap))
        tile = cy.blocked(np.ones((4, 4)), (4, 4))
        return simulated(tiles.compile(tile, tile, machine=machine))

    apart, together = run(False), run(True)
    assert (apart.cycles, together.cycles) == (160, 130)
    assert together.stats["busy"].sum() == 130
    assert together.active.tolist() == [1] * 130
    assert together.critical_path().cycles == together.accounting().result.cycles == 130


@pytest.mark.parametrize("shared", [False, True])
def test_machines_are_values(tmp_path, shared):
    pe = cy.PE(scalar=cy.Unit(cycles=2, latency=6), ports={"load": 1, "issue": 2}, overlap=True)
    machine = cy.Machine(grid=(2, 2), pe=pe, shared_links=shared)
    machine.save(tmp_path / "machine.toml")
    assert cy.Machine.load(tmp_path / "machine.toml") == machine
    assert pickle.loads(pickle.dumps(machine)) == machine
    assert cy.Machine.from_core(machine.to_core()) == machine
    assert eval(repr(machine)) == machine
    assert ("links shared" in str(machine)) == shared
    assert "latency 6" in str(machine)
    assert "2 issue a cycle" in str(machine)
    assert "units side by side" in str(machine)
    program = product(2, pe=pe, shared_links=shared)
    program.save(tmp_path / "program.cyc")
    loaded = cy.load(tmp_path / "program.cyc").machine
    assert (loaded.pe, loaded.shared_links) == (pe, shared)


def test_files_that_say_nothing_load_as_ever(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text("grid = [2, 2]\n\n[pe.scalar]\nshape = []\ncycles = 2\n")
    machine = cy.Machine.load(path)
    assert machine == cy.Machine(grid=(2, 2), pe=cy.PE(scalar=cy.Unit(cycles=2)))
    assert not machine.shared_links


@pytest.mark.parametrize(
    "make",
    [
        lambda: cy.Link(words_per_cycle=0),
        lambda: cy.Unit(cycles=3, latency=2),
        lambda: cy.PE(ports={"load": 0}),
        lambda: cy.PE(ports={"jump": 1}),
        lambda: cy.PE(ports=[("load", 1)]),
        lambda: cy.PE(overlap=1),
        lambda: cy.Machine(shared_links="yes"),
    ],
)
def test_refusals(make):
    with pytest.raises(cy.ShapeError) as caught:
        make()
    assert caught.value.code in ("CYC401", "CYC402")
    assert caught.value.help


def test_proofs_hold():
    program = product(4, shared_links=True, pe=cy.PE(scalar=cy.Unit(latency=4), ports={"send": 1}))
    assert cy.prove(program).ok
    with pytest.raises(cy.LegalityError, match="CYC672"):
        program.least_depths()

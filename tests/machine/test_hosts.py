"""Hosts of a wafer, which load and save as the program's calls do, at a rate of their own."""

import numpy as np
import pytest

import cyclotron as cy

ROWS, COLUMNS, HOSTS = 25, 4, 2
LANES = 25  # words a cycle of a host
SPACE = cy.Schedule().space("i", "j")


@cy.kernel
def decay(u, steps):
    h = cy.empty((steps, *u.shape), dtype="float32")
    for t in range(steps):
        u = u * 0.5 + u * 0.25
        h[t] = u
    return h


@cy.kernel
def settle(u, least, steps):
    h = cy.zeros((steps, *u.shape))
    for t in range(steps):
        u = u * 0.5
        h[t] = u
        if cy.sum(u) < least:
            break
    return u, h


def numbers(rows=ROWS, columns=COLUMNS, dtype="float32"):
    return np.random.default_rng(rows).random((rows, columns)).astype(dtype)


def simulated(kernel, *arguments, machine, **options):
    program = kernel.compile(*arguments, schedule=SPACE.time("t"), machine=machine)
    return cy.run(program, *options.pop("values", ()), backend="sim", **options)


def cycles_of_a_port(pes, steps, busy, latency, depth):
    """Of one port, one word a cycle, PEs that load a word, then compute and store one in each step.

    First come, first served; of requests of one cycle the first PE's, its load before its store.
    """
    load_asked, stores = [0] * pes, [[] for _ in range(pes)]
    clock, made = [None] * pes, [0] * pes
    free, end = 0, 0
    ended = [[] for _ in range(pes)]  # transfers of stores

    def go_on(pe):
        # A step's store leaves the PE once the one `depth` before has been transferred.
        while made[pe] < steps:
            before = made[pe] - depth
            ready = clock[pe] + busy
            if before >= len(ended[pe]):
                return
            if before >= 0:
                ready = max(ready, ended[pe][before])
            clock[pe] = ready
            stores[pe].append(ready)
            made[pe] += 1

    while True:
        requests = []
        for pe in range(pes):
            if load_asked[pe] is not None:
                requests.append((load_asked[pe], pe, 0))
            elif len(ended[pe]) < len(stores[pe]):
                before = ended[pe][-1] if ended[pe] else 0
                requests.append((max(stores[pe][len(ended[pe])], before), pe, 1))
        if not requests:
            return end
        when, pe, kind = min(requests)
        start = max(when, free)
        free = start + 1
        if kind == 0:
            load_asked[pe] = None
            clock[pe] = start + latency
        else:
            ended[pe].append(free)
            end = max(end, start + latency)
        go_on(pe)


@pytest.mark.parametrize("steps", [1, 2, 7, 40])
def test_snapshots_take_the_time_of_their_port(steps):
    """MA-035: the initial values are loaded, and each snapshot is saved, by the host of these columns."""
    machine = cy.machines.wse2(ROWS, COLUMNS, hosts=HOSTS)
    result = simulated(decay, numbers(), steps, machine=machine)
    np.testing.assert_array_equal(result.output, decay.reference(numbers(), steps))
    host = machine.memories["hosts"]
    assert host.shared_by == (ROWS // LANES, COLUMNS // HOSTS)
    busy = 3  # two products and a sum
    pes = COLUMNS // HOSTS
    assert result.cycles == cycles_of_a_port(pes, steps, busy, host.latency, host.depth)


def test_hosts_follow_the_controllers_calls():
    """MA-033, MA-035: with a slow host workers wait, so do the calls; nothing is lost on any backend."""
    u = numbers(dtype="float64") + 1
    expected = settle.reference(u, 1.0, 30)
    cycles = {}
    for hosts in (0, HOSTS, 1):
        machine = cy.machines.wse2(ROWS, COLUMNS, hosts=hosts)
        program = settle.compile(u, 1.0, 30, schedule=SPACE.time("t"), machine=machine)
        assert program.control_system is not None
        for backend in ("sim", "local", "mpi"):
            result = cy.run(program, backend=backend)
            for found, right in zip(result.outputs.values(), expected, strict=True):
                np.testing.assert_array_equal(found, right)
        result = cy.run(program, backend="sim")
        cycles[hosts] = result.cycles
        (steps,) = result.steps.values()
        waits = result.stats["stall_memory"].sum()
        assert (waits > 0) == (hosts > 0)
        assert steps < 30
    assert cycles[0] < cycles[HOSTS] <= cycles[1]


def test_a_wafer_makes_more_than_its_hosts_take():
    """MA-143: over 1 TB/s of float32 at 1 GHz; 12 hosts take that much, and are busy all of the time."""
    rows, columns, steps, hertz, word = 50, 48, 30, 1e9, 4
    u = numbers(rows, columns)
    rates = {}
    for hosts in (0, 12):
        machine = cy.machines.wse2(rows, columns, hosts=hosts)
        result = simulated(decay, u, steps, machine=machine, functional=False)
        rates[hosts] = steps * u.size * word * hertz / result.cycles
    assert rates[0] > 1e12
    machine = cy.machines.wse2(rows, columns, hosts=12)
    cycles = [simulated(decay, u, n, machine=machine, functional=False).cycles for n in (steps, 2 * steps)]
    saturated = steps * u.size * word * hertz / (cycles[1] - cycles[0])
    assert saturated == 12 * LANES * word * hertz
    assert saturated > 1e12


@pytest.mark.parametrize(("grid", "hosts"), [((52, 24), 12), ((50, 25), 12)])
def test_hosts_have_equal_shares_of_the_wafer(grid, hosts):
    with pytest.raises(cy.ShapeError) as refused:
        cy.machines.wse2(*grid, hosts=hosts)
    assert refused.value.code == "CYC401"

"""DRAM behind the ports of a memory: rows that hit, miss and conflict, by the timing parameters alone."""

import dataclasses

import numpy as np
import pytest

import cyclotron as cy

ACTIVATE, PRECHARGE, OPEN = 14, 11, 30
# A row is 16 float32.
DRAM = cy.Dram(banks=4, row=64, activate=ACTIVATE, precharge=PRECHARGE, open=OPEN)


@cy.kernel
def total(x):
    return sum(x[k] for k in range(x.shape[0]))


@cy.kernel
def both(x, y):
    return sum(x[k] + y[k] for k in range(x.shape[0]))


@cy.kernel
def copies(x):
    y = cy.empty_like(x)
    for k in range(x.shape[0]):
        y[k] = x[k] + 1
    return y


def requests(kernel, *sizes, dram=DRAM, depth=64, **fields):
    """Those of one PE, whose operators take no time, in the order in which they are transferred."""
    memory = cy.Memory(latency=5, depth=depth, dram=dram, **fields)
    free = dict.fromkeys(("add", "copy", "move"), 0)
    machine = cy.Machine(grid=(1,), pe=cy.PE(cycles=free), memories={"dram": memory})
    schedule = cy.Schedule().space("0")
    program = kernel.compile(*(cy.spec((n,), "float32") for n in sizes), schedule=schedule, machine=machine)
    result = cy.run(program, backend="sim", functional=False)
    assert result.stats["memory_ports"][0]["busy_cycles"] <= result.cycles
    found = result.memory_requests
    return found[np.argsort(found["end"], kind="stable")]


def passes(*args, **options):
    """The cycles in which the words of LOADs pass."""
    found = requests(*args, **options)
    assert (found["arrival"] == found["end"] + 4).all()
    return (found["end"][~found["stores"]] - 1).tolist()


def test_words_of_an_open_row_follow_each_other():
    """The row is opened in cycle 0."""
    assert passes(total, 16) == [ACTIVATE + k for k in range(16)]


def test_a_row_of_another_bank_is_opened_meanwhile():
    """There is room for its LOADs from the start, so that its bank opens it in cycle 0, too."""
    assert passes(total, 32) == [ACTIVATE + k for k in range(32)]


def test_a_row_that_nobody_knew_of_misses():
    """Of one LOAD at a time the next is known when the PE has taken this one, 5 cycles after it begins."""
    hit = 5
    row = [ACTIVATE + hit * k for k in range(16)]
    miss = row[-1] + hit + ACTIVATE
    assert passes(total, 32, depth=1) == row + [miss + hit * k for k in range(16)]


def test_rows_of_one_bank_conflict():
    """Two tensors take turns in one bank: tRAS + tRP from row to row."""
    one_bank = dataclasses.replace(DRAM, banks=1)
    assert passes(both, 8, 8, dram=one_bank) == [ACTIVATE + k * (OPEN + PRECHARGE) for k in range(16)]


def test_a_row_that_has_been_open_long_conflicts_for_less():
    """With tRAS over, tRP after the row's last word."""
    one_bank = dataclasses.replace(DRAM, banks=1, open=0)
    period = 1 + PRECHARGE + ACTIVATE
    assert passes(both, 8, 8, dram=one_bank) == [ACTIVATE + k * period for k in range(16)]


def test_banks_that_take_turns_do_not_conflict():
    """The rows of two tensors of a row each are in two banks."""
    assert passes(both, 8, 8) == [ACTIVATE + k for k in range(16)]


def test_a_refresh_closes_all_rows():
    """It is due in cycle 100, waits for tRP, lasts 20 cycles; the row is opened again. In 200 likewise."""
    refreshed = dataclasses.replace(DRAM, row=4096, interval=100, refresh=20)
    again = PRECHARGE + 20 + ACTIVATE
    words = [*range(ACTIVATE, 100), *range(100 + again, 200), *range(200 + again, 300)]
    assert passes(total, 150, dram=refreshed) == words[:150]


def test_refreshes_of_idle_banks_cost_what_the_last_one_does():
    """The PE computes for a million cycles between two LOADs."""
    refreshed = dataclasses.replace(DRAM, row=4096, interval=100, refresh=20)
    memory = cy.Memory(latency=5, depth=1, dram=refreshed)
    machine = cy.Machine(grid=(1,), pe=cy.PE(cycles={"add": 10**6}), memories={"dram": memory})
    program = total.compile(cy.spec((4,), "float32"), schedule=cy.Schedule().space("0"), machine=machine)
    found = cy.run(program, backend="sim", functional=False).memory_requests
    loads = found[~found["stores"]]
    assert (loads["end"][:2] - 1).tolist() == [ACTIVATE, ACTIVATE + 5]
    known = int(loads["passed"][2])  # from then on there is room for the last one
    assert known > 10**6
    refreshed_until = known // 100 * 100 + 20
    assert loads["end"][3] - 1 == max(known, refreshed_until) + ACTIVATE


def gaps(found):
    """Cycles between words, from those that are read to those that are written, and back."""
    later, stores = np.diff(found["end"]), found["stores"]
    return later[~stores[:-1] & stores[1:]].tolist(), later[stores[:-1] & ~stores[1:]].tolist()


def test_the_bus_turns_round():
    """From LOADs to STOREs, whose rows are in two banks and open, and back."""
    to_stores, to_loads = gaps(requests(copies, 8, dram=dataclasses.replace(DRAM, turnaround=40), depth=1))
    assert set(to_stores[1:]) | set(to_loads[1:]) == {1 + 40}


def test_rows_that_were_written_close_later():
    """In one bank, with requests that wait for the port: close, open, and recover before."""
    one_bank = dataclasses.replace(DRAM, banks=1, open=0, recovery=9)
    to_stores, to_loads = gaps(requests(copies, 16, dram=one_bank, depth=4))
    assert min(to_stores) == 1 + PRECHARGE + ACTIVATE
    assert min(to_loads) == 1 + 9 + PRECHARGE + ACTIVATE


def test_tiles_have_runs_in_several_rows():
    """A 4x4 tile of 16 float32 a row of the matrix lies in four rows of DRAM, one a bank."""

    @cy.kernel
    def increment(A):
        B = cy.empty_like(A)
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                B[i, j] = A[i, j] + 1
        return B

    memory = cy.Memory(latency=5, bandwidth=4, dram=DRAM)
    machine = cy.Machine(grid=(1,), memories={"dram": memory})
    A = cy.spec((16, 16), "float32", tile=(4, 4))
    program = increment.compile(A, schedule=cy.Schedule().space("0"), machine=machine)
    found = cy.run(program, backend="sim", functional=False).memory_requests
    first = found[~found["stores"]][0]
    assert (first["words"], first["start"], first["end"]) == (16, 0, ACTIVATE + 4)


@pytest.mark.parametrize("kind", ["DDR4", "GDDR6", "HBM2", "LPDDR4"])
@pytest.mark.parametrize("clock", [5e8, 1e9, 2e9])
def test_presets_are_never_too_fast(kind, clock):
    rates = {"DDR4": 19.2e9, "GDDR6": 28e9, "HBM2": 32e9, "LPDDR4": 6.4e9}
    memory = cy.machines.dram(kind, clock, element_bytes=2, depth=8)
    assert memory.depth == 8
    assert memory.bandwidth * 2 * clock <= rates[kind] < (memory.bandwidth + 1) * 2 * clock
    row_cycle = (memory.dram.open + memory.dram.precharge) / clock
    assert 4e-8 < row_cycle < 7e-8
    assert cy.Machine(memories={"dram": memory}).memories["dram"] == memory


def test_machines_with_dram_are_saved(tmp_path):
    machine = cy.Machine(grid=(2,), memories={"dram": cy.machines.dram("HBM2", 1e9, serves="0")})
    machine.save(tmp_path / "machine.toml")
    assert cy.Machine.load(tmp_path / "machine.toml") == machine
    program = total.compile(cy.spec((8,)), schedule=cy.Schedule().space("k"), machine=machine)
    program.save(tmp_path / "program.cyc")
    read = cy.load(tmp_path / "program.cyc")
    assert read == program
    assert read.machine.memories["dram"].dram == machine.memories["dram"].dram
    results = [cy.run(one, backend="sim", functional=False) for one in (program, read)]
    assert results[0].cycles == results[1].cycles
    with pytest.raises(cy.ExecutionError, match="DRAM"):
        cy.run(program, backend="sim", functional=False, engine="fast-forward")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"banks": 0}, '`memories["dram"].dram.banks` is 0'),
        ({"row": 0}, '`memories["dram"].dram.row` is 0'),
        ({"row": -1}, "`memory.dram.row` is -1"),
        ({"activate": "soon"}, "`memory.dram.activate` is 'soon'"),
    ],
)
def test_refusals(fields, words):
    with pytest.raises(cy.ShapeError) as refused:
        cy.Machine(memories={"dram": cy.Memory(dram=cy.Dram(**fields))})
    assert words in refused.value.message


def test_no_dram():
    with pytest.raises(cy.ShapeError, match=r"give a cy.Dram"):
        cy.Memory(dram=4)
    with pytest.raises(cy.ShapeError, match="it is one of: DDR4, GDDR6"):
        cy.machines.dram("DDR9", 1e9)


def test_refreshes_have_to_end():
    """A row has to be open for a cycle at least before the next one, or no word would ever pass."""
    dram = cy.Dram(interval=23, refresh=15, precharge=5, activate=3)
    cy.Machine(memories={"dram": cy.Memory(dram=dataclasses.replace(dram, interval=24))})
    memory = cy.Memory(dram=dram)
    with pytest.raises(cy.ShapeError, match="interval"):
        cy.Machine(memories={"dram": memory})

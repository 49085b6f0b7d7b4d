"""Memories: which PEs they serve, what their ports make of the cycles in closed form, and what is refused."""

import dataclasses
import json

import numpy as np
import pytest

import cyclotron as cy
from cyclotron.analysis.counters import TIMES
from cyclotron.plot._roofline import roofline_of

ENGINES = ("general", "fast-forward", "functional")


@cy.kernel
def incremented(A):
    X = cy.empty_like(A)
    for i in range(A.shape[0]):
        X[i] = A[i] + 1
    return X


@cy.kernel
def total(A):
    s = cy.empty(1)
    for i in range(1):
        s[i] = sum(A[i, k] for k in range(A.shape[1]))
    return s


@cy.kernel
def scaled(A):
    X = cy.empty_like(A)
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            X[i, j] = A[i, j] + A[i, j]
    return X


@cy.kernel
def product(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


def machine(memory, **options):
    return cy.Machine(memories={"dram": memory}, pe=cy.PE(memory=2**20), **options)


def runs(program):
    """By every engine, with the same cycles and accounting."""
    results = []
    for engine in ENGINES:
        functional = engine == "functional"
        options = {} if functional else {"engine": engine}
        result = cy.run(program, backend="sim", functional=functional, event_limit=0, **options)
        results.append(result)
        assert (sum(result.stats[name] for name in TIMES) == result.cycles).all()
        for name in (*TIMES, "memory_port"):
            np.testing.assert_array_equal(result.stats[name], results[0].stats[name])
        assert result.stats["memory_ports"] == results[0].stats["memory_ports"]
    return results[0]


@pytest.mark.parametrize("pes", [1, 3, 8])
@pytest.mark.parametrize("latency", [8, 30])
def test_pes_take_turns_at_a_port(pes, latency):
    """PE p's load starts at cycle p; its sum is stored the cycle after it has come, and has to arrive."""
    memory = cy.Memory(latency=latency, shared_by=(pes,))
    program = incremented.compile(
        np.ones(pes), schedule=cy.Schedule().space("i"), machine=machine(memory, grid=(pes,))
    )
    result = runs(program)
    assert result.cycles == 2 * latency + pes
    np.testing.assert_array_equal(result.stats["stall_memory"], 2 * latency + np.arange(pes))
    assert result.stats["memory_ports"] == [
        {
            "memory": "dram",
            "pes": pes,
            "loads": pes,
            "stores": pes,
            "words_loaded": pes,
            "words_stored": pes,
            "busy_cycles": 2 * pes,
            "utilization": 2 * pes / result.cycles,
        }
    ]


@pytest.mark.parametrize("depth", [1, 2, 3, 5, 12, 40])
def test_depth_hides_latency(depth):
    """Of ``depth`` loads every ``latency`` cycles, the last is taken, added and stored."""
    n, latency = 30, 12
    memory = cy.Memory(latency=latency, depth=depth)
    program = total.compile(
        np.ones((1, n)), schedule=cy.Schedule().space("i").time("k"), machine=machine(memory)
    )
    last = (n - 1) // depth * latency + (n - 1) % depth + latency if depth < latency else n - 1 + latency
    assert runs(program).cycles == last + 1 + latency


@pytest.mark.parametrize(("bandwidth", "cycles"), [(1, 12), (4, 3), (5, 3), (12, 1), (100, 1)])
def test_a_port_is_busy_for_the_words_of_a_tile(bandwidth, cycles):
    tile = cy.blocked(np.ones((3, 4)), (3, 4))
    program = scaled.compile(
        tile,
        schedule=cy.Schedule().space("i", "j"),
        machine=machine(cy.Memory(bandwidth=bandwidth, latency=5)),
    )
    result = runs(program)
    (port,) = result.stats["memory_ports"]
    loads = port["loads"]
    assert port["busy_cycles"] == (loads + 1) * cycles
    assert port["words_loaded"] == loads * 12
    assert result.stats["stall_memory"].sum() == (loads * cycles + 5 - 1) + (cycles + 5 - 1)


def test_pes_without_a_memory_load_and_store_at_no_cost():
    schedule = cy.schedules.output_stationary(product)
    free = product.compile(np.ones((4, 6)), np.ones((6, 4)), schedule=schedule, machine=machine(cy.Memory()))
    plain = free.with_machine(dataclasses.replace(free.machine, memories={}))
    far = free.with_machine(
        dataclasses.replace(free.machine, memories={"dram": cy.Memory(latency=99, serves="3, 3")})
    )
    assert runs(plain).stats["memory_ports"] == []
    assert (runs(plain).stats["memory_port"] == -1).all()
    stalled = np.argwhere(runs(far).stats["stall_memory"])
    assert stalled.tolist() == [[3, 3]]
    assert runs(far).cycles == runs(plain).cycles + 99
    assert runs(free).cycles > runs(plain).cycles


def test_two_loads_share_a_port_of_two_words():
    """A feeder at the corner loads both operands: half a port each, and the array runs at half its rate."""
    n, k = 3, 50
    schedule = cy.schedules.output_stationary(product)
    arguments = np.ones((n, k)), np.ones((k, n))

    def cycles(bandwidth):
        memory = cy.Memory(bandwidth=bandwidth, latency=4, depth=16)
        return runs(product.compile(*arguments, schedule=schedule, machine=machine(memory))).cycles

    assert cycles(1) - runs(product.compile(*arguments, schedule=schedule)).cycles == pytest.approx(k, abs=12)
    assert cycles(1) == cycles(2)  # a request is of one word: what helps is another port


SERVES = {
    ":, 0": (":, 0", [(0, 0), (1, 0), (2, 0)]),
    ": ,-1": (":, -1", [(0, 3), (1, 3), (2, 3)]),
    "::2, 1:3": ("::2, 1:3", [(0, 1), (0, 2), (2, 1), (2, 2)]),
    "-1:, :1": ("-1, 0", [(2, 0)]),
    "1, :": ("1, :", [(1, 0), (1, 1), (1, 2), (1, 3)]),
}


@pytest.mark.parametrize("text", SERVES)
def test_slices_are_those_of_an_array(text):
    canonical, pes = SERVES[text]
    target = cy.Machine(grid=(3, 4), memories={"dram": cy.Memory(serves=text)})
    assert target.memories["dram"].serves == canonical
    program = product.compile(cy.spec((3, 5)), cy.spec((5, 4)), machine=target)
    result = cy.run(program, backend="sim", functional=False)
    assert list(map(tuple, np.argwhere(result.stats["memory_port"] >= 0).tolist())) == pes


def test_masks_and_several_slices():
    mask = np.zeros((3, 4), bool)
    mask[:, 0] = mask[1, 2:] = True
    memory = cy.Memory(serves=mask)
    assert memory.serves == ("0, 0", "1, 0", "1, 2:4", "2, 0")
    assert memory == cy.Memory(serves=memory.serves)
    assert cy.Memory(serves=[":, 0"]) == cy.Memory(serves=":, 0")


def test_far_edges_are_those_of_the_machine():
    """A program on a part of the array lies at the far edge, where that alone is served."""
    far = cy.Memory(latency=9, serves=":, -1", shared_by=(2, 1))
    arguments = cy.spec((2, 5)), cy.spec((5, 2))
    plane = cy.schedules.output_stationary(product)
    machine = cy.Machine(grid=(4, 4), memories={"dram": far})
    program = product.compile(*arguments, schedule=plane, machine=machine)
    of_any_size = cy.Machine(memories={"dram": far})
    whole = product.compile(*arguments, schedule=plane, machine=of_any_size)
    for one in (program, program.with_machine(of_any_size), whole):
        found = cy.run(one, backend="sim", functional=False).stats["memory_port"]
        assert found.tolist() == [[-1, 0], [-1, 0]]


PLACES = {  # of a part of 2x3 PEs of 8x9: memories, and the PEs that each serves
    "near": ({"a": ":, 0"}, {"a": [(0, 0), (1, 0)]}),
    "far column": ({"a": ":, -1"}, {"a": [(0, 2), (1, 2)]}),
    "far corner": ({"a": "-1, -1"}, {"a": [(1, 2)]}),
    "inner": ({"a": "3, 4"}, {"a": [(1, 2)]}),
    "strided": ({"a": "5::2, 7"}, {"a": [(1, 2)]}),
    "of two boxes": ({"a": ("7, 0", "7, 8")}, {"a": [(1, 0)]}),
    "both": ({"a": "0, :", "b": "1:, -1"}, {"a": [(0, 0), (0, 1), (0, 2)], "b": [(1, 2)]}),
    "not both": ({"a": ":, 0", "b": ":, -1"}, {"a": [(0, 0), (1, 0)]}),
    "two of three": ({"a": "0, 0", "b": "-1, -1", "c": "-2, -1"}, {"b": [(1, 2)], "c": [(0, 2)]}),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_part_of_the_grid_lies_where_memories_serve_it(name):
    serves, seen = PLACES[name]
    memories = {key: cy.Memory(latency=50 + n, serves=text) for n, (key, text) in enumerate(serves.items())}
    program = product.compile(
        np.ones((2, 5)),
        np.ones((5, 3)),
        schedule=cy.Schedule().space("i", "j"),
        machine=cy.Machine(grid=(8, 9), memories=memories),
    )
    stats = runs(program).stats
    found = {}
    for port, at in zip(stats["memory_port"].ravel().tolist(), np.ndindex(2, 3), strict=True):
        if port >= 0:
            found.setdefault(stats["memory_ports"][port]["memory"], []).append(at)
    assert found == seen
    again = program.with_machine(program.machine)
    assert runs(again).cycles == runs(program).cycles > 50


@pytest.mark.parametrize("block", [(4, 1), (8, 3)])
def test_a_part_is_cut_by_blocks_of_ports_as_at_the_first_pe(block):
    """Of 4 rows, the last ones could not be cut so: a part of 5 begins at row 0 alone."""
    far = {"dram": cy.Memory(latency=50, serves=":, -1", shared_by=block)}
    for rows, ports in ((3, [0, 0, 0]), (5, [0, 0, 0, 0, 1] if block[0] == 4 else [0] * 5)):
        program = product.compile(
            np.ones((rows, 5)),
            np.ones((5, 3)),
            schedule=cy.Schedule().space("i", "j"),
            machine=cy.Machine(grid=(8, 9), memories=far),
        )
        assert runs(program).stats["memory_port"][:, -1].tolist() == ports


def test_a_part_that_no_memory_can_serve(golden_refusal):
    """Two chips of three rows: the far row is one of four PEs that share a port, which would cut the part."""
    far = {"dram": cy.Memory(latency=50, serves="-1, :", shared_by=(4, 1))}
    machine = cy.Machine(grid=(8, 8), memories=far, chiplets=cy.Chiplets((3, 8)))
    kernel, schedule = product, cy.Schedule().space("i", "j")
    golden_refusal(
        "part-that-no-memory-serves",
        cy.CapacityError,
        "CYC506",
        lambda: kernel.compile(cy.spec((3, 5)), cy.spec((5, 3)), schedule=schedule, machine=machine),
    )


def test_machines_of_any_size_are_as_large_as_the_program():
    target = cy.Machine(memories={"dram": cy.Memory(shared_by=(2, 1))})
    even, odd = (cy.spec((4, 5)), cy.spec((5, 3))), (cy.spec((3, 5)), cy.spec((5, 3)))
    plane = cy.schedules.output_stationary(product)
    assert product.compile(*even, schedule=plane, machine=target).grid == (4, 3)
    # The compiler's own choice is one that the memories tile, where there is one.
    assert product.compile(*even, machine=target).grid[0] % 2 == 0
    with pytest.raises(cy.ShapeError, match="do not tile the grid's"):
        product.compile(*odd, machine=target)
    with pytest.raises(cy.ShapeError, match="do not tile the grid's 3"):
        product.compile(*odd, schedule=plane, machine=target)
    with pytest.raises(cy.ShapeError, match="do not tile the grid's 3"):
        product.compile(*odd, schedule=plane).with_machine(target)


def test_files_keep_memories(tmp_path):
    memories = {
        "dram": cy.Memory(
            bandwidth=4, latency=100, depth=8, serves=(":, 0", ":, -1"), shared_by=(2, 1), size=2**34
        ),
        "on chip": cy.Memory(serves=":, 1:-1"),
    }
    target = cy.Machine(grid=(4, 4), memories=memories)
    target.save(tmp_path / "m.toml")
    assert cy.Machine.load(tmp_path / "m.toml") == target
    assert cy.Machine.from_core(target.to_core()) == target
    assert eval(repr(target), {"cy": cy}) == target
    assert (
        "memory dram 4 words a cycle latency 100 depth 8 for (:, 0) and (:, -1), a port for each 2x1"
        in str(target)
    )
    program = product.compile(cy.spec((4, 4)), cy.spec((4, 4)), machine=target)
    program.save(tmp_path / "p.cyc")
    assert cy.load(tmp_path / "p.cyc").core == program.core
    assert hash(target) == hash(cy.Machine.load(tmp_path / "m.toml"))


def small(serves=None, **options):
    return cy.Machine(grid=(4, 4), memories={"dram": cy.Memory(serves=serves, **options)})


REFUSED = {
    "memory-of-no-bandwidth": ("CYC401", lambda: cy.Memory(bandwidth=0)),
    "memory-of-no-pe": ("CYC401", lambda: small(":, 7")),
    "memory-of-an-empty-mask": ("CYC401", lambda: cy.Memory(serves=np.zeros((2, 2), bool))),
    "memory-of-an-unreadable-mask": ("CYC402", lambda: cy.Memory(serves=":, left")),
    "memory-of-another-rank": ("CYC401", lambda: small("0")),
    "memory-ports-that-do-not-tile": ("CYC401", lambda: small(":, 0", shared_by=(3, 1))),
    "memories-of-one-pe": (
        "CYC401",
        lambda: cy.Machine(
            grid=(4, 4), memories={"a": cy.Memory(serves="::2, :"), "b": cy.Memory(serves=":, ::3")}
        ),
    ),
    "memory-of-another-type": ("CYC402", lambda: cy.Machine(memories={"dram": 4})),
    "memory-field": ("CYC402", lambda: cy.Machine.from_dict({"memories": {"dram": {"bandwith": 4}}})),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, golden_refusal):
    code, make = REFUSED[name]
    golden_refusal(name, cy.ShapeError, code, make)


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        (lambda: cy.Memory(latency=0), "CYC401", "`memory.latency` is 0"),
        (lambda: cy.Memory(depth=2.5), "CYC402", "of type float"),
        (lambda: cy.Memory(size=0), "CYC401", "`memory.size` is 0"),
        (lambda: cy.Memory(serves=4), "CYC402", "of type int"),
        (lambda: cy.Memory(serves=[4]), "CYC402", "of type int"),
        (lambda: cy.Memory(serves="::0"), "CYC402", '"::0"'),
        (lambda: cy.Memory(serves="-, 0"), "CYC402", '"-"'),
        (lambda: cy.Memory(shared_by=4), "CYC402", "of type int"),
        (lambda: cy.Memory(shared_by=(0,)), "CYC401", "shared_by[0]` is 0"),
        (lambda: cy.Machine(memories=[cy.Memory()]), "CYC402", "of type list"),
        (lambda: cy.Machine(memories={3: cy.Memory()}), "CYC402", "of type int"),
        (lambda: small(shared_by=(2,)), "CYC401", "has rank 1, and the grid rank 2"),
    ],
)
def test_fields_are_checked(make, code, words):
    with pytest.raises(cy.ShapeError) as caught:
        make()
    assert caught.value.code == code
    assert words in str(caught.value)


@pytest.mark.parametrize("functional", [True, False])
def test_tensors_must_fit(functional, golden_refusal):
    program = incremented.compile(
        np.ones(100), schedule=cy.Schedule().space("i"), machine=machine(cy.Memory(size=1599))
    )
    enough = program.with_machine(machine(cy.Memory(size=1600)))
    cy.run(enough, backend="sim", functional=functional)
    golden_refusal(
        "tensors-larger-than-their-memory",
        cy.CapacityError,
        "CYC503",
        lambda: cy.run(program, backend="sim", functional=functional),
    )


@pytest.mark.parametrize("shared_by", [None, (4, 4), (2, 1)])
def test_long_runs_are_skipped_where_requests_repeat_themselves(shared_by):
    """Arbitration is as much a part of what repeats itself as the queues are; the rest is in closed form."""

    def result(steps, engine="fast-forward"):
        memory = cy.Memory(latency=20, depth=4, serves=(":, 0", "0, 1:"), shared_by=shared_by)
        program = product.compile(
            cy.spec((8, steps)),
            cy.spec((steps, 8)),
            schedule=cy.schedules.output_stationary(product),
            machine=machine(memory, grid=(8, 8)),
        )
        return cy.run(program, backend="sim", functional=False, event_limit=0, engine=engine)

    short, long = result(1_000), result(1_000_000)
    assert result(1_000, "general").cycles == short.cycles
    # The corner takes two values a step, of four in each round trip; or its port has more to do.
    bound = 2 * 20 / 4
    ports = short.stats["memory_ports"]
    busiest = max(port["loads"] for port in ports) / 1_000
    assert long.cycles - short.cycles == max(bound, busiest) * 999_000
    assert long.stats["cycles_skipped"] > 0.999 * long.cycles
    for port, before in zip(long.stats["memory_ports"], ports, strict=True):
        assert port["loads"] == 1_000 * before["loads"]
        assert port["busy_cycles"] == port["words_loaded"] + port["words_stored"]
    assert (sum(long.stats[name] for name in TIMES) == long.cycles).all()


def slow_product(**options):
    memory = cy.Memory(latency=9, depth=2, serves=":, 0", shared_by=(2, 1), **options)
    return product.compile(
        np.ones((4, 6)),
        np.ones((6, 4)),
        schedule=cy.schedules.output_stationary(product),
        machine=machine(memory, grid=(4, 4)),
    )


def test_requests_tell_each_wait():
    result = cy.run(slow_product(), backend="sim")
    requests = result.memory_requests
    assert len(requests) == sum(port["loads"] + port["stores"] for port in result.stats["memory_ports"])
    np.testing.assert_array_equal(requests["end"] - requests["start"], requests["words"])
    np.testing.assert_array_equal(requests["arrival"], requests["end"] + 9 - 1)
    assert (requests["asked"] <= requests["start"]).all()
    loads = requests[~requests["stores"]]
    np.testing.assert_array_equal(loads["passed"], np.maximum(loads["waiting"], loads["arrival"]))
    for port in range(2):
        served = np.sort(requests[requests["port"] == port], order="start")
        assert (served["start"][1:] >= served["end"][:-1]).all()
        assert (np.diff(served["asked"]) >= 0).all()
    dropped = cy.run(slow_product(), backend="sim", event_limit=len(requests) - 1)
    assert dropped.memory_requests_dropped == len(requests)
    with pytest.raises(cy.ExecutionError, match="event_limit"):
        dropped.critical_path()


def test_a_trace_has_a_track_for_each_port(tmp_path):
    result = cy.run(slow_product(), backend="sim")
    result.save_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["ts"] for event in trace] == sorted(event["ts"] for event in trace)
    names = {event["tid"]: event["args"]["name"] for event in trace if event["name"] == "thread_name"}
    transfers = [event for event in trace if event.get("cat") == "transfer"]
    assert {names[event["tid"]] for event in transfers} == {"dram port 0", "dram port 1"}
    busy = sum(port["busy_cycles"] for port in result.stats["memory_ports"])
    assert sum(event["dur"] for event in transfers) == busy
    waits = sum(event["dur"] for event in trace if event.get("cat") in ("load", "store"))
    ends = result.stats["stall_memory"].sum() - waits  # for the last stores
    assert 0 < ends <= 4 * (2 * 9 + 2)


def test_the_roof_is_that_of_the_ports_that_are_used():
    result = cy.run(slow_product(bandwidth=3), backend="sim", functional=False)
    roof = next(roof for roof in roofline_of(result).roofs if roof.name == "memory")
    assert roof.bandwidth == 8 * 2 * 3
    assert "through 2 ports" in roof.text
    assert roof.moved == 8 * (4 * 6 + 6 + 4)  # A, the first column of B, and that of C
    free = cy.run(slow_product().with_machine(cy.Machine()), backend="sim", functional=False)
    assert "supposing 1 word a cycle" in roofline_of(free).roofs[0].text


def test_a_sweep_varies_memories():
    axes = {"memory_bandwidth": [1, 4], "memory_latency": [1, 50], "memory_depth": [1, 8]}
    swept = cy.sweep(slow_product(), **axes)
    for record in swept:
        memory = cy.Memory(
            bandwidth=record["memory_bandwidth"],
            latency=record["memory_latency"],
            depth=record["memory_depth"],
            serves=":, 0",
            shared_by=(2, 1),
        )
        program = slow_product().with_machine(machine(memory, grid=(4, 4)))
        result = cy.run(program, backend="sim", functional=False)
        assert record["cycles"] == result.cycles
        assert record["stall_memory"] == pytest.approx(result.stats["stall_memory"].mean() / result.cycles)
    assert len({record["cycles"] for record in swept}) > 2


@cy.kernel
def banded_sums(A, B):
    n = A.shape[0]
    X = cy.empty((n, 4))
    for i in range(n):
        for j in range(4):
            X[i, j] = sum(A[k] * B[k, i - j + 3] for k in range(i, n))
    return X


@pytest.mark.timeout(60)
@pytest.mark.parametrize("n", [6, 7, 11, 16])
def test_loads_ahead_of_the_last_iteration_of_a_loop(n):
    """Two loops of what a memory knows ahead go on at once: no period skips the end of the outer one."""
    program = banded_sums.compile(
        cy.spec((n,)),
        cy.spec((n, n + 4)),
        schedule=cy.Schedule().time("i", "j", "k").prefetch("B"),
        machine=cy.Machine(grid=(1,), memories={"dram": cy.Memory(latency=30, depth=2**30)}),
    )
    runs = [
        cy.run(program, backend="sim", functional=False, event_limit=0, engine=engine)
        for engine in ("general", "fast-forward")
    ]
    assert runs[0].cycles == runs[1].cycles
    assert np.array_equal(runs[0].stats["stall_memory"], runs[1].stats["stall_memory"])


@cy.kernel
def a_sum_beside_elements(x):
    n = x.shape[0]
    y = cy.empty((2, n))
    for i in range(2):
        for k in range(n):
            if i == 1 and k == 0:
                y[i, k] = sum(x[m] for m in range(n))
            else:
                y[i, k] = cy.exp(x[0])
    return y


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(("exp", "cycles"), [(2, 1499), (3, 1648), (5, 2171)])
def test_no_period_is_skipped_past_the_next_request_of_another(exp, cycles, depth):
    """One PE stores while the other sums up, at its own pace, and then stores beside it."""
    n = 300
    schedule = cy.Schedule().space("i").time("k").prefetch("x")
    program = a_sum_beside_elements.compile(cy.spec((n,)), schedule=schedule)
    pe = cy.PE(memory=1 << 20, cycles={"add": 1, "exp": exp})
    memories = {"dram": cy.Memory(depth=depth, shared_by=(2,))}
    program = program.with_machine(cy.Machine(pe=pe, memories=memories))
    general, forward = (
        cy.run(program, backend="sim", functional=False, engine=engine)
        for engine in ("general", "fast-forward")
    )
    assert general.cycles == forward.cycles == cycles
    assert forward.stats["cycles_skipped"] > cycles // 2
    for name in TIMES:
        assert np.array_equal(general.stats[name], forward.stats[name])

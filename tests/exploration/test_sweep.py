"""`cy.sweep`: every record is what a compile and a run of that design say."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import cyclotron as cy


@cy.kernel
def matmul(A, B):
    C = cy.empty((A.shape[0], B.shape[1]), dtype=A.dtype)
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


SPECS = cy.spec((5, 7)), cy.spec((7, 4))
OUTPUT_STATIONARY = cy.schedules.output_stationary(matmul)
WEIGHT_STATIONARY = cy.schedules.weight_stationary(matmul)
BASE = cy.Machine(pe=cy.PE(memory=1 << 20, cycles={"multiply_add": 3}))


def machine_of(record):
    link = cy.Link(latency=record["link_latency"], depth=record["depth"])
    return cy.Machine(
        grid=record.get("grid"),
        link=link,
        broadcast=link,
        pe=cy.PE(memory=1 << 20, cycles={"multiply_add": 3}),
    )


def compiled_and_run(record):
    schedule = record["schedule"]
    if schedule is None:  # the compiler's choice for the machine that is swept, whatever the links
        schedule = matmul.compile(*SPECS, machine=dataclasses.replace(BASE, grid=record["grid"])).schedule
    program = matmul.compile(*SPECS, schedule=schedule, machine=machine_of(record))
    return program, cy.run(program, backend="sim", functional=False)


def test_every_record_is_a_run():
    schedules = [OUTPUT_STATIONARY, WEIGHT_STATIONARY, None]
    axes = {"schedule": schedules, "grid": [(2, 2), (8, 8)], "link_latency": [1, 4], "depth": [1, 2]}
    swept = cy.sweep(matmul, *SPECS, machine=BASE, **axes)
    assert swept.complete
    assert [tuple(r[name] for name in axes) for r in swept] == list(itertools.product(*axes.values()))
    for record in swept:
        if record["error"] is not None:
            with pytest.raises(cy.CyclotronError) as caught:
                compiled_and_run(record)
            assert record["error"] == f"{caught.value.code} {caught.value.message}"
            assert record["cycles"] is None
            continue
        program, run = compiled_and_run(record)
        assert record["cycles"] == run.cycles
        assert record["pes"] == np.prod(run.grid)
        assert record["utilization"] == pytest.approx(run.utilization.mean())
        assert record["stall_full"] == pytest.approx(run.stats["stall_full"].mean() / run.cycles)
        assert record["memory_bytes"] == program.memory_bytes
        total = sum(
            record[name] for name in ("utilization", "stall_empty", "stall_full", "stall_memory", "idle")
        )
        assert total == pytest.approx(1.0)
    assert any(record["error"] is None for record in swept)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_program_and_any_number_of_threads(threads):
    program = matmul.compile(*SPECS, schedule=OUTPUT_STATIONARY)
    latencies, depths = [1, 2, 3], [1, 2, 8]
    swept = cy.sweep(program, link_latency=latencies, depth=depths, threads=threads)
    kernel = cy.sweep(matmul, *SPECS, schedule=OUTPUT_STATIONARY, link_latency=latencies, depth=depths)
    without = [{k: v for k, v in record.items() if k != "schedule"} for record in kernel]
    assert list(swept) == without
    assert len(swept) == 9
    assert swept.columns[:2] == ("link_latency", "depth")


def test_simulations_in_other_processes():
    """A refusal of the compiler and a deadlock come back as records, and the pool stays open."""
    axes = {"schedule": [OUTPUT_STATIONARY, cy.Schedule().space("x")], "depth": [0, 1, 4]}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert list(cy.sweep(matmul, *SPECS, **axes, executor=pool)) == list(cy.sweep(matmul, *SPECS, **axes))
        assert pool.submit(int, "3").result() == 3


def test_a_loaded_program(tmp_path):
    program = matmul.compile(*SPECS, schedule=OUTPUT_STATIONARY)
    program.save(tmp_path / "p.cyc")
    assert list(cy.sweep(cy.load(tmp_path / "p.cyc"), depth=[1, 4])) == list(cy.sweep(program, depth=[1, 4]))


def test_one_design():
    (record,) = cy.sweep(matmul, *SPECS, schedule=OUTPUT_STATIONARY)
    assert record["cycles"] == 5 + 7 + 4 - 2
    assert record["schedule"] == OUTPUT_STATIONARY


def test_a_rotation_gets_its_rings():
    swept = cy.sweep(matmul, cy.spec((4, 4)), cy.spec((4, 4)), schedule=cy.schedules.cannon(matmul))
    assert [record["cycles"] for record in swept] == [4]


def test_what_is_refused_is_a_record():
    swept = cy.sweep(matmul, *SPECS, schedule=[cy.Schedule().space("q"), OUTPUT_STATIONARY], depth=[1])
    refused, done = swept
    assert refused["error"].startswith("CYC310")
    assert refused["cycles"] is None
    assert done["error"] is None
    assert list(swept.pareto()) == [done]
    assert "CYC310" in str(swept)


@cy.kernel
def late_exchange(A):
    """Neighbours exchange what they made five steps ago: links must hold five."""
    T, n = A.shape
    X = cy.empty_like(A)
    for t in range(T):
        for i in range(n):
            if t < 5:
                X[t, i] = A[t, i]
            elif i == 0:
                X[t, i] = X[t - 5, i + 1]
            else:
                X[t, i] = X[t - 5, i - 1]
    return X


def test_a_deadlock_is_a_record():
    swept = cy.sweep(late_exchange, cy.spec((12, 2)), schedule=cy.Schedule().space("i"), depth=[2, 5, 6])
    assert [record["error"] and record["error"][:6] for record in swept] == ["CYC801", None, None]
    assert swept[1]["cycles"] is not None


@pytest.mark.parametrize("depth", [3, np.int64(3), (3,), np.array([3])], ids=repr)
def test_one_value_or_several(depth):
    (record,) = cy.sweep(matmul, *SPECS, schedule=OUTPUT_STATIONARY, depth=depth)
    assert record["depth"] == 3
    assert list(cy.Sweep([record]).pareto("depth")) == [record]


@pytest.mark.parametrize(
    ("grid", "grids"), [(3, [(3,)]), ((2, 2), [(2, 2)]), ([[2, 2], (1, 4)], [(2, 2), (1, 4)])]
)
def test_grids(grid, grids):
    swept = cy.sweep(matmul, *SPECS, schedule=OUTPUT_STATIONARY, grid=grid)
    assert [record["grid"] for record in swept] == grids


def test_links_of_a_direction_are_swept_too():
    machine = cy.Machine(links={(0, 1): cy.Link(latency=7, depth=64)}, link=cy.Link(depth=64))
    swept = cy.sweep(matmul, *SPECS, schedule=OUTPUT_STATIONARY, link_latency=[1, 3], machine=machine)
    plain = cy.sweep(matmul, *SPECS, schedule=OUTPUT_STATIONARY, link_latency=[1, 3], depth=64)
    assert [record["cycles"] for record in swept] == [record["cycles"] for record in plain]


FIELDS = {"link_latency": "latency", "response_latency": "response_latency", "depth": "depth"}


def of_every_link(kind, **fields):
    """A machine whose link fields are these wherever it has links, and no others where none are given."""
    one = cy.Link(**{"latency": 7, "response_latency": 6, "depth": 9, **fields})
    two = cy.Link(**{"latency": 50, "response_latency": 3, "depth": 1, **fields})
    if kind == "broadcasts":
        return cy.Machine(link=one, broadcast=one, broadcasts={0: one, 1: two})
    maps = [("(i, j) -> (i, j + 1) if j < 3", two), ("(i, j) -> (i + 1, j) if i < 4", None)]
    return cy.Machine(grid=(5, 4), link=one, topology=tuple(cy.LinkMap(*given) for given in maps))


@pytest.mark.parametrize("axis", FIELDS)
@pytest.mark.parametrize("kind", ["broadcasts", "link maps"])
def test_networks_of_a_dimension_and_link_maps_are_swept_too(kind, axis):
    space = cy.Schedule().space("i", "j")
    schedule = cy.schedules.summa(matmul) if kind == "broadcasts" else space
    values = [1, 8, 100]
    swept = cy.sweep(matmul, *SPECS, schedule=schedule, machine=of_every_link(kind), **{axis: values})
    direct = [
        matmul.compile(*SPECS, schedule=schedule, machine=of_every_link(kind, **{FIELDS[axis]: value}))
        for value in values
    ]
    cycles = [cy.run(program, backend="sim", functional=False).cycles for program in direct]
    assert [record["cycles"] for record in swept] == cycles
    assert len(set(cycles)) > 1


@pytest.mark.parametrize(
    "given",
    [
        {"machine": "torus"},
        {"machine": {"a": "x"}},
        {"machine": {"a": "x"}, "memory_latency": [1]},
        {"machine": {}},
        {"schedule": "os"},
        {"schedule": {"a": 3}},
        {"schedule": [3]},
        {"topology": [3]},
        {"topology": 3},
        {"threads": "2"},
        {"threads": 1.5},
    ],
    ids=repr,
)
def test_an_argument_of_another_type_is_refused(given):
    for design in ((matmul, *SPECS), (matmul.compile(*SPECS),)):
        with pytest.raises(cy.ExecutionError) as caught:
            cy.sweep(*design, **given)
        assert caught.value.code == "CYC716"
        assert caught.value.help


def test_names_of_schedules_and_machines():
    schedules = {"output": OUTPUT_STATIONARY, "weight": WEIGHT_STATIONARY, "chosen": None}
    machines = {"ideal": cy.machines.unit(), "slow": cy.Machine(link=cy.Link(latency=5, depth=64))}
    swept = cy.sweep(matmul, *SPECS, schedule=schedules, machine=machines, depth=[3, 64])
    assert [(r["machine"], r["schedule"], r["depth"]) for r in swept] == list(
        itertools.product(machines, schedules, [3, 64])
    )
    for record in swept:
        plain = cy.sweep(
            matmul,
            *SPECS,
            schedule=schedules[record["schedule"]],
            machine=machines[record["machine"]],
            depth=record["depth"],
        )
        assert record["cycles"] == plain[0]["cycles"]
    program = matmul.compile(*SPECS, schedule=OUTPUT_STATIONARY)
    assert [(r["machine"], r["cycles"]) for r in cy.sweep(program, machine=machines)] == [
        (r["machine"], r["cycles"]) for r in swept if (r["schedule"], r["depth"]) == ("output", 64)
    ]


def test_memories():
    program = matmul.compile(*SPECS, schedule=OUTPUT_STATIONARY)
    needed = program.memory_bytes
    swept = cy.sweep(program, memory=[needed - 1, needed], words_per_cycle=[1, 4])
    assert [record["words_per_cycle"] for record in swept] == [1, 1, 4, 4]
    assert [record["error"] and record["error"][:6] for record in swept] == ["CYC501", None] * 2
    kernel = cy.sweep(matmul, *SPECS, schedule=OUTPUT_STATIONARY, memory=[needed - 1, needed])
    assert [record["cycles"] for record in kernel] == [None, swept[1]["cycles"]]


def test_registers_and_banks():
    """Each value is that of the program compiled for it, and cycles fall as the values that are live fit."""
    square = [cy.spec((8, 8))] * 2
    schedules = {"output": OUTPUT_STATIONARY, "input": cy.schedules.input_stationary(matmul)}
    registers = [None, 0, 1, 2, 4, 16, 17, 18, 20, 64]
    swept = cy.sweep(
        matmul,
        *square,
        schedule=schedules,
        grid=[(2, 2)],
        machine=cy.Machine(),
        registers=registers,
        banks=[1, 8],
    )
    cycles: dict[tuple[str, int], list[int]] = {}
    for record in swept:
        pe = cy.PE(registers=record["registers"], banks=record["banks"])
        program = matmul.compile(
            *square, schedule=schedules[record["schedule"]], machine=cy.Machine(grid=(2, 2), pe=pe)
        )
        assert record["cycles"] == cy.run(program, backend="sim", functional=False).cycles
        cycles.setdefault((record["schedule"], record["banks"]), []).append(record["cycles"])
    for found in cycles.values():
        assert found == sorted(found, reverse=True)
        assert found[-1] < found[0]


def test_banks_that_do_not_divide_the_memory():
    program = matmul.compile(*SPECS, schedule=OUTPUT_STATIONARY)
    swept = cy.sweep(program, memory=[1000, 1024], banks=[None, 16])
    assert [record["error"] and record["error"][:6] for record in swept] == [None, "CYC401", None, None]


@cy.kernel
def product_of_three(A, B, C):
    H = cy.empty((A.shape[0], B.shape[1]))
    Y = cy.empty((A.shape[0], C.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            H[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    for i in range(A.shape[0]):
        for k in range(C.shape[1]):
            Y[i, k] = sum(H[i, j] * C[j, k] for j in range(B.shape[1]))
    return Y


@pytest.mark.parametrize("n", [4, 9])
def test_fusion_raises_throughput_and_utilization(n):
    """As one program, the second product starts in each PE when the first ends there."""
    square, space = cy.spec((n, n)), cy.Schedule().space("i", "j")
    second = cy.Schedule().space("i", "k").time("j").prefetch("A")
    (one,) = cy.sweep(matmul, square, square, schedule=space.time("k"), machine=cy.machines.unit())
    (two,) = cy.sweep(matmul, square, square, schedule=second, machine=cy.machines.unit())
    (both,) = cy.sweep(
        product_of_three, square, square, square, schedule=space.time("k"), machine=cy.machines.unit()
    )
    assert one["cycles"] == 3 * n - 2
    assert both["cycles"] < one["cycles"] + two["cycles"]
    apart = sum(record["cycles"] * record["utilization"] for record in (one, two))
    assert both["cycles"] * both["utilization"] == pytest.approx(apart)
    assert both["utilization"] > apart / (one["cycles"] + two["cycles"])


def test_what_no_machine_has_is_a_record():
    for axes in ({"depth": [0]}, {"link_latency": ["x"]}, {"grid": [(2.5, 1)]}, {"topology": ["star"]}):
        (record,) = cy.sweep(matmul, *SPECS, schedule=OUTPUT_STATIONARY, **axes)
        assert record["error"].startswith("CYC4")


def test_pareto():
    def record(cycles, pes, error=None):
        return {"cycles": cycles, "pes": pes, "utilization": pes and 1.0 / pes, "error": error}

    records = [record(10, 4), record(10, 5), record(8, 5), record(12, 3), record(12, 4), record(8, 5)]
    swept = cy.Sweep([*records, record(None, None, "CYC220 no")])
    assert [(r["cycles"], r["pes"]) for r in swept.pareto()] == [(10, 4), (8, 5), (12, 3), (8, 5)]
    assert [r["cycles"] for r in swept.pareto("cycles")] == [8, 8]
    assert [r["pes"] for r in swept.pareto("-utilization")] == [3]
    with pytest.raises(cy.ExecutionError) as caught:
        swept.pareto("speed")
    assert caught.value.code == "CYC716"
    assert "cycles, pes, utilization" in str(caught.value)
    assert list(cy.Sweep([]).pareto()) == []


def test_csv(tmp_path):
    swept = cy.sweep(matmul, *SPECS, schedule=OUTPUT_STATIONARY, grid=(5, 4), depth=[1, 2])
    text = swept.to_csv(tmp_path / "sweep.csv")
    assert (tmp_path / "sweep.csv").read_text() == text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [int(row["cycles"]) for row in rows] == [record["cycles"] for record in swept]
    assert [float(row["utilization"]) for row in rows] == [record["utilization"] for record in swept]
    assert rows[0]["grid"] == "5x4"


def test_table_and_html():
    swept = cy.sweep(matmul, *SPECS, schedule=OUTPUT_STATIONARY, link_latency=list(range(1, 43)), depth=[4])
    assert str(swept).splitlines()[0].split()[:3] == ["schedule", "link_latency", "depth"]
    assert str(swept).endswith("and 2 more")
    assert "42 designs" in swept._repr_html_()
    assert isinstance(swept[:3], cy.Sweep)
    assert len(swept[:3]) == 3
    assert str(cy.Sweep([])) == "no designs"


def test_ctrl_c_keeps_what_is_done(monkeypatch):
    program = matmul.compile(*SPECS, schedule=OUTPUT_STATIONARY)
    module = __import__("sys").modules["cyclotron.explore.sweep"]
    measured, calls = module._measured, itertools.count()

    def interrupted(*args):
        if next(calls) == 30:
            raise KeyboardInterrupt
        return measured(*args)

    monkeypatch.setattr(module, "_measured", interrupted)
    swept = cy.sweep(program, depth=list(range(1, 101)), threads=2)
    assert not swept.complete
    assert 0 < len(swept) < 100
    assert [r["depth"] for r in swept] == sorted(r["depth"] for r in swept)
    assert "stopped before all were done" in str(swept)


@pytest.mark.parametrize(
    ("arguments", "axes", "text"),
    [
        ((matmul, *SPECS), {"depth": []}, "`depth` has no value"),
        ((matmul, *SPECS), {"executor": 3}, "`executor` of a sweep is 3, of type int"),
        ((3,), {}, "sweep() got a `int`"),
        ((matmul, *SPECS), {"memory_latency": [1, 2]}, "varies memories, and the machine has none"),
    ],
)
def test_refusals(arguments, axes, text):
    with pytest.raises(cy.ExecutionError) as caught:
        cy.sweep(*arguments, **axes)
    assert caught.value.code == "CYC716"
    assert text in caught.value.message


def test_a_program_has_its_mapping():
    program = matmul.compile(*SPECS, schedule=OUTPUT_STATIONARY)
    for axes in ({"grid": (2, 2)}, {"schedule": [OUTPUT_STATIONARY]}, {"topology": "torus"}):
        with pytest.raises(cy.ExecutionError, match="already"):
            cy.sweep(program, **axes)
    with pytest.raises(cy.ExecutionError, match="arguments already"):
        cy.sweep(program, *SPECS)


def test_with_machine():
    program = matmul.compile(*SPECS, schedule=OUTPUT_STATIONARY, machine=cy.Machine(grid=(8, 8)))
    assert program.grid == (5, 4)
    slow = program.with_machine(cy.Machine(link=cy.Link(latency=9)))
    machine = cy.Machine(grid=(8, 8), link=cy.Link(latency=9))
    again = matmul.compile(*SPECS, schedule=OUTPUT_STATIONARY, machine=machine)
    assert slow == again
    assert slow.machine == again.machine
    rng = np.random.default_rng(1)
    A, B = rng.integers(-9, 9, (5, 7)).astype(float), rng.integers(-9, 9, (7, 4)).astype(float)
    assert np.array_equal(cy.run(slow, A, B, backend="sim").output, A @ B)
    for other in (cy.Machine(grid=(3, 3)), cy.Machine(topology="torus")):
        with pytest.raises(cy.ShapeError, match="mesh of 5x4") as caught:
            program.with_machine(other)
        assert caught.value.code == "CYC400"
    with pytest.raises(cy.ShapeError, match="`int`"):
        program.with_machine(3)
    with pytest.raises(cy.CapacityError, match="has 8 a PE") as caught:
        program.with_machine(cy.Machine(pe=cy.PE(memory=8)))
    assert caught.value.code == "CYC501"


def test_pareto_picture(tmp_path):
    swept = cy.sweep(
        matmul, *SPECS, schedule=[OUTPUT_STATIONARY, WEIGHT_STATIONARY], grid=[(1, 1), (2, 2), (4, 4), (8, 8)]
    )
    figure = swept.plot(path=tmp_path / "front.png")
    (front,) = figure.axes[0].lines
    points = sorted({(r["pes"], r["cycles"]) for r in swept.pareto()})
    assert [tuple(p) for p in front.get_xydata()] == points
    assert (tmp_path / "front.png").stat().st_size > 5000
    names = [text.get_text() for text in figure.axes[0].texts]
    assert len(names) == 1 + len(points)  # and the title's second line
    assert any("grid 8x8" in name for name in names)
    by_grid = swept.plot("pes", "-utilization", by="grid").axes[0]
    assert [text.get_text() for text in by_grid.get_legend().get_texts()][:4] == ["1x1", "2x2", "4x4", "8x8"]
    assert [len(points.get_offsets()) for points in by_grid.collections] == [2] * 4
    with pytest.raises(cy.ExecutionError, match="no column `color`") as caught:
        swept.plot(by="color")
    assert caught.value.code == "CYC716"

"""The energy of runs: by hand for small programs, by independent counts for others."""

from __future__ import annotations

import dataclasses
import pickle
from fractions import Fraction
from typing import Any

import kernels
import numpy as np
import pytest

import cyclotron as cy

OPERATORS = ("add", "multiply", "maximum", "absolute", "divide", "sqrt")
DTYPES = ("int8", "int32", "int64", "float32", "float64")
ENERGY = cy.Energy(
    {
        name: {dtype: 0.1 * (1 + n) + 0.01 * m for m, dtype in enumerate(DTYPES)}
        for n, name in enumerate(OPERATORS)
    },
    hop_picojoules_per_byte=0.3,
    register_picojoules_per_byte=0.05,
    sram_picojoules_per_byte=0.7,
    memory_picojoules_per_byte={"default": 20.1},
    leakage_picojoules_per_cycle=0.01,
    source="made up",
)


@cy.kernel
def wide_matmul(A, B):  # type: ignore[no-untyped-def]
    return cy.matmul(A, B, dtype="int32")


def machine(energy: cy.Energy, **fields: Any) -> cy.Machine:
    return cy.Machine(energy=energy, **fields)


def product(n: int, energy: cy.Energy, dtype: str = "float64") -> cy.Result:
    A = np.ones((n, n), dtype)
    schedule = cy.schedules.output_stationary(kernels.matmul)
    return cy.run(kernels.matmul.compile(A, A, schedule=schedule, machine=machine(energy)), backend="sim")


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_product_by_hand(n: int) -> None:
    """On an n x n array each PE multiplies n times and adds n - 1 times or, to a zero, n times."""
    one = dict.fromkeys(DTYPES, 1.0)
    outside = {"memory_picojoules_per_byte": {"default": 0}}
    result = product(n, cy.Energy({"multiply": one, "add": dict.fromkeys(DTYPES, 0.0)}, **outside))
    assert result.energy.total == n**3
    assert (result.energy.by_pe == n).all()
    result = product(n, cy.Energy(ENERGY.operation_picojoules, hop_picojoules_per_byte=1, **outside))
    assert result.energy.by_level.get("links", 0) == 2 * n * n * (n - 1) * 8  # A to the right, B down
    result = product(n, dataclasses.replace(ENERGY, operation_picojoules=ENERGY.operation_picojoules))
    assert result.energy.by_level["outside"] == pytest.approx(20.1 * 8 * 3 * n * n)  # A, B and C, each once
    assert result.energy.by_level["leakage"] == pytest.approx(0.01 * n * n * result.cycles)


def test_narrow_words_cost_their_bytes() -> None:
    wide, narrow = product(4, ENERGY, "int32").energy, product(4, ENERGY, "int8").energy
    for level in ("links", "outside", "sram"):
        assert wide.by_level[level] == pytest.approx(4 * narrow.by_level[level])


@pytest.mark.parametrize("functional", [True, False])
def test_it_is_what_independent_counts_say(functional: bool) -> None:
    only = dict.fromkeys(DTYPES, 1.0)
    operations = dict.fromkeys(OPERATORS, only)
    A, B = np.ones((6, 5)), np.ones((5, 4))
    program = kernels.matmul.compile(A, B)

    def of(**fields: Any) -> tuple[float, Any]:
        fields.setdefault("memory_picojoules_per_byte", {"default": 0})
        energy = cy.Energy(
            dict.fromkeys(OPERATORS, dict.fromkeys(DTYPES, 0.0)) | fields.pop("operations", {}), **fields
        )
        result = cy.run(
            program.with_machine(dataclasses.replace(program.machine, energy=energy)),
            backend="sim",
            functional=functional,
        )
        return result.energy.total, result

    total, result = of(operations=operations)
    assert total == result.stats["flops"].sum()
    total, result = of(memory_picojoules_per_byte={"default": 1})
    assert total == (result.stats["bytes_loaded"] + result.stats["bytes_stored"]).sum()
    total, result = of(hop_picojoules_per_byte=1)
    assert total == 8 * sum(words.sum() for words in result.stats["words_received"].values())
    total, result = of(leakage_picojoules_per_cycle=1)
    assert total == result.cycles * (sum(result.stats["instructions_by_kind"].values()) > 0).sum()


@pytest.mark.parametrize("name", ["matmul", "tiled", "smith_waterman", "ragged"])
def test_sums_agree_and_numbers_do_not_matter(name: str) -> None:
    program = PROGRAMS[name]()
    results = [cy.run(program, backend="sim", functional=functional) for functional in (True, False)]
    for result in results:
        energy = result.energy
        exact = sum((part.total for part in energy.parts), Fraction())
        for sums in (energy.by_operator, energy.by_tensor, energy.by_level):
            assert sum(sums.values()) == pytest.approx(energy.total, rel=1e-14)
        assert energy.by_pe.sum() == pytest.approx(energy.total, rel=1e-14)
        assert float(exact) == energy.total > 0
    first, second = (result.energy for result in results)
    assert first.total == second.total
    assert (first.by_pe == second.by_pe).all()
    assert first.by_operator == second.by_operator
    assert first.by_tensor == second.by_tensor


def _matmul() -> cy.Program:
    A = np.ones((6, 7))
    return kernels.matmul.compile(
        A,
        A.T.copy(),
        machine=machine(ENERGY, grid=(3, 3)),
        schedule=cy.Schedule().space("i", "j").fold(i=cy.cyclic(3), j=cy.cyclic(3)),
    )


def _tiled(rows: int = 8) -> cy.Program:
    A, B = np.ones((rows, 9)), np.ones((9, 6))
    return kernels.matmul.compile(cy.blocked(A, (2, 3)), cy.blocked(B, (3, 2)), machine=machine(ENERGY))


def _smith_waterman() -> cy.Program:
    @cy.kernel
    def longest(a, b):
        H = cy.zeros((a.shape[0] + 1, b.shape[0] + 1), dtype="int64")
        for i in range(1, a.shape[0] + 1):
            for j in range(1, b.shape[0] + 1):
                H[i, j] = max(0, H[i - 1, j - 1] + cy.where(a[i - 1] == b[j - 1], 2, -1), H[i - 1, j] - 1)
        return H

    return longest.compile(np.arange(5) % 3, np.arange(7) % 3, machine=machine(ENERGY))


PROGRAMS: dict[str, Any] = {
    "matmul": _matmul,
    "tiled": _tiled,
    "ragged": lambda: _tiled(7),
    "smith_waterman": _smith_waterman,
}


def test_memories_by_name() -> None:
    dram = cy.Memory(bandwidth=4, latency=3, serves=":, 0")
    energy = dataclasses.replace(ENERGY, memory_picojoules_per_byte={"dram": 2.0, "default": 0.0})
    A = np.ones((4, 4))
    program = kernels.matmul.compile(A, A, machine=cy.Machine(energy=energy, memories={"dram": dram}))
    result = cy.run(program, backend="sim")
    served = (result.stats["bytes_loaded"] + result.stats["bytes_stored"])[result.stats["memory_port"] >= 0]
    assert result.energy.by_level["dram"] == 2.0 * served.sum()


def test_it_prints_and_pickles() -> None:
    result = product(2, ENERGY)
    assert "by made up" in str(result.energy)
    again = pickle.loads(pickle.dumps(result))
    assert again.energy.total == result.energy.total


def test_machines_keep_their_energies(tmp_path: Any) -> None:
    for energy in (ENERGY, cy.energies.horowitz_45nm(), cy.energies.eyeriss(1.5)):
        one = cy.Machine(grid=(2, 2), energy=energy)
        one.save(tmp_path / "machine.toml")
        assert cy.Machine.load(tmp_path / "machine.toml") == one
        assert eval(repr(one), {"cy": cy}) == one
        assert hash(one) == hash(eval(repr(one), {"cy": cy}))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"hop_picojoules_per_byte": -1.0}, "hop_picojoules_per_byte` is -1.0"),
        ({"hop_picojoules_per_byte": "2 pJ"}, "a number of picojoules"),
        ({"operation_picojoules": {"plus": {"int8": 1}}}, "operator `plus`"),
        ({"operation_picojoules": {"add": {"int7": 1}}}, "dtype `int7`"),
        ({"operation_picojoules": {"add": 0.1}}, "a mapping to picojoules"),
    ],
)
def test_energies_that_are_none_are_refused(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(cy.ShapeError, match=text):
        cy.Energy(**fields)


def test_energies_without_units_are_refused(tmp_path: Any) -> None:
    for name in ("hop", "hop_picojoules"):
        (tmp_path / "machine.toml").write_text(f"[energy]\n{name} = 0.5\n")
        text = "did you mean `hop_picojoules_per_byte`, with its unit"
        with pytest.raises(cy.ShapeError, match=text):
            cy.Machine.load(tmp_path / "machine.toml")


def test_what_has_no_energy_is_refused() -> None:
    A = np.ones((2, 2))
    with pytest.raises(cy.ExecutionError, match="the machine has no energies"):
        cy.run(kernels.matmul.compile(A, A), backend="sim").energy
    with pytest.raises(cy.ExecutionError, match="no energy for `multiply` of float64"):
        product(2, cy.energies.horowitz_45nm()).energy
    with pytest.raises(cy.ExecutionError, match="measures no cycles"):
        cy.run(kernels.matmul.compile(A, A), backend="local").energy


def test_factors_have_the_energy_of_their_own_dtype() -> None:
    """A unit that adds up in int32 multiplies int8: its products by hand, on one PE and on several."""
    prices = {"multiply": {"int8": 3.0, "int32": 50.0}, "add": {"int8": 0.5, "int32": 7.0}}
    energy = cy.Energy(prices, sram_picojoules_per_byte=1.0, memory_picojoules_per_byte={"default": 0.0})
    unit = cy.Unit(dtypes=("int8",), accumulator="int32")
    A = np.ones((3, 4), np.int8)
    for grid in ((1, 1), (3, 3)):
        target = cy.Machine(grid=grid, energy=energy, pe=cy.PE(scalar=unit))
        result = cy.run(wide_matmul.compile(A, A.T.copy(), machine=target), backend="sim")
        assert np.array_equal(result.output, np.full((3, 3), 4, np.int32))
        assert result.energy.by_level["operations"] == 9 * (4 * 3.0 + 3 * 7.0)
        # Two bytes a product are read as they are; a sum is written 4 times, read 3 times and stored.
        memory = [part for part in result.energy.parts if part.level == "sram"]
        assert sum(part.total for part in memory if part.by == "to_int32") == 2 * 9 * 4
        assert sum(part.total for part in memory if part.of == "result") == 9 * 4 * (4 + 3 + 1)


def test_pictures(tmp_path: Any) -> None:
    pytest.importorskip("matplotlib")
    account = product(3, ENERGY).energy
    lengths = {}
    for by, sums in (
        ("level", account.by_level),
        ("operator", account.by_operator),
        ("tensor", account.by_tensor),
    ):
        axes = account.plot(by).axes[0]
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert names == sorted(sums, key=lambda name: -sums[name])
        lengths = dict.fromkeys(names, 0.0)
        for bar in axes.patches:
            lengths[names[round(bar.get_y() + bar.get_height() / 2)]] += bar.get_width()
        unit = {"energy (pJ)": 1, "energy (nJ)": 1e3}[axes.get_xlabel()]
        assert lengths == pytest.approx({name: value / unit for name, value in sums.items()})
    account.plot("pe", path=tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000
    with pytest.raises(cy.ExecutionError, match="CYC716"):
        account.plot("rank")


def test_energy_is_an_axis_of_sweeps_and_an_objective_of_mappings() -> None:
    A = np.ones((4, 4))
    target = machine(ENERGY, grid=(4, 4))
    table = cy.sweep(kernels.matmul, A, A, machine=target, grid=[(2, 2), (4, 4)])
    for record in table:
        program = kernels.matmul.compile(A, A, machine=dataclasses.replace(target, grid=record["grid"]))
        assert record["energy_picojoules"] == cy.run(program, backend="sim").energy.total
    least = min(table, key=lambda record: record["energy_picojoules"])
    assert least in list(table.pareto("energy_picojoules", "cycles"))
    assert list(table.pareto("energy_picojoules")) == [least]

    found = cy.map(kernels.matmul, A, A, machine=target, objective="energy", candidates=30, time_limit=None)
    assert found[0].energy == min(one.energy for one in found.pareto)
    assert cy.run(found.best, backend="sim").energy.total == found[0].energy
    assert all(
        any(one.cycles < other.cycles or one.memory < other.memory or one.pes < other.pes for other in found)
        for one in found.pareto
        if one.energy > found[0].energy
    )
    with pytest.raises(cy.ScheduleError, match="the machine has no energies"):
        cy.map(kernels.matmul, A, A, objective="energy")


def test_sweeps_without_energies_have_no_such_column() -> None:
    A = np.ones((2, 2))
    assert "energy_picojoules" not in cy.sweep(kernels.matmul, A, A, depth=[1, 2]).columns
    mixed = cy.sweep(kernels.matmul, A, A, machine={"with": machine(ENERGY), "without": cy.Machine()})
    assert [record["energy_picojoules"] is None for record in mixed] == [False, True]


def test_what_is_not_measured_is_no_attribute():
    """`hasattr`, defaults of `getattr` and tools that look at all members go by that."""
    local = cy.run(kernels.matmul.compile(np.ones((2, 2)), np.ones((2, 2))), backend="local")
    assert not hasattr(local, "cycles")
    assert getattr(local, "energy", None) is None
    with pytest.raises(cy.ExecutionError) as caught:
        _ = local.simulated_seconds
    assert caught.value.code == "CYC712"

"""The ready-made machines: small products on a part of each take the cycles that their numbers give."""

import dataclasses

import numpy as np
import pytest
from test_costs import product

import cyclotron as cy
from cyclotron.machine import presets as machines
from cyclotron.machine.machine import Machine

NETWORK = {"flops_per_second": 1e12, "bytes_per_second": 8e9, "latency_seconds": 1e-6, "memory": 2**30}
READY_MADE = {
    "unit": machines.unit(4, 4),
    "tpu_v1": machines.tpu_v1(),
    "gemmini_16": machines.gemmini_16(),
    "scale_sim": machines.scale_sim(4, 6, "ws"),
    "wormhole": machines.wormhole(),
    "wse2": machines.wse2(20, 30),
    "spyre_ring": machines.spyre_ring(),
    "cluster": machines.cluster(3, 3, **NETWORK),
}


@cy.kernel
def product_of_tiles(A, B):
    C = cy.empty((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))
    return C


@cy.kernel
def quantized_product(A, B):
    return cy.matmul(A, B, dtype="int32")


def simulated(machine, recipe, n, k, m):
    """Cycles of a product of n×k by k×m, of int8 where the PEs multiply these, and where the PEs wait."""
    A, B = np.arange(1.0 * n * k).reshape(n, k), np.arange(1.0 * k * m).reshape(k, m)
    kernel = product
    if machine.pe.scalar is not None:
        kernel, A, B = quantized_product, A.astype("int8"), -B.astype("int8")
    result = cy.run(kernel.compile(A, B, schedule=recipe(kernel), machine=machine), backend="sim")
    assert np.array_equal(result.output, A.astype("int32") @ B.astype("int32"))
    return result


def simulated_tiles(machine, recipe, n, k, m, side):
    """The same, of tiles."""
    A, B = np.ones((n * side, k * side)), np.ones((k * side, m * side))
    arguments = [cy.blocked(X, (side, side)) for X in (A, B)]
    program = product_of_tiles.compile(*arguments, schedule=recipe(product_of_tiles), machine=machine)
    result = cy.run(program, backend="sim")
    assert np.array_equal(result.output, A @ B)
    return result


@pytest.mark.parametrize("name", READY_MADE)
def test_files_and_text(name, tmp_path):
    machine = READY_MADE[name]
    machine.save(tmp_path / "machine.toml")
    assert Machine.load(tmp_path / "machine.toml") == machine
    assert eval(repr(machine), {"cy": cy}) == machine
    assert str(machine).startswith(machine.topology)


@pytest.mark.parametrize("name", ["unit", "tpu_v1", "gemmini_16", "wse2"])
@pytest.mark.parametrize(("n", "k", "m"), [(3, 4, 4), (4, 3, 2), (1, 4, 1)])
def test_arrays_of_multiply_adds(name, n, k, m):
    """One multiply-add and one hop a cycle: the wavefront's cycles, and nobody waits for a place."""
    for recipe, cycles in (
        (cy.schedules.output_stationary, n + k + m - 2),
        (cy.schedules.weight_stationary, n + 2 * k + m - 3),
    ):
        result = simulated(READY_MADE[name], recipe, n, k, m)
        assert result.cycles == cycles
        assert result.stats["stall_full"].sum() == 0


def test_the_first_tpu_is_92_tera_operations_a_second():
    tpu = machines.tpu_v1()
    assert tpu.pe_count * tpu.pe.flops_per_cycle * tpu.clock == pytest.approx(92e12, rel=0.01)
    assert simulated(tpu, cy.schedules.weight_stationary, 4, 4, 4).simulated_seconds == 13 / 700e6


# Wormhole with all tensors in its cores.
ON_CHIP = dataclasses.replace(machines.wormhole(), memories={}, io="everywhere")


@pytest.mark.parametrize(("n", "k", "m"), [(2, 3, 4), (8, 3, 8), (1, 5, 1)])
@pytest.mark.parametrize("side", [16, 32])
def test_wormhole(n, k, m, side):
    """A tile takes (side / 8)^3 passes, and side^2 / 16 cycles on a link, which is no less up to 32."""
    hop, compute = side**2 // 16, (side // 8) ** 3
    result = simulated_tiles(ON_CHIP, cy.schedules.output_stationary, n, k, m, side)
    fed = hop if n * m > 1 else compute
    assert result.cycles == (n + m - 2) * hop + (k - 1) * fed + compute
    assert result.simulated_seconds == result.cycles / 1e9


def test_wormholes_rings():
    """Cannon's algorithm: 8 products, and 7 tiles from the neighbours."""
    result = simulated_tiles(ON_CHIP, cy.schedules.cannon, 8, 8, 8, 32)
    assert result.cycles == 8 * 64
    assert result.utilization.min() == 1


def test_wormholes_peak():
    wormhole = machines.wormhole()
    m, n, k = wormhole.pe.matrix.shape
    assert wormhole.pe_count * 2 * m * n * k / wormhole.pe.matrix.cycles * wormhole.clock == 65.536e12


def test_wormholes_memory():
    """288 GB/s of FP16 through four ports, each of the seven cores on the edges of a quarter of the array."""
    wormhole = machines.wormhole()
    result = simulated_tiles(wormhole, cy.schedules.output_stationary, 8, 2, 8, 16)
    ports = result.stats["memory_ports"]
    assert [port["pes"] for port in ports] == [7, 7, 7, 7]
    assert len(ports) * wormhole.memories["dram"].bandwidth * 2 * wormhole.clock == 288e9
    assert sum(port["loads"] for port in ports) == 2 * 8 * 2


def test_a_ring_of_cores():
    """Rows of A and C stay, those of B go round: n steps of n multiply-adds."""
    rotation = cy.Schedule().space("i").rotate("k", by="i")
    result = simulated(machines.spyre_ring(6), lambda _: rotation, 6, 6, 6)
    assert (result.cycles, result.utilization.min()) == (36, 1)
    one_dimension = cy.Schedule().space("i").stream("B", along="i")
    assert simulated(machines.spyre_ring(), lambda _: one_dimension, 4, 3, 5).cycles == 3 + 3 * 5


@pytest.mark.parametrize(("n", "k", "m"), [(2, 3, 3), (3, 5, 3), (1, 2, 2)])
def test_cluster(n, k, m):
    """Each hop is the latency and a tile's words; then the words of the tiles alone, and one product."""
    words, latency, compute = 32 * 32, 1000, -(-2 * 32**3 // 1000)
    result = simulated_tiles(READY_MADE["cluster"], cy.schedules.output_stationary, n, k, m, 32)
    hops = (n + m - 2) * (latency + words - 1)
    assert result.cycles == hops + (k - 1) * words + compute
    assert result.simulated_seconds == pytest.approx(result.cycles * 1e-9)


def test_a_cluster_has_the_two_numbers_of_its_links():
    slow = machines.cluster(4, **{**NETWORK, "bytes_per_second": 1e9}, topology="ring", element_bytes=4)
    assert slow.clock == 250e6
    assert (slow.link.latency, slow.link.words_per_cycle, slow.pe.flops_per_cycle) == (250, 1, 4000)
    assert machines.cluster(4, **{**NETWORK, "latency_seconds": 1e-12}).link.latency == 1


@pytest.mark.parametrize("name", [name for name in NETWORK if name != "memory"])
def test_a_cluster_needs_positive_numbers(name):
    with pytest.raises(cy.ShapeError, match=f"`{name}` is 0, not a positive number"):
        machines.cluster(4, **{**NETWORK, name: 0})


@pytest.mark.parametrize("extent", [1, 2, 4, 5, 8])
def test_a_program_for_a_part_of_a_machine_is_saved(extent, tmp_path):
    """Its memories at the far edges serve it there, or none of the part."""
    A, B = np.arange(extent * 3.0).reshape(extent, 3), np.ones((3, extent))
    schedule = cy.Schedule().space("i", "j")
    program = product.compile(A, B, schedule=schedule, machine=cy.machines.wormhole())
    program.save(tmp_path / "part.cyc")
    read = cy.load(tmp_path / "part.cyc")
    assert read == program
    assert cy.run(read, A, B, backend="sim").cycles == cy.run(program, backend="sim").cycles
    near, far = (cy.Memory(bandwidth=2, latency=3, serves=f"{n}, {n}") for n in (0, 7))
    for memories in ({"far": far}, {"far": far, "near": near}):
        machine = cy.Machine(grid=(8, 8), memories=memories)
        product.compile(A, B, schedule=schedule, machine=machine).save(tmp_path / "part.cyc")
        served = sorted(memories) if extent == 8 else sorted(memories)[-1:]
        assert sorted(cy.load(tmp_path / "part.cyc").machine.memories) == served

"""A cluster of ranks that compute and send as fast as calibration found, for the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cyclotron as cy

Tile = tuple[int, int, int]  # m, n and k of the products; the triangular matrices are m x m or n x n


def machine(calibration: cy.Calibration, nodes: Sequence[int], tile: Tile) -> cy.Machine:
    """Ranks whose operators take, on tiles of one size, what the calibration says.

    Where messages were not measured, or their bytes took no time, a network of 2 us and 10 GB/s stands in.
    """
    m, n, k = tile
    measured = calibration.seconds_per_byte > 0 and calibration.latency > 0
    cluster = cy.machines.cluster(
        *nodes,
        flops_per_second=peak(calibration),
        bytes_per_second=1 / calibration.seconds_per_byte if measured else 10e9,
        latency_seconds=calibration.latency if measured else 2e-6,
        memory=1 << 44,
    )
    assert cluster.clock is not None
    product = calibration.compute("matmul", 2.0 * m * n * k, min(tile))
    seconds = {
        "matmul": product,
        "matmul_add": product,
        "matmul_subtract": product,
        "syrk_subtract": product,
        "solve_triangular": calibration.compute("solve_triangular", float(m) * m * n, min(m, n)),
        "cholesky": calibration.compute("cholesky", m**3 / 3, m),
        "copy": 0.0,
    }
    cycles = {name: round(time * cluster.clock) for name, time in seconds.items()}
    return replace(cluster, pe=replace(cluster.pe, cycles=cycles))


def peak(calibration: cy.Calibration) -> float:
    """Floating-point operations a second of one rank's product of large tiles."""
    return max(calibration.rates["matmul"].values())

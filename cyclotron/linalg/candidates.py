"""The ways to do each operation that a plan chooses from, with what a small model expects of each.

A time is that of the rank that does most: its kernels at the rates of its tiles, slower where ranks share
cores, and what it waits for. Messages count one after the other, though much of them overlaps with computing.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cyclotron.language import Spec
from cyclotron.linalg import kernels
from cyclotron.linalg.plans import Plan
from cyclotron.mpi.layout import Layout
from cyclotron.schedule.recipes import cannon, summa
from cyclotron.schedule.schedule import Schedule

if TYPE_CHECKING:
    from cyclotron.explore.calibration import Calibration
    from cyclotron.kernel import Kernel

_TILES = (32, 48, 64, 96, 128, 192, 256, 384, 512)
_MOST_TILES = 64  # along a side: more only cost the time to go through them
_OPERATOR_SECONDS = 5e-7  # to start an operator on a tile
_ADDITIONS_A_SECOND = 5e8


def nothing(
    kernel: Kernel[..., Any], operands: tuple[Spec, ...], ranks: int, flags: tuple[bool, ...] = ()
) -> Plan:
    """Return the plan for matrices without elements, which takes no time.

    Parameters
    ----------
    kernel : Kernel
    operands : tuple of Spec
    ranks : int
    flags : tuple of bool
        The kernel's other arguments.
    """
    tiled = tuple(replace(spec, tile=tuple(max(1, n) for n in spec.shape)) for spec in operands)
    return Plan("nothing to compute", ranks, kernel, tiled, None, None, 0.0, 0.0, flags)


def products(m: int, k: int, n: int, ranks: int, calibration: Calibration) -> list[Plan]:
    """Return the ways to multiply an (m, k) by a (k, n) matrix.

    Parameters
    ----------
    m, k, n : int
        At least 1.
    ranks : int
    calibration : Calibration
    """
    dtype, share = calibration.dtype, max(1.0, ranks / calibration.cores)
    (row, rows), (column, columns), (part, parts) = _cut(m, ranks), _cut(n, ranks), _cut(k, ranks)

    def plan(
        name: str,
        tiles: tuple[int, int, int],
        schedule: Schedule,
        flops: float,
        messages: float,
        scalars: float,
        more: float = 0.0,
    ) -> Plan:
        a, b = Spec((m, k), dtype, tiles[:2]), Spec((k, n), dtype, tiles[1:])
        compute = share * calibration.compute("matmul", flops, min(tiles)) + more
        communication = calibration.message(scalars, messages) if messages else 0.0
        return Plan(name, ranks, kernels.matmul, (a, b), schedule, None, compute, communication, share=share)

    one = Schedule().time("i", "j", "k")
    found = [plan("one PE", (m, k, n), one, 2.0 * m * k * n, 0, 0)] if ranks == 1 else []
    if rows > 1:
        schedule = Schedule().space("i").time("k", "j").broadcast("B", along="i")
        found.append(plan("rows in space", (row, k, n), schedule, 2.0 * row * k * n, 1, k * n))
    if columns > 1:
        schedule = Schedule().space("j").time("k", "i").broadcast("A", along="j")
        found.append(plan("columns in space", (m, k, column), schedule, 2.0 * m * k * column, 1, m * k))
    if rows == parts > 1:
        schedule = Schedule().space("i").time("j", "k").stream("B", along="i").rotate("k", by="i")
        moved = k * n * (parts - 1) / parts
        found.append(plan("ring of rows", (row, part, n), schedule, 2.0 * row * k * n, parts - 1, moved))
    if columns == parts > 1:
        schedule = Schedule().space("j").time("i", "k").stream("A", along="j").rotate("k", by="j")
        moved = m * k * (parts - 1) / parts
        found.append(
            plan("ring of columns", (m, part, column), schedule, 2.0 * m * k * column, parts - 1, moved)
        )
    if parts > 1:
        schedule = Schedule().reassociate("k", parts=parts, into="l").space("l").time("i", "j", "k")
        added = parts * m * n / _ADDITIONS_A_SECOND
        flops = 2.0 * m * part * n
        found.append(plan("parts of the sum", (m, part, n), schedule, flops, parts, parts * m * n, added))
    side = math.isqrt(ranks)
    sides = [_cut(extent, side) for extent in (m, k, n)]
    if side > 1 and side**2 == ranks and all(count == side for _, count in sides):
        (row, _), (part, _), (column, _) = sides
        moved = (row * k + k * column) * (side - 1) / side
        schedule = cannon(kernels.matmul)
        flops = 2.0 * row * k * column
        found.append(plan("Cannon", (row, part, column), schedule, flops, 2 * (side - 1), moved))
    for p, q in _grids(ranks):
        if min(p, q) == 1:
            continue
        (row, _), (column, _), (part, panels) = _cut(m, p), _cut(n, q), _cut(k, max(p, q))
        moved = row * k * (q - 1) / q + k * column * (p - 1) / p
        schedule = summa(kernels.matmul)
        flops = 2.0 * row * k * column
        found.append(plan(f"SUMMA on {p}x{q}", (row, part, column), schedule, flops, 2 * panels, moved))
    return found or products(m, k, n, 1, calibration)


def solves(
    kernel: Kernel[..., Any], n: int, m: int, unit: bool, ranks: int, calibration: Calibration
) -> list[Plan]:
    """Return the ways to solve an (n, n) triangular system with m right-hand sides.

    Parameters
    ----------
    kernel : Kernel
        One of those of `kernels`.
    n, m : int
        At least 1.
    unit : bool
        Whether the diagonal is ones.
    ranks : int
    calibration : Calibration
    """
    dtype, share = calibration.dtype, max(1.0, ranks / calibration.cores)
    found = []
    for tile in _tiles(n):
        count = -(-n // tile)
        pairs = count * (count - 1) / 2

        def kernels_of(width: int, tile: int = tile, count: int = count, pairs: float = pairs) -> float:
            extent = min(tile, width)
            solved = calibration.compute("solve_triangular", count * tile**2 * width, extent)
            operators = (count + pairs) * _OPERATOR_SECONDS
            return solved + calibration.compute("matmul", pairs * 2 * tile**2 * width, extent) + operators

        matrix = Spec((n, n), dtype, (tile, tile))
        width, parts = _cut(m, ranks)
        schedule = Schedule().space("r").time("i", "j").prefetch("A")
        others = (parts - 1) / parts
        found.append(
            Plan(
                "right-hand sides in space" if parts > 1 else "one PE",
                ranks,
                kernel,
                (matrix, Spec((n, m), dtype, (tile, width))),
                schedule,
                None,
                share * kernels_of(width),
                others * calibration.message(n * n / 2, count + pairs),
                (unit,),
                share,
            )
        )
        if count == 1 or ranks == 1:
            continue
        step = kernels_of(m) / count  # a solve, and the products that the next one waits for
        handed = calibration.handed(pairs * tile * m)
        path = calibration.compute("solve_triangular", n * tile * m, min(tile, m))
        path += calibration.compute("matmul", 2 * n * tile * m, min(tile, m))
        found.append(
            Plan(
                "rows in space",
                ranks,
                kernel,
                (matrix, Spec((n, m), dtype, (tile, m))),
                Schedule().space("i").time("j", "r").broadcast("X"),
                Layout((ranks,), 1),
                max(share * (count * step + handed) / ranks, path),
                calibration.message(n * m, count),
                (unit,),
                share,
            )
        )
    return found


def symmetric_products(n: int, k: int, ranks: int, calibration: Calibration) -> list[Plan]:
    """Return the ways to multiply an (n, k) matrix by its transpose.

    Parameters
    ----------
    n, k : int
        At least 1.
    ranks : int
    calibration : Calibration
    """
    dtype, share = calibration.dtype, max(1.0, ranks / calibration.cores)
    found = []
    for tile in sorted({*_tiles(n), -(-n // ranks)}):
        count = -(-n // tile)
        product = calibration.compute("matmul", 2 * tile**2 * k, min(tile, k)) + _OPERATOR_SECONDS
        most = max(sum(i + 1 for i in range(rank, count, ranks)) for rank in range(min(ranks, count)))
        copied = n * n / 2 / _ADDITIONS_A_SECOND
        found.append(
            Plan(
                "rows in space",
                ranks,
                kernels.syrk,
                (Spec((n, k), dtype, (tile, k)),),
                Schedule().space("i"),
                Layout((ranks,), 1),
                share * (most * (product + calibration.handed(tile * k)) + copied),
                calibration.message(n * k + n * n / 2, 2 * count) if ranks > 1 else 0.0,
                share=share,
            )
        )
    return found


def factorizations(n: int, ranks: int, calibration: Calibration, *, home: Layout | None = None) -> list[Plan]:
    """Return the ways to factor a symmetric (Hermitian) positive definite (n, n) matrix.

    Parameters
    ----------
    n : int
        At least 1.
    ranks : int
    calibration : Calibration
    home : Layout, optional
        Of a distributed matrix, where the factor goes too: in other tiles or on another grid both are moved.
    """
    dtype, share = calibration.dtype, max(1.0, ranks / calibration.cores)
    kernel = kernels.cholesky_hermitian if dtype.startswith("complex") else kernels.cholesky
    found = []
    sides = {*_tiles(n), *(() if home is None else home.tile((n, n)))}
    for tile, (p, q) in itertools.product(sorted(sides), _grids(ranks)):
        count = -(-n // tile)
        if count > _MOST_TILES:
            continue
        factor = calibration.compute("cholesky", tile**3 / 3, tile) + _OPERATOR_SECONDS
        handed = calibration.handed(tile**2)  # a PE of the same rank gets a copy
        solve = calibration.compute("solve_triangular", tile**3, tile) + handed + _OPERATOR_SECONDS
        update = calibration.compute("matmul", 2 * tile**3, tile) + 2 * handed + _OPERATOR_SECONDS
        work: defaultdict[int, float] = defaultdict(float)
        for i in range(count):
            for j in range(i + 1):
                work[i % p * q + j % q] += j * update + (factor if i == j else solve)
        # From one diagonal tile to the next: its factor, a solve below it, and that one's product.
        path = count * factor + (count - 1) * (solve + update)
        sent = count * (count + 1) / 2 * ((p > 1) + (q > 1)) / max(p, q)
        waits = calibration.message(sent * tile**2, 2 * (count - 1)) if ranks > 1 else 0.0
        if home is not None and Layout((p, q), (tile, tile)) != Layout(
            home.grid, home.tile((n, n)), home.source
        ):
            share_of_rank = n * n / ranks  # packed, sent and unpacked, there and back
            waits += 2 * (
                calibration.message(share_of_rank, ranks - 1) + 2 * calibration.handed(share_of_rank)
            )
        found.append(
            Plan(
                f"tiles in space on {p}x{q}",
                ranks,
                kernel,
                (Spec((n, n), dtype, (tile, tile)),),
                Schedule().space("i", "j").broadcast("L", along="i"),
                Layout((p, q), 1),
                max(share * max(work.values()), path),
                waits,
                share=share,
            )
        )
    return found


def _cut(extent: int, parts: int) -> tuple[int, int]:
    """The length of parts that are as equal as can be, and how many there are then."""
    length = -(-extent // parts)
    return length, -(-extent // length)


def _tiles(n: int) -> list[int]:
    """Sides of tiles to try: the whole of a small matrix, and not too many of a large one."""
    if n <= _TILES[0]:
        return [n]
    return [t for t in _TILES if t < n <= t * _MOST_TILES] or [-(-n // _MOST_TILES)]


def _grids(ranks: int) -> list[tuple[int, int]]:
    """Every grid of so many ranks, from one row to one column."""
    low = [p for p in range(1, math.isqrt(ranks) + 1) if ranks % p == 0]
    return [(p, ranks // p) for p in sorted({*low, *(ranks // p for p in low)})]

"""Work of a run: instructions, floating-point operations, and words to and from memory and channels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cyclotron import _core
    from cyclotron.compiler.program import Program

# What a PE does with its cycles.
TIMES = (
    "busy",
    "stall_empty",
    "stall_full",
    "stall_memory",
    "stall_control",
    "stall_link",
    "stall_unit",
    "stall_port",
    "idle",
)
# Those that only machines with shared links, pipelines or ports have.
OF_SOME_MACHINES = ("stall_link", "stall_unit", "stall_port")
_OF_EACH_PE = ("flops", "words_loaded", "words_stored", "bytes_loaded", "bytes_stored", "words_resident")


def counts_of(counters: _core.Counters, program: Program) -> dict[str, Any]:
    """Return what each PE did, with the names of `Result.stats`.

    Parameters
    ----------
    counters : _core.Counters
        Of a simulation.
    program : Program
        What ran.

    Returns
    -------
    dict
        int64 arrays of shape ``grid``, or dicts of such by name; and ``arithmetic_intensity`` (float).

    Raises
    ------
    ExecutionError
        If a number does not fit 63 bits.
    """

    def over_grid(values: NDArray[np.int64]) -> NDArray[np.int64]:
        return values.reshape(program.grid)

    counts: dict[str, Any] = {name: over_grid(getattr(counters, name)()) for name in _OF_EACH_PE}
    counts["instructions_by_kind"] = {
        kind: over_grid(executed) for kind, executed in counters.instructions().items()
    }
    counts["words_sent"], counts["words_received"] = {}, {}
    for number, channel in enumerate(program.channels):
        for direction in ("words_sent", "words_received"):
            words = over_grid(getattr(counters, direction)(number))
            before = counts[direction].get(channel["name"], 0)  # a name need not be unique
            counts[direction][channel["name"]] = words + before
    counts["arithmetic_intensity"] = intensity(
        counts["flops"], counts["bytes_loaded"], counts["bytes_stored"]
    )
    return counts


def port_of_pe(ports: NDArray[np.uint32], grid: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the memory port of each PE, or -1, int64 of shape ``grid``.

    Parameters
    ----------
    ports : ndarray of uint32
        By PE, 2**32 - 1 for none; empty where no PE has one.
    grid : tuple of int
        PEs a dimension.
    """
    found = np.asarray(ports).astype(np.int32).astype(np.int64)
    return found.reshape(grid) if len(found) else np.full(grid, -1, np.int64)


def intensity(flops: NDArray[np.int64], *traffic: NDArray[np.int64]) -> float:
    """Return operations a byte, all PEs together; infinite where no byte moves.

    Parameters
    ----------
    flops : ndarray of int64
        Floating-point operations.
    *traffic : ndarray of int64
        Bytes.
    """
    moved = sum(int(part.sum()) for part in traffic)
    return int(flops.sum()) / moved if moved else math.inf


def described(channel: Mapping[str, Any], statistics: Mapping[str, Any], cycles: int) -> dict[str, Any]:
    """Return one channel's entry in `Result.stats`.

    Parameters
    ----------
    channel : mapping
        The program's, of `Program.channels`.
    statistics : mapping
        What was measured of it.
    cycles : int
        Of the run.
    """
    return {
        **statistics,
        "kind": channel["kind"],
        "bytes": statistics["words"] * np.dtype(channel["dtype"]).itemsize,
        "utilization": statistics["busy_cycles"] / max(statistics["queues"] * cycles, 1),
    }

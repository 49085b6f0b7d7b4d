"""Ready-made machines."""

from __future__ import annotations

from .machine import PE, Link, Machine, Topology

__all__ = ["unit"]


def unit(*grid: int, topology: Topology = "mesh", memory: int = 2**30) -> Machine:
    """Return the ideal array of the systolic-array literature: every operation and every hop takes one cycle.

    A link delivers one message of any size a cycle and never fills up, a free place is seen at once, and
    memory is ample, so a program's cycles are those of its schedule alone: an output-stationary product of
    n×n matrices on n×n PEs takes 3n - 2 cycles (H. T. Kung and C. E. Leiserson, "Systolic arrays (for VLSI)",
    1979).

    Parameters
    ----------
    *grid : int
        PEs along each dimension; none: as large as the program needs.
    topology : {"mesh", "torus", "hexagonal"}
        Without or with links that wrap around.
    memory : int
        Bytes of memory of each PE.

    Returns
    -------
    Machine
        The array.
    """
    link = Link(latency=1, response_latency=0, words_per_cycle=2**30, depth=2**20)
    return Machine(
        grid=grid or None,
        topology=topology,
        link=link,
        broadcast=link,
        pe=PE(memory=memory, flops_per_cycle=2**30),
    )

"""The machines that a compiled program runs on."""

from __future__ import annotations

from cyclotron import _core
from cyclotron.machine.machine import Machine, topology_text
from cyclotron.support.errors import ShapeError


def check_same_topology(
    program: _core.Program, machine: Machine, compiled_grid: tuple[int, ...] | None
) -> None:
    """Check that PE programs run on a machine as they are, if its memory holds their slots.

    Parameters
    ----------
    program : _core.Program
    machine : Machine
    compiled_grid : tuple of int or None
        The grid of the machine that the program was compiled for, where that has one.

    Raises
    ------
    ShapeError
        If the grid or the topology is another (CYC400).
    """
    # Memories may be attached to PEs of its machine that the program leaves idle.
    compiled_for = Machine.from_core(program.machine, memories={})
    grid = tuple(program.grid)
    maps = [[one.map for one in each.link_maps] for each in (machine, compiled_for)]
    wired_alike = maps[0] == maps[1] and machine.topologies == compiled_for.topologies
    if not wired_alike or machine.grid not in (None, grid, compiled_grid):
        size = "x".join(map(str, grid))
        other = "x".join(map(str, machine.grid or grid))
        raise ShapeError(
            f"the program is for a {topology_text(compiled_for.topology)} of {size} PEs, "
            f"the machine a {topology_text(machine.topology)} of {other}",
            code="CYC400",
            help="compile the kernel for this machine",
        )

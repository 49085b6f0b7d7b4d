"""Which machines a compiled program runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclotron.errors import ShapeError
from cyclotron.machine import Machine, topology_text

if TYPE_CHECKING:
    from cyclotron.compiler import Program


def require_retargetable(program: Program, machine: Machine) -> None:
    """Raise unless the PE programs run on the machine as they are, if its memory holds their slots.

    Raises
    ------
    ShapeError
        If the grid or the topology is another (CYC400).
    """
    # Memories may be attached to PEs of its machine that the program leaves idle.
    compiled_for = Machine.from_core({**program.core.machine, "memories": {}})
    own = program.machine.grid if program.machine else None
    maps = [[one.map for one in each.link_maps] for each in (machine, compiled_for)]
    wired_alike = maps[0] == maps[1] and machine.topologies == compiled_for.topologies
    if not wired_alike or machine.grid not in (None, program.grid, own):
        size = "x".join(map(str, program.grid))
        other = "x".join(map(str, machine.grid or program.grid))
        raise ShapeError(
            f"the program is for a {topology_text(compiled_for.topology)} of {size} PEs, "
            f"the machine a {topology_text(machine.topology)} of {other}",
            code="CYC400",
            help="compile the kernel for this machine",
        )

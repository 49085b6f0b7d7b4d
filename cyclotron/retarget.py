"""Which machines a compiled program runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclotron.errors import CapacityError, ShapeError
from cyclotron.machine import Machine, topology_text

if TYPE_CHECKING:
    from cyclotron.compiler import Program


def require_retargetable(program: Program, machine: Machine) -> None:
    """Raise unless the PE programs run on the machine as they are.

    Raises
    ------
    ShapeError
        If the grid or the topology is another (CYC400).
    CapacityError
        If the PEs' memory is too small (CYC501).
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
    if program.memory_bytes > machine.pe.memory:
        raise CapacityError(
            f"`{program.kernel_name}` needs {program.memory_bytes} bytes of PE memory, but the machine has "
            f"{machine.pe.memory} a PE",
            code="CYC501",
            help=f"use a machine with memory of at least {program.memory_bytes} bytes, or smaller tiles",
        )

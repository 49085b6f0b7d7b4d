"""Plans: a schedule with its tiles and ranks, and the time that it should take."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cyclotron.kernel import Kernel
from cyclotron.language import Spec
from cyclotron.mpi.layout import Layout
from cyclotron.schedule.schedule import Schedule

if TYPE_CHECKING:
    from cyclotron.compiler.program import Program


@dataclass(frozen=True)
class Plan:
    """One way to do an operation; made by `cyclotron.linalg.plan`.

    Attributes
    ----------
    name : str
        What is done, in words.
    ranks : int
        MPI processes; on other backends threads.
    kernel : Kernel
    operands : tuple of Spec
        Shape, dtype and tile of each.
    schedule : Schedule or None
        None: the default, where there is nothing to compute.
    deal : Layout or None
        How PEs are dealt out to ranks; None: a block of them for each.
    compute, communication : float
        What the model expects, in seconds, of the rank that takes longest.
    share : float
        How many ranks share a core, at least 1: `compute` counts the time of all of them.
    flags : tuple
        The kernel's other arguments.
    others : tuple of Plan
        What was not chosen, each with its best tiles, the best first.

    Examples
    --------
    >>> cy.linalg.plan("matmul", np.ones((64, 64)), np.ones((64, 64)), ranks=1).ranks
    1
    """

    name: str
    ranks: int
    kernel: Kernel[..., Any]
    operands: tuple[Spec, ...]
    schedule: Schedule | None
    deal: Layout | None
    compute: float
    communication: float
    flags: tuple[Any, ...] = ()
    share: float = 1.0
    others: tuple[Plan, ...] = field(default=(), repr=False, compare=False)

    @property
    def seconds(self) -> float:
        """The time that the model expects."""
        return self.compute + self.communication

    def compile(self) -> Program:
        """Return the program."""
        return _compiled(self.kernel, self.operands, self.flags, self.schedule)

    def __str__(self) -> str:
        shapes = " and ".join("x".join(map(str, spec.shape)) for spec in self.operands)
        lines = [f"{self.kernel.name} of {shapes} {self.operands[0].dtype} on {self.ranks} ranks"]
        lines.append(f"  {'schedule':28} {'tiles':24} {'ms':>9} {'compute':>9} {'messages':>9}")
        for mark, plan in [("*", self), *((" ", other) for other in self.others)]:
            tiles = ", ".join("x".join(map(str, spec.tile or ())) for spec in plan.operands)
            times = (plan.seconds, plan.compute, plan.communication)
            lines.append(f"{mark} {plan.name:28} {tiles:24} " + " ".join(f"{t * 1e3:9.3f}" for t in times))
        return "\n".join(lines)


@functools.lru_cache(maxsize=64)
def _compiled(
    kernel: Kernel[..., Any], operands: tuple[Spec, ...], flags: tuple[Any, ...], schedule: Schedule | None
) -> Program:
    program: Program = kernel.compile(*operands, *flags, schedule=schedule)
    return program

"""Names of arrays that have others too: loops carry them, conditions select them."""

from __future__ import annotations

from dataclasses import dataclass, field

from cyclotron.language.values.affine import Index
from cyclotron.language.values.array import Chosen
from cyclotron.language.values.nodes import Tensor

END = 1 << 60  # after all statements: what is returned is read there


@dataclass(frozen=True)
class Keep:
    """Where the array of a name is assigned what the name holds: at the end of an iteration, or of the loop.

    Attributes
    ----------
    given : Tensor or None
        The array of which the name holds all or a part.
    first, last : int
        The statements that assign are those from `first` to `last`.
    """

    given: Tensor | None
    first: int
    last: int


@dataclass(eq=False)
class Carried:
    """A name that a loop carries.

    Attributes
    ----------
    name : str
        The name in the kernel.
    tensor : Tensor
        Its own array.
    start : Tensor or None
        The array of which the name holds all or a part before the loop.
    declared : int
        How many tensors there were before the loop.
    first, end, last : int
        The statements of the body are those from `first`, and those that keep values at its end from `end`
        to `last`.
    keeps : list of Keep
        Where an iteration ends, or the loop early.
    around : tuple of (Index, int)
        The loop, last, and those around it, with how many tensors there were before each.
    runs : bool
        Whether the loop has an iteration for certain.
    """

    name: str
    tensor: Tensor
    start: Tensor | None
    declared: int
    first: int
    end: int = END
    last: int = END
    keeps: list[Keep] = field(default_factory=list)
    around: tuple[tuple[Index, int], ...] = ()
    runs: bool = False

    def is_kept_by(self, number: int) -> bool:
        """Return whether a statement assigns what the name holds, and so nothing in place."""
        return any(keep.first <= number < keep.last for keep in self.keeps)


@dataclass(frozen=True)
class Selected:
    """A name that a condition on data gives one of several arrays, in a copy of its own.

    Attributes
    ----------
    name : str
        The name in the kernel.
    chosen : Chosen
        The arrays that it may hold.
    first : int
        The statements after the condition are those from `first`.
    """

    name: str
    chosen: Chosen
    first: int

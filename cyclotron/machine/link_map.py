"""Links as maps from sender to receiver: the machines that no named topology describes."""

from __future__ import annotations

import dataclasses

from cyclotron import _core
from cyclotron.machine.parts import UNBOUNDED, Link, code, wrong_type
from cyclotron.support import records

__all__ = ["LinkMap"]


@dataclasses.dataclass(frozen=True, repr=False)
class LinkMap:
    """Links from each PE to the one that an affine map names: the ``interconnects`` of TL (section 2.4).

    The map is written over the sender's coordinates, with ``+ - *`` (one factor an integer), and ``//`` and
    ``%`` by a positive integer, which wraps a link around. Where not every PE has the link, comparisons
    joined by ``and`` follow after ``if``.

    Parameters
    ----------
    map : str
        For example ``"(i, j) -> (i, (j + 1) % 8)"``, or ``"(i, j) -> (i, j + 1) if j < 7"``.
    link : Link, optional
        Of these links; None: the machine's. Of several maps that join two PEs, the first one counts.

    Raises
    ------
    ShapeError
        CYC402 if the map is not written so.

    Examples
    --------
    >>> import cyclotron as cy
    >>> rings = (cy.LinkMap("(i, j) -> (i, (j + 1) % 8)"), cy.LinkMap("(i, j) -> ((i + 1) % 8, j)"))
    >>> print(cy.Machine(grid=(8, 8), topology=rings))
    custom 8x8, link latency 1 depth 2, (i, j) -> (i, (j + 1) % 8), (i, j) -> ((i + 1) % 8, j), 48 KiB a PE
    """

    map: str = records.field(
        required=("a link map in `topology`", 'its map, for example {map = "(i) -> ((i + 1) % 8)"}')
    )
    link: Link | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.map, str):
            raise wrong_type("link map", self.map, 'a text, for example "(i, j) -> (i, (j + 1) % 8)"')
        object.__setattr__(self, "map", " ".join(self.map.split()))
        _core.rank_of_link_map(self.map)
        if self.link is not None and not isinstance(self.link, Link):
            raise wrong_type(f"link map `{self.map}`: the link", self.link, "a cy.Link(...), or None")

    @property
    def rank(self) -> int:
        """Dimensions of the grid."""
        return _core.rank_of_link_map(self.map)

    def __repr__(self) -> str:
        return f"cy.LinkMap({self.map!r}{'' if self.link is None else f', {code(self.link)}'})"

    def __str__(self) -> str:
        if self.link is None:
            return self.map
        depth = "unbounded" if self.link.depth >= UNBOUNDED else self.link.depth
        return f"{self.map} latency {self.link.latency} depth {depth}"

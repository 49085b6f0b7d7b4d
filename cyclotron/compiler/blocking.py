"""Kernels on scalars as kernels over tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron import _core
from cyclotron.compiler.recurrences import Recurrences
from cyclotron.language import Kernel
from cyclotron.schedule.text import SUMS_BY_TILES
from cyclotron.support.arguments import shown
from cyclotron.support.call_site import errors_at_call
from cyclotron.support.errors import LegalityError, ShapeError
from cyclotron.support.tables import html_table

_MOST = (1 << 31) - 1

# The elements that each mask keeps.
_KEEPS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "lower": np.tril,
    "upper": np.triu,
    "below": lambda ones: np.tril(ones, -1),
    "above": lambda ones: np.triu(ones, 1),
    "diagonal": lambda ones: np.tril(np.triu(ones)),
    "beside": lambda ones: ones ^ np.tril(np.triu(ones)),
    "all": np.asarray,
}

Tile = int | str | Mapping[str, int] | None


@dataclass(frozen=True)
class TileClass:
    """Tiles of one tensor that the same operators compute; made by `Kernel.block`.

    Attributes
    ----------
    tensor : str
    tiles : str
        Which tiles, exactly, in isl's notation over their coordinates.
    operators : tuple of str
        Those that compute them, in LAPACK's names (``gemm``, ``trsm``, ``potrf``, ...), in order; empty for
        tiles of zeros, or where nothing matches.
    equation : str
        What a tile is, in tiles; empty where nothing matches.
    reason : str
        Why nothing matches; empty where something does.
    """

    tensor: str
    tiles: str
    operators: tuple[str, ...]
    equation: str
    reason: str

    def __str__(self) -> str:
        names = " -> ".join(self.operators) or ("nothing matches" if self.reason else "no operator")
        return f"{self.tensor} where {self.tiles}: {names}"


class Blocking:
    """A kernel on scalars in tiles; prints its classes of tiles.

    Made by `Kernel.block`; immutable.

    Attributes
    ----------
    classes : tuple of TileClass
        Their number does not depend on the shapes.
    tiles : dict of str to int
        The length of the tiles of each index.
    complete : bool
        Whether every class has its operators, so that the kernel compiles with ``tile=``.

    Examples
    --------
    >>> @cy.kernel
    ... def solve(L, b):
    ...     x = cy.empty_like(b)
    ...     for i in range(len(b)):
    ...         x[i] = (b[i] - sum(L[i, j] * x[j] for j in range(i))) / L[i, i]
    ...     return x
    >>> print(solve.block(cy.spec((100, 100)), cy.spec((100,)), tile=32))
    solve in tiles: i, j 32
      x where 0 <= i <= 3: gemm -> trsm
    """

    def __init__(self, kernel: str, core: _core.Blocking, recurrences: Recurrences) -> None:
        self._kernel = kernel
        self._core = core
        self._constants, self._changed = recurrences.constants, recurrences.changed
        self.complete: bool = core.complete
        self.classes = tuple(
            TileClass(c.tensor, c.tiles, tuple(c.operators), c.equation, c.reason) for c in core.classes
        )
        # Indices with the same tiles, and the longest axis that they are subscripts of.
        self.extents = [(tuple(c.indices), c.extent) for c in core.indices if not c.reason]
        self.tiles: dict[str, int] = {name: c.tile for c in core.indices for name in c.indices}

    @property
    def recurrences(self) -> Recurrences:
        """The equations over tiles.

        Raises
        ------
        LegalityError
            If a class matches nothing (CYC231).
        """
        unmatched = next((c for c in self.classes if c.reason), None)
        if unmatched is not None:
            raise LegalityError(
                f"`{self._kernel}` has no operators for the tiles of `{unmatched.tensor}` where "
                f"{unmatched.tiles}: {unmatched.reason}",
                code="CYC231",
                help="leave out `tile`, which compiles the kernel on scalars",
            )
        masks = {mask.name: _kept(mask) for mask in self._core.masks}
        return Recurrences(self._core.system, {**self._constants, **masks}, self._changed)

    def explain(self) -> str:
        """Tell why tiles are what they are, in the kernel's names.

        Returns
        -------
        str
            The indices that share tiles and why an index has none; each class with its equation in tiles, or
            the reason why nothing matches it.
        """
        lines = [f"{self._kernel} in tiles"]
        for item in self._core.indices:
            names = ", ".join(item.indices)
            verb = "meet in an axis or a condition, and share" if len(item.indices) > 1 else "has"
            because = f" ({item.reason})" if item.reason else ""
            lines.append(f"  {names} {verb} tiles of {item.tile}{because}")
        for c in self.classes:
            lines += [f"  {c}", f"    {c.reason or c.equation or 'computed with another of the same tiles'}"]
        return "\n".join([*lines, f"  {SUMS_BY_TILES}"])

    def __str__(self) -> str:
        sizes = ", ".join(f"{', '.join(c.indices)} {c.tile}" for c in self._core.indices)
        return "\n".join([f"{self._kernel} in tiles: {sizes}", *(f"  {c}" for c in self.classes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [(c.tensor, c.tiles, " → ".join(c.operators), c.reason or c.equation) for c in self.classes]
        return html_table(("tensor", "tiles", "operators", "equation"), rows)


def _kept(mask: Any) -> NDArray[Any]:
    """The elements that a mask keeps: a triangle, or places `3_to_7` of tiles, whose length ends its name."""
    if keep := _KEEPS.get(mask.kind):
        return keep(np.ones(mask.shape, bool))
    first, last = map(int, mask.kind.split("_to_"))
    places = np.arange(*mask.shape) % int(mask.name.rpartition("_")[2])
    return (first <= places) & (places <= last)


def sizes_of(tile: Tile) -> tuple[int, tuple[tuple[str, int], ...]]:
    """Return the length of all tiles (0: whole axes, -1: as fits each), and those of single indices.

    Parameters
    ----------
    tile : int, "auto", or mapping of str to int

    Raises
    ------
    ShapeError
        If it is none of these, or a length is less than 1 (CYC232).
    """
    if tile is None or (isinstance(tile, str) and tile == "auto"):
        return -1, ()
    if isinstance(tile, Mapping):
        return -1, tuple(sorted((_name(name), _length(size)) for name, size in tile.items()))
    return _length(tile), ()


def block_recurrences(kernel: Kernel, recurrences: Recurrences, tile: Tile) -> Blocking:
    """Block the recurrences of a kernel; see `cyclotron.Kernel.block`.

    Parameters
    ----------
    kernel : Kernel
    recurrences : Recurrences
    tile : int, "auto", mapping of str to int, or None
    """
    every, single = sizes_of(tile)
    with errors_at_call():
        core = _core.block(recurrences.core, every, dict(single))
    return Blocking(kernel.name, core, recurrences)


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise _unfit(f"an index of `tile` is {shown(name)}")
    return name


def _length(size: Any) -> int:
    if isinstance(size, bool) or not hasattr(size, "__index__") or not 1 <= size.__index__() <= _MOST:
        raise _unfit(f"tiles of {shown(size)}")
    return int(size.__index__())


def _unfit(what: str) -> ShapeError:
    return ShapeError(what, code="CYC232", help='give a whole number of at least 1, "auto", or {"i": 128}')

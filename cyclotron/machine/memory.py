"""Memories outside the PEs: which PEs they serve, and how fast."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from cyclotron import _core
from cyclotron.machine.parts import MOST, code, extents, integer, unfit, wrong_type
from cyclotron.support import records
from cyclotron.support.arguments import items_of

__all__ = ["Dram", "Memory"]

_MOST_BYTES = 2**60
_SLICE = re.compile(r"\s*(?:(-?\d+)|(-?\d+)?\s*:\s*(-?\d+)?(?:\s*:\s*(\d+)?)?)\s*")
# As in C++: first, last (exclusive) or None, step.
_Slice = tuple[int, int | None, int]
_EXAMPLE = 'slices as of an array over the grid, for example ":, 0" for its first column'


def _boxes(serves: str | tuple[str, ...] | None) -> list[list[_core.Slice]]:
    """Return the PEs as the C++ core has them."""
    boxes = [] if serves is None else map(_box, _texts(serves))
    return [[_core.Slice(first=first, last=last, step=step) for first, last, step in box] for box in boxes]


def _of_boxes(boxes: list[list[_core.Slice]]) -> str | tuple[str, ...] | None:
    texts = tuple(", ".join(_text((one.first, one.last, one.step)) for one in box) for box in boxes)
    return (texts if len(texts) > 1 else texts[0]) if texts else None


@dataclasses.dataclass(frozen=True, repr=False)
class Dram:
    """Banks of DRAM behind each port of a memory: a bank has one row open at most, which its words come from.

    Tensors lie one after the other, in the order of the program, each from a new row on; rows that follow
    each other are in banks that follow each other. A request opens the rows of its words as soon as the
    memory has it (a LOAD once there is room for it, `Memory.depth`) and its bank may; requests pass in turn.
    ``latency`` and ``bandwidth`` of the memory are those of an open row. `machines.dram` has the numbers of
    real ones.

    Parameters
    ----------
    banks : int
        Of each port, up to 2**16.
    row : int
        Bytes of a row.
    activate : int
        Cycles from opening a row to its first words (tRCD).
    precharge : int
        From closing a row until its bank may open another (tRP).
    open : int
        That a row stays open at least (tRAS).
    recovery : int
        From the last word that is written until its row may close (tWR).
    turnaround : int
        Between words that are read and words that are written.
    interval : int
        From one refresh of all banks, which closes all rows, to the next (tREFI); 0: there is none.
    refresh : int
        That it takes (tRFC).

    Raises
    ------
    ShapeError
        If a number is out of range, or no row could be open between two refreshes.

    Examples
    --------
    >>> cy.Memory(latency=14, dram=cy.Dram(banks=8, row=1024, activate=14, precharge=14, open=34)).dram.banks
    8
    """

    banks: int = 16
    row: int = records.field(default=8192, unit="bytes")
    activate: int = records.field(default=0, unit="cycles")
    precharge: int = records.field(default=0, unit="cycles")
    open: int = records.field(default=0, unit="cycles")
    recovery: int = records.field(default=0, unit="cycles")
    turnaround: int = records.field(default=0, unit="cycles")
    interval: int = records.field(default=0, unit="cycles")
    refresh: int = records.field(default=0, unit="cycles")

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            object.__setattr__(self, name, integer(f"memory.dram.{name}", value, 0, MOST))

    __repr__ = code


@dataclasses.dataclass(frozen=True, repr=False)
class Memory:
    """A memory that PEs load tensors from and store them to, through ports of bounded bandwidth.

    The LOADs of a PE are fetched ahead of it, in the order of its program, and its STOREs are written behind
    it, up to ``depth`` of each. A port transfers one request of w elements at a time, for
    ``ceil(w / bandwidth)`` cycles:

    * LOAD m is asked for as soon as LOAD m - 1 has been transferred and the PE has taken LOAD m - depth. It
      arrives ``latency + ceil(w / bandwidth) - 1`` cycles after its transfer began; the PE waits for it.
    * STORE m leaves the PE as soon as STORE m - depth has been transferred. It is asked for then, or once
      STORE m - 1 has been transferred. A PE ends when its last STORE has arrived.
    * First come, first served: of the requests that PEs with a common port ask for, the earliest; of those of
      one cycle that of the first PE in the order of the grid, its load before its store.

    Waits are ``stall_memory`` in `Result.stats`.

    Parameters
    ----------
    bandwidth : int
        Elements a cycle through one port, at least 1.
    latency : int
        Cycles from the start of a transfer to the arrival of its first elements, at least 1.
    depth : int
        Loads that a PE has under way or waiting for it, and stores, at least 1 of each; 2 is double
        buffering.
    serves : str, sequence of str or bool array, optional
        The PEs, as slices of an array over the grid: ``":, 0"``, ``":, -1"``, ``"::2, 3"``; of several, all
        of them; or a mask over the grid. None: all PEs.
    shared_by : tuple of int, optional
        PEs along each grid dimension that share a port: blocks of the grid, counted from PE 0. With
        ``(4, 1)``, four adjacent PEs of a column do. None: each PE has a port of its own.
    size : int, optional
        Bytes of all of it, which the tensors that its PEs load and store must fit. None: ample.
    dram : Dram, optional
        Its banks; None: words are always at hand. Runs take longer to simulate with it.

    Raises
    ------
    ShapeError
        If a number is out of range, or `serves` cannot be read.

    Examples
    --------
    >>> import cyclotron as cy
    >>> cy.Memory(bandwidth=4, latency=100, depth=8, serves=":, 0", shared_by=(4, 1))
    cy.Memory(bandwidth=4, latency=100, depth=8, serves=':, 0', shared_by=(4, 1))
    """

    bandwidth: int = records.field(default=1, unit="words_per_cycle")
    latency: int = records.field(default=1, unit="cycles")
    depth: int = 2
    serves: str | tuple[str, ...] | None = records.field(default=None, to_core=_boxes, from_core=_of_boxes)
    shared_by: tuple[int, ...] | None = records.field(
        default=None, to_core=lambda blocks: blocks or (), from_core=lambda blocks: tuple(blocks) or None
    )
    size: int | None = records.field(default=None, unit="bytes")
    dram: Dram | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.dram, Dram | None):
            raise wrong_type("machine `memory.dram`", self.dram, "a cy.Dram(...), or None")
        for field in ("bandwidth", "latency", "depth"):
            object.__setattr__(self, field, integer(f"memory.{field}", getattr(self, field), 1, MOST))
        if self.serves is not None:
            object.__setattr__(self, "serves", _serves(self.serves))
        if self.shared_by is not None:
            object.__setattr__(self, "shared_by", extents("memory.shared_by", self.shared_by))
        if self.size is not None:
            object.__setattr__(self, "size", integer("memory.size", self.size, 1, _MOST_BYTES))

    __repr__ = code


def _texts(serves: str | tuple[str, ...]) -> tuple[str, ...]:
    return (serves,) if isinstance(serves, str) else serves


def _serves(serves: object) -> str | tuple[str, ...]:
    """Return each text in its shortest form; one alone as it is."""
    try:
        mask = np.asarray(serves)
    except ValueError:  # lists of several lengths
        raise wrong_type("machine `memory.serves`", serves, _EXAMPLE) from None
    if mask.dtype == bool and mask.ndim > 0:
        texts = _runs(mask)
    else:
        items = (serves,) if isinstance(serves, str) else items_of(serves)
        if items is None or isinstance(serves, Mapping):
            raise wrong_type("machine `memory.serves`", serves, _EXAMPLE)
        texts = list(items)
    if not texts:
        raise unfit("machine `memory.serves` is no PE", f"give {_EXAMPLE}")
    found = tuple(", ".join(map(_text, _box(text))) for text in texts)
    return found[0] if len(found) == 1 else found


def _runs(mask: np.ndarray[Any, Any]) -> list[str]:
    """Return the PEs of a mask as slices along the last dimension."""
    texts = []
    for line in np.ndindex(mask.shape[:-1]):
        for served, run in itertools.groupby(
            enumerate(mask[line].tolist()), key=lambda place: bool(place[1])
        ):
            places = [at for at, _ in run]
            if served:
                texts.append(", ".join([*map(str, line), f"{places[0]}:{places[-1] + 1}"]))
    return texts


def _box(text: object) -> list[_Slice]:
    if not isinstance(text, str):
        raise wrong_type("an entry of machine `memory.serves`", text, _EXAMPLE)
    return [_slice(part, text) for part in text.split(",")]


def _slice(part: str, text: str) -> _Slice:
    found = _SLICE.fullmatch(part)
    if found is None or found[4] == "0":
        raise unfit(
            f'machine `memory.serves` has "{part.strip()}" in "{text}"', f"give {_EXAMPLE}", code="CYC402"
        )
    if found[1] is not None:
        at = int(found[1])
        return at, (at + 1 if at != -1 else None), 1
    first, last, step = found[2], found[3], found[4]
    return int(first or 0), int(last) if last else None, int(step or 1)


def _text(bounds: _Slice) -> str:
    first, last, step = bounds
    if step == 1 and (first + 1 == last or (first == -1 and last is None)):
        return str(first)
    return f"{first or ''}:{'' if last is None else last}{f':{step}' if step > 1 else ''}"

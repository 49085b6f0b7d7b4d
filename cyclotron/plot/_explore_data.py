"""The data of the interactive view of a run: its PEs, what each does when, and the program of each class."""

from __future__ import annotations

import itertools
import json
import linecache
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron import compiler
from cyclotron.analysis.critical_path import KINDS, critical_path
from cyclotron.analysis.events import all_events, all_memory_requests, all_messages
from cyclotron.plot import _common as common
from cyclotron.plot._operators import ranked
from cyclotron.plot._shares import causes_of
from cyclotron.support.errors import ExecutionError, display_name
from cyclotron.support.svg import COLORS

# Above these, every second PE of each dimension is in the view, or every third, and so on.
_MOST_PES = 1_000_000
_MOST_SPANS = 2_000_000
# Records, up to which the critical path is followed where nobody asks for it.
_MOST_RECORDS = 300_000
# For each kind of record: whose wait it is, from when to when, at which instruction, and the colour.
_WAITS = {
    "waits for a message": ("receiver", "waiting", "received", "receive_instruction", "#f7b5c0"),
    "waits to send": ("sender", "ready", "sent", "send_instruction", "#a8324f"),
    "waits for its memory": ("pe", "waiting", "passed", "instruction", "#b7a0d6"),
}


@dataclass(frozen=True)
class _Sample:
    """The PEs of a grid that a view has: every `step`-th of each dimension."""

    grid: tuple[int, ...]
    step: int

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(-(-extent // self.step) for extent in self.grid)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def of(self, values: Any) -> NDArray[Any]:
        """The values of its PEs, one dimension, of an array of shape `grid`."""
        chosen = (slice(None, None, self.step),) * len(self.grid)
        return np.asarray(values).reshape(self.grid)[chosen].reshape(-1)

    def cells(self, pes: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Masks linear indices to those that it has, and numbers these in its own order."""
        if self.step == 1:
            return np.ones(len(pes), dtype=np.bool_), pes.astype(np.int64)
        places = np.unravel_index(pes.astype(np.int64), self.grid)
        chosen = np.logical_and.reduce([place % self.step == 0 for place in places])
        return chosen, np.ravel_multi_index([place[chosen] // self.step for place in places], self.shape)


class _Blob:
    """Arrays one after another; each is told by its type, its place and its length."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._bytes = 0

    def add(self, values: NDArray[Any]) -> dict[str, Any]:
        """Take integers in the smallest type that holds them, and return where they are."""
        top = int(values.max(initial=0))
        low = int(values.min(initial=0))
        kind = np.min_scalar_type(low if -low > top else -top - 1 if low < 0 else top)
        data = values.astype("float64" if kind.itemsize == 8 else kind).tobytes()
        place = {"type": "float64" if kind.itemsize == 8 else kind.name, "at": self._bytes}
        place["length"] = values.size
        self._parts.append(data + bytes(-len(data) % 8))
        self._bytes += len(self._parts[-1])
        return place

    def packed(self, header: Mapping[str, Any]) -> bytes:
        """The header and the arrays, compressed: the length of the header, the header, the arrays."""
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        return zlib.compress(b"".join([len(text).to_bytes(8, "little"), text, *self._parts]), level=1)


def data_of(results: Sequence[common.ResultLike], with_path: bool | None) -> bytes:
    """Return what the view of one or two runs shows, compressed; `explore.js` reads it.

    Parameters
    ----------
    results : sequence of Result
        Of simulations.
    with_path : bool, optional
        With the critical paths; by default of runs with few records.
    """
    blob = _Blob()
    return blob.packed({"views": [_view(result, blob, with_path) for result in results]})


def _view(result: common.ResultLike, blob: _Blob, with_path: bool | None) -> dict[str, Any]:
    records = len(result.events) + len(result.messages) + len(result.memory_requests)
    sample = _sample_of(result.grid, records)
    notes = []
    if sample.step > 1:
        count = f"{sample.size:,} of {common.pe_count(result):,} PEs"
        notes.append(f"{count} are shown: every {_ordinal(sample.step)} of each dimension")
    sources = _Sources()
    view = {
        "title": common.headline(result),
        "cycles": int(result.cycles),
        "grid": list(result.grid),
        "names": common.axis_names(result),
        "step": sample.step,
        "shape": list(sample.shape),
        "counts": [
            {"name": name, "color": color, "cycles": blob.add(sample.of(result.stats[key]))}
            for key, name, color in causes_of(result)
        ],
        "classes": _classes(result, sources),
        "class_of": blob.add(_class_of_cells(result, sample)),
        **_spans(result, sample, blob, notes),
        "path": _path(result, records, with_path, notes),
        "kinds": {kind: texts[0] for kind, texts in KINDS.items()},
    }
    return view | {"sources": sources.rows, "notes": notes}


def _sample_of(grid: tuple[int, ...], records: int) -> _Sample:
    pes = max(int(np.prod(grid, dtype=np.int64)), 1)
    for step in itertools.count(1):
        sample = _Sample(grid, step)
        if sample.size <= _MOST_PES and (records * sample.size <= _MOST_SPANS * pes or sample.size == 1):
            return sample
    raise AssertionError


def _ordinal(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")


class _Sources:
    """Lines of Python text, each once: the file's name, the number and the text."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, str]] = []
        self._numbers: dict[tuple[str, int], int] = {}

    def number(self, file: str, line: int) -> int:
        """The row of a line; -1 where there is none."""
        if not line:
            return -1
        if (file, line) not in self._numbers:
            self._numbers[file, line] = len(self.rows)
            self.rows.append((display_name(file), line, linecache.getline(file, line).strip()))
        return self._numbers[file, line]


def _classes(result: common.ResultLike, sources: _Sources) -> list[dict[str, Any]]:
    """For each class its program with the instruction of each line, the sources of these, and its memory."""
    core = result.program.core
    codes = compiler.decoded(core.without_constants())["classes"]
    return [
        {
            "name": one.name,
            "region": one.region,
            "pes": memory.pe_count,
            "text": one.text.rstrip("\n").split("\n")[1:],
            # An end of a loop or of a condition has no line of its own.
            "instructions": [n for n, step in enumerate(code["code"]) if step["do"] != "end"],
            "sources": [sources.number(*line) for line in one.lines],
            "loops": one.loops,
            "memory": [[s.address, s.size, s.name, s.live, s.persistent] for s in memory.slots],
            "bytes": memory.data,
        }
        for one, memory, code in zip(core.classes, result.program.memory.classes, codes, strict=True)
    ]


def _class_of_cells(result: common.ResultLike, sample: _Sample) -> NDArray[np.int64]:
    """The number of the class of each cell, counted from 1; 0 for PEs without a program."""
    classes = compiler.decoded(result.program.core.without_constants())["classes"]
    axes = np.ix_(*(np.arange(0, extent, sample.step) for extent in sample.grid))
    found = np.zeros(sample.shape, dtype=np.int64)
    for number, one in enumerate(classes, start=1):
        for conjunction in one["region"]:
            holds = np.ones(sample.shape, dtype=np.bool_)
            for condition in conjunction:
                constant, *factors = condition["form"]
                value = sum((f * axis for f, axis in zip(factors, axes, strict=False)), start=constant)
                if condition["is"] == "non_negative":
                    holds &= np.asarray(value >= 0)
                elif condition["is"] == "zero":
                    holds &= np.asarray(value == 0)
                else:
                    holds &= np.asarray(value % condition["modulus"] == 0)
            found[holds] = number
    return found.reshape(-1)


def _spans(result: common.ResultLike, sample: _Sample, blob: _Blob, notes: list[str]) -> dict[str, Any]:
    """The actions of each cell over time: state, cycles, instruction and loop variables."""
    labels, numbers = ranked({n: float(c.sum()) for n, c in result.stats["busy_by_operator"].items()})
    states: list[dict[str, Any]] = [
        {"name": label, "color": color} for label, color in zip(labels, COLORS, strict=False)
    ]
    try:
        events = all_events(result)
    except ExecutionError as missing:
        notes.append(f"no cycles to scrub over: {missing.message}; {missing.help}")
        return {"states": states, "spans": None}
    lasting = events["end"] > events["start"]
    chosen, cells = sample.cells(events["pe"])
    events, cells = events[chosen & lasting], cells[lasting[chosen]]
    codes = np.zeros(len(events), dtype=np.int64)
    for name, number in numbers.items():
        if number:
            codes[events["operator"] == name] = number
    loops = np.where(np.arange(events["loops"].shape[1]) < events["depth"][:, np.newaxis], events["loops"], 0)
    columns = [[cells, events["start"], events["end"], codes, events["instruction"], loops]]
    for (name, fields), records in zip(_WAITS.items(), _waits(result, notes), strict=True):
        pe, since, until, instruction, color = fields
        waits = records[records[until] > records[since]]
        chosen, cells = sample.cells(waits[pe])
        waits = waits[chosen]
        if len(waits):
            states.append({"name": name, "color": color, "waits": True})
            codes = np.full(len(waits), len(states) - 1)
            none = np.zeros((len(waits), loops.shape[1]), dtype=loops.dtype)
            columns.append([cells, waits[since], waits[until], codes, waits[instruction], none])
    cells, starts, ends, codes, instructions, loops = map(np.concatenate, zip(*columns, strict=True))
    order = np.lexsort((starts, cells))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=sample.size))])
    named = {"starts": starts, "ends": ends, "states": codes, "instructions": instructions}
    spans: dict[str, Any] = {name: blob.add(values[order]) for name, values in named.items()}
    spans["loops"] = [blob.add(column[order]) for column in loops.T]
    return {"states": states, "spans": {"offsets": blob.add(offsets), **spans}}


def _waits(result: common.ResultLike, notes: list[str]) -> list[NDArray[Any]]:
    """The messages that were received, those that were sent, and requests to memories."""
    try:
        messages, requests = all_messages(result), all_memory_requests(result)
    except ExecutionError as missing:
        notes.append(f"waits are not shown: {missing.message}; {missing.help}")
        return [result.messages[:0], result.messages[:0], result.memory_requests[:0]]
    # A broadcast is a message to each receiver: its sender waits once.
    _, once = np.unique(messages["send_order"], return_index=True)
    return [messages, messages[once], requests]


def _path(
    result: common.ResultLike, records: int, wanted: bool | None, notes: list[str]
) -> list[tuple[Any, ...]]:
    """The steps of the critical path: kind, name, first cycle, end, PEs where it begins and ends, line."""
    if wanted is False or (wanted is None and records > _MOST_RECORDS):
        if wanted is None:
            notes.append(f"of {records:,} records no critical path is followed: explore(critical_path=True)")
        return []
    try:
        return [(s.kind, s.name, s.start, s.end, s.source, s.pe, s.line) for s in critical_path(result).steps]
    except ExecutionError as missing:
        if wanted:
            raise
        if len(result.events):
            notes.append(f"no critical path: {missing.message}")
        return []

"""SCALE-Sim's cycle counts, from simulations of compiled programs.

SCALE-Sim (A. Samajdar et al., "A Systematic Methodology for Characterizing Scalability of DNN Accelerators
using SCALE-Sim", ISPASS 2020) runs a product of matrices on an array of R×C multiply-adds in folds: blocks of
the stationary matrix, one after the other, each of which has the whole array until it is drained. Here a fold
is a program, compiled from one of the recurrences below for the machine `machines.scale_sim`, and its cycles
are those of its simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from cyclotron.compiler.program import Program
from cyclotron.explore.scale_sim_topology import Layer, read_rows, read_topology
from cyclotron.kernel import kernel
from cyclotron.language import copy, empty, spec
from cyclotron.machine.presets import scale_sim as scale_sim_array
from cyclotron.runtime.run import run
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.arguments import shown
from cyclotron.support.call_site import errors_at_call
from cyclotron.support.errors import ShapeError
from cyclotron.support.exports import csv_text
from cyclotron.support.tables import Listing, Records, Row

__all__ = ["ScaleSimFold", "ScaleSimLayer", "ScaleSimReport", "scale_sim"]

Dataflow = Literal["os", "ws", "is"]
_DATAFLOWS: tuple[Dataflow, ...] = get_args(Dataflow)
_REPORTED = (
    *("LayerID", "Total Cycles", "Stall Cycles"),
    *("Overall Util %", "Mapping Efficiency %", "Compute Util %"),
)


@kernel
def output_stationary_fold(X, W):  # type: ignore[no-untyped-def]
    """A block of the result: each PE keeps its element, rows of X enter from the left, columns of W above."""
    Y = empty((X.shape[0], W.shape[1]))
    for r in range(X.shape[0]):
        for c in range(W.shape[1]):
            Y[r, c] = sum(X[r, t] * W[t, c] for t in range(X.shape[1]))
    return Y


@kernel
def stationary_operand_fold(X, W):  # type: ignore[no-untyped-def]
    """A block of W stays: it is shifted down the columns in R cycles, the last row first; X then streams."""
    T, R = X.shape
    C = W.shape[1]
    shifted = empty((R, R, C))
    Y = empty((T, C))
    for cycle in range(R):
        for r in range(cycle + 1):
            for c in range(C):
                if r == 0:
                    shifted[cycle, r, c] = copy(W[R - 1 - cycle, c])
                else:
                    shifted[cycle, r, c] = copy(shifted[cycle - 1, r - 1, c])
    for t in range(T):
        for c in range(C):
            Y[t, c] = sum(X[t, r] * shifted[R - 1, r, c] for r in range(R))
    return Y


@dataclass(frozen=True)
class ScaleSimFold:
    """Folds that use as many rows and columns of the array.

    Attributes
    ----------
    rows, columns : int
        That hold the operands; at the edges of the matrices fewer than the array has.
    count : int
        Folds like this.
    cycles : int
        Of one of them, until the whole array is drained.
    mapping_efficiency : float
        Share of the array's PEs that are used, 0 to 1.
    utilization : float
        Multiply-adds of the product per PE and cycle, 0 to 1.
    """

    rows: int
    columns: int
    count: int
    cycles: int
    mapping_efficiency: float
    utilization: float


@dataclass(frozen=True)
class ScaleSimLayer(Layer):
    """One product on the array.

    Attributes
    ----------
    name : str
    M, N, K : int
        The inputs are M×K, the filters K×N.
    dataflow : {"os", "ws", "is"}
    array : tuple of int
        Rows and columns of PEs.
    fold_cycles : int
        Simulated cycles of a fold.
    program : Program
        Of a fold, for operands padded with zeros to the whole array: X and W are the inputs and the filters
        (``"os"``, ``"ws"``), or the filters and the inputs, both transposed (``"is"``).
    """

    dataflow: Dataflow
    array: tuple[int, int]
    fold_cycles: int
    program: Program = field(repr=False, compare=False)

    @property
    def extents(self) -> tuple[int, int, int]:
        """The extents over the rows and over the columns of the array, and that which streams through it."""
        return _extents(self.dataflow, self.M, self.N, self.K)

    @property
    def fold_grid(self) -> tuple[int, int]:
        """Folds along the rows and along the columns of the array."""
        rows, columns, _ = self.extents
        return math.ceil(rows / self.array[0]), math.ceil(columns / self.array[1])

    @property
    def folds(self) -> tuple[ScaleSimFold, ...]:
        """The folds, those alike together, the full ones first; at most four kinds."""
        length = self.extents[2]
        return tuple(
            ScaleSimFold(
                rows,
                columns,
                row_count * column_count,
                self.fold_cycles,
                rows * columns / math.prod(self.array),
                rows * columns * length / (math.prod(self.array) * self.fold_cycles),
            )
            for rows, row_count in _parts(self.extents[0], self.array[0])
            for columns, column_count in _parts(self.extents[1], self.array[1])
        )

    @property
    def cycles(self) -> int:
        """Cycles of all folds, one after the other; SCALE-Sim prints the number of the last, one less."""
        return math.prod(self.fold_grid) * self.fold_cycles

    @property
    def utilization(self) -> float:
        """Multiply-adds of the product per PE and cycle, 0 to 1."""
        return self.M * self.N * self.K / (math.prod(self.array) * self.cycles)

    @property
    def mapping_efficiency(self) -> float:
        """Mean over the folds of the share of PEs that are used, 0 to 1."""
        return math.prod(self.extents[:2]) / (math.prod(self.array) * math.prod(self.fold_grid))


class ScaleSimReport(Listing[ScaleSimLayer]):
    """The layers of a network on the array; prints as a table.

    Attributes
    ----------
    layers : tuple of ScaleSimLayer

    Examples
    --------
    >>> report = cy.scale_sim(8, 8, 8, dataflow="ws", array=(4, 4))
    >>> report[0].cycles == report.cycles
    True
    """

    @property
    def layers(self) -> tuple[ScaleSimLayer, ...]:
        return self._items

    @property
    def cycles(self) -> int:
        """Cycles of all layers, one after the other."""
        return sum(layer.cycles for layer in self.layers)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the layers as SCALE-Sim's ``COMPUTE_REPORT.csv`` has them, and write it to `path` if given.

        The numbers are SCALE-Sim's too: ``Total Cycles`` is that of the last cycle, from 0, by which
        ``Overall Util %`` divides; ``Compute Util %``, the mean over the folds, counts C - 1 cycles a fold
        twice in ``ws`` and ``is``. `ScaleSimLayer` has the cycles and the utilisation of the simulation.

        Parameters
        ----------
        path : str or Path, optional

        Returns
        -------
        str

        Raises
        ------
        OSError
            If it cannot be written.

        Examples
        --------
        >>> report.to_csv().splitlines()[1].split(",")[:3]
        ['0', '71', '0']
        """
        rows = ((number, *self._reported(layer)) for number, layer in enumerate(self.layers))
        return csv_text(_REPORTED, rows, path)

    def beside(self, path: str | Path) -> Records:
        """Return the layers with what SCALE-Sim itself reported of them, in its own terms; see `to_csv`.

        Parameters
        ----------
        path : str or Path
            SCALE-Sim's ``COMPUTE_REPORT.csv`` of the same layers, in their order.

        Returns
        -------
        Records
            A dict for each layer; prints as a table.

        Raises
        ------
        ShapeError
            CYC741 if it cannot be read, or has other layers or columns.

        Examples
        --------
        >>> _ = report.to_csv("COMPUTE_REPORT.csv")  # or SCALE-Sim's own
        >>> (line,) = report.beside("COMPUTE_REPORT.csv")
        >>> line["Total Cycles"] == line["Total Cycles reported"]
        True
        """
        help = "give SCALE-Sim's COMPUTE_REPORT.csv of the same topology"
        header, *rows = [row for row in read_rows(path, help) if row] or [[]]
        columns = [header.index(name) if name in header else -1 for name in _REPORTED[1:]]
        if min(columns) < 0 or len(rows) != len(self.layers):
            raise ShapeError(
                f"`{path}` has {len(rows)} lines under {', '.join(header) or 'no names'}; "
                f"the report has {len(self.layers)} layers",
                code="CYC741",
                help=help,
            )
        result = Records()
        for layer, row in zip(self.layers, rows, strict=True):
            record: dict[str, object] = {"layer": layer.name}
            for name, own, column in zip(_REPORTED[1:], self._reported(layer), columns, strict=True):
                record |= {name: own, f"{name} reported": _number(row[column] if column < len(row) else "")}
            result.append(record)
        return result

    def _reported(self, layer: ScaleSimLayer) -> tuple[float, ...]:
        """The columns of SCALE-Sim's report after the first."""
        last = layer.cycles - 1
        twice = 0 if layer.dataflow == "os" else layer.array[1] - 1
        overall = layer.utilization * layer.cycles / last if last else math.inf
        compute = layer.utilization * layer.fold_cycles / (layer.fold_cycles + twice)
        return last, 0, *(100 * share for share in (overall, layer.mapping_efficiency, compute))

    def _table(self) -> tuple[Row, list[Row]]:
        header = ("layer", "M", "N", "K", "folds", "cycles a fold", "cycles", "mapping", "utilization")
        return header, [
            (
                layer.name,
                *map(str, (layer.M, layer.N, layer.K)),
                "x".join(map(str, layer.fold_grid)),
                str(layer.fold_cycles),
                str(layer.cycles),
                f"{layer.mapping_efficiency:.1%}",
                f"{layer.utilization:.1%}",
            )
            for layer in self.layers
        ]

    @property
    def caption(self) -> str:
        """The cycles of all layers, in words."""
        return f"{self.cycles} cycles"


def scale_sim(
    M: int | str | Path,
    N: int | None = None,
    K: int | None = None,
    *,
    dataflow: Dataflow = "os",
    array: tuple[int, int] = (32, 32),
) -> ScaleSimReport:
    """Simulate a product of matrices, or the layers of a topology file, as SCALE-Sim counts them.

    The cycles are those of compiled programs on `machines.scale_sim`; they are SCALE-Sim's: a fold of an R×C
    array that streams T takes R + C + T - 2 cycles if the result stays (``"os"``), and 2R + C + T - 2 if the
    filters (``"ws"``) or the inputs (``"is"``) do, which are shifted in first. A fold at the edge of a matrix
    takes as long as the others: its operands are padded with zeros. Left out, as in SCALE-Sim's compute
    cycles: memories, and that a fold could start while the one before it drains.

    Parameters
    ----------
    M : int, str or Path
        Rows of the inputs, at least 1; or the path of a topology file, see
        `cyclotron.explore.scale_sim_topology.read_topology`.
    N, K : int
        Columns of the filters, and columns of the inputs, at least 1; none with a file.
    dataflow : {"os", "ws", "is"}
        Whether the result, the filters or the inputs stay in the array.
    array : tuple of int
        Rows and columns of PEs.

    Returns
    -------
    ScaleSimReport
        One layer, or those of the file.

    Raises
    ------
    ShapeError
        If a size is below 1, the dataflow is unknown, the array has not two extents, or the file is no
        topology.

    Examples
    --------
    >>> cy.scale_sim(8, 8, 8, dataflow="os", array=(4, 4)).cycles
    56
    """
    if dataflow not in _DATAFLOWS:
        raise _unfit(f"there is no dataflow {dataflow!r}", f"use one of: {', '.join(_DATAFLOWS)}")
    if not isinstance(array, list | tuple) or len(array) != 2:
        raise _unfit(
            f"`array` is {shown(array)}, not rows and columns",
            "give the PEs of the array, for example array=(32, 32)",
        )
    layers = _layers(M, N, K)
    programs: dict[int, tuple[Program, int]] = {}
    found = []
    with errors_at_call():
        for layer in layers:
            length = _extents(dataflow, layer.M, layer.N, layer.K)[2]
            if length not in programs:
                program = fold(length, dataflow, array)
                programs[length] = program, run(program, backend="sim", functional=False).cycles
            program, cycles = programs[length]
            found.append(
                ScaleSimLayer(layer.name, layer.M, layer.N, layer.K, dataflow, array, cycles, program)
            )
    return ScaleSimReport(found)


def fold(length: int, dataflow: Dataflow, array: tuple[int, int]) -> Program:
    """Compile the program of a fold.

    Parameters
    ----------
    length : int
        What streams through the array.
    dataflow : {"os", "ws", "is"}
    array : tuple of int
        Rows and columns of PEs.
    """
    rows, columns = array
    machine = scale_sim_array(rows, columns, dataflow)
    schedule = Schedule().space("r", "c").stream("X", along="c")
    if dataflow == "os":
        recurrence, schedule = output_stationary_fold, schedule.time("t").stream("W", along="r")
        operands = spec((rows, length)), spec((length, columns))
    else:
        recurrence, schedule = stationary_operand_fold, schedule.time("cycle", "t")
        operands = spec((length, rows)), spec((rows, columns))
    program: Program = recurrence.compile(*operands, schedule=schedule, machine=machine)
    return program


def _extents(dataflow: Dataflow, M: int, N: int, K: int) -> tuple[int, int, int]:
    return {"os": (M, N, K), "ws": (K, N, M), "is": (K, M, N)}[dataflow]


def _number(text: str) -> float | None:
    """The number of a cell of a report; None where it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def _parts(extent: int, most: int) -> list[tuple[int, int]]:
    """The sizes of the parts of an extent, and how many parts have each."""
    whole, rest = divmod(extent, most)
    return [(size, count) for size, count in ((most, whole), (rest, 1)) if size and count]


def _layers(M: int | str | Path, N: int | None, K: int | None) -> Sequence[Layer]:
    if isinstance(M, (str, Path)):
        return read_topology(M)
    for name, value in (("M", M), ("N", N), ("K", K)):
        if not hasattr(value, "__index__") or value < 1:  # type: ignore[operator]
            raise _unfit(
                f"`{name}` is {value!r}, not a positive integer",
                "give M, N and K, for example scale_sim(64, 64, 64), or the path of a topology file",
            )
    return (Layer("product", int(M), int(N or 0), int(K or 0)),)


def _unfit(message: str, help: str) -> ShapeError:
    return ShapeError(message, code="CYC740", help=help)

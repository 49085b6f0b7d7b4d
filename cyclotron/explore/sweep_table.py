"""The designs that a sweep measured, as a table."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cyclotron.explore.sweep_axes import unfit
from cyclotron.support.exports import Record, RecordTable
from cyclotron.support.tables import Row, cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_ROWS = 40


class Sweep(RecordTable):
    """The measures of a sweep, one record a design; prints as a table.

    Attributes
    ----------
    records : tuple of dict
        The values of the axes, then ``cycles``, ``pes`` (PEs), ``utilization`` (mean share of the cycles in
        which a PE computes, 0 to 1), ``stall_empty``, ``stall_full``, ``stall_memory``, ``stall_control`` and
        ``idle`` (mean shares, 0 to 1), ``memory_bytes`` (of the fullest PE), ``energy_picojoules`` where a
        machine has energies (`Machine.energy`), and ``error``: None, or the code and the message of the
        refusal, in which case the measures are None.
    complete : bool
        False where Ctrl-C ended it; the records are those that were done.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> program = matmul.compile(np.ones((2, 2)), np.ones((2, 2)))
    >>> table = cy.sweep(program, depth=[1, 2])
    >>> table.pareto("cycles", "depth")[0]["depth"]
    1
    """

    def __init__(self, records: Iterable[Record], *, complete: bool = True) -> None:
        super().__init__(records)
        self.complete = complete

    def _of(self, items: Iterable[Record]) -> Sweep:
        return Sweep(items, complete=self.complete)

    def pareto(self, *objectives: str) -> Sweep:
        """Return the designs that no other beats: none is as good in all objectives and better in one.

        Parameters
        ----------
        *objectives : str
            Numeric columns, smaller is better; with a leading minus larger is: ``"-utilization"``. By default
            ``"cycles"`` and ``"pes"``.

        Returns
        -------
        Sweep
            Without designs that were refused.

        Raises
        ------
        ExecutionError
            CYC716 if a column has no numbers.

        Examples
        --------
        >>> [record["depth"] for record in table.pareto("cycles", "depth")]
        [1, 2]
        """
        found = [record for record in self.records if record["error"] is None]
        if not found:
            return self._of(())
        values = self._values(found, objectives or ("cycles", "pes"))
        best = [
            record
            for record, own in zip(found, values, strict=True)
            if not np.any(np.all(values <= own, axis=1) & np.any(values < own, axis=1))
        ]
        return self._of(best)

    def _values(self, records: Sequence[Record], objectives: Sequence[str]) -> Any:
        columns = []
        for objective in objectives:
            name, sign = objective.removeprefix("-"), -1.0 if objective.startswith("-") else 1.0
            cells = [record.get(name) for record in records]
            if not all(isinstance(cell, numbers.Real) for cell in cells):
                numeric = [key for key, cell in records[0].items() if isinstance(cell, numbers.Real)]
                raise unfit(f"`{name}` is no column of numbers", f"use one of: {', '.join(numeric)}")
            columns.append(sign * np.array(cells, dtype=np.float64))
        return np.array(columns).T

    def plot(
        self,
        x: str = "pes",
        y: str = "cycles",
        *,
        by: str | None = None,
        ax: Axes | None = None,
        path: str | Path | None = None,
    ) -> Figure:
        """Draw all designs as points, and the Pareto front of `x` and `y`; see `cyclotron.plot.pareto`.

        Parameters
        ----------
        x, y : str
            Numeric columns; with a leading minus larger is better.
        by : str, optional
            Column whose values the points are told apart by, for example ``"schedule"``.
        ax : matplotlib Axes, optional
        path : str or Path, optional

        Returns
        -------
        matplotlib Figure

        Raises
        ------
        ExecutionError
            CYC716 if a column has no numbers.
        BackendUnavailable
            If matplotlib is not installed.

        Examples
        --------
        >>> table.plot("depth", "cycles", path="designs.png").axes[0].get_xlabel()
        'depth'
        """
        from cyclotron.plot import pareto

        return pareto(self, x, y, by=by, ax=ax, path=path)

    def _table(self) -> tuple[Row, list[Row]]:
        shown = [name for name in self.columns if name != "error" or any(r["error"] for r in self.records)]
        return shown, [[cell(record[name]) for name in shown] for record in self.records[:_MOST_ROWS]]

    def _rest(self) -> str:
        rest = len(self.records) - _MOST_ROWS
        text = f"and {rest} more" if rest > 0 else ""
        return text if self.complete else f"{text}{', ' if text else ''}stopped before all were done"

    def __str__(self) -> str:
        if not self.records:
            return "no designs"
        return "\n".join(part for part in (super().__str__(), self._rest()) if part)

    @property
    def caption(self) -> str:
        """The number of designs, in words."""
        return f"{len(self)} designs"

    def _repr_html_(self) -> str:
        return super()._repr_html_() + self._rest()

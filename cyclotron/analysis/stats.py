"""The statistics of a run: a dict that prints as tables, and its rows by PE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cyclotron.support.tables import Records, Row, cell, html_table, text_table

_HEADER = ("of each PE", "total", "mean", "least", "most")


class Stats(dict[str, Any]):
    """The dict of `Result.stats`; prints as tables: of PEs, of the whole run, of channels and memory ports.

    Examples
    --------
    >>> print(Stats(busy=np.array([3, 5]), cycles_skipped=0))
    of each PE  total  mean  least  most
    ----------  -----  ----  -----  ----
    busy        8      4     3      5
    <BLANKLINE>
    cycles_skipped  0
    """

    def _arrays(self) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
        """Numbers of each PE, by name; of a dict of them ``name: key``."""
        for name, value in self.items():
            items = value.items() if isinstance(value, Mapping) else [("", value)]
            for key, item in items:
                if isinstance(item, np.ndarray):
                    yield f"{name}: {key}" if key else name, item

    def _rows(self) -> list[Row]:
        return [
            (name, *(cell(found) for found in (int(v.sum()), float(v.mean()), int(v.min()), int(v.max()))))
            for name, v in self._arrays()
            if v.size and name != "memory_port" and v.any()
        ]

    def _numbers(self) -> list[Row]:
        return [(name, cell(value)) for name, value in self.items() if isinstance(value, int | float)]

    def _tables(self) -> dict[str, Records]:
        found = {name: Records(self.get(name, ())) for name in ("channels", "memory_ports")}
        return {name: records for name, records in found.items() if records}

    def __str__(self) -> str:
        width = max((len(row[0]) for row in self._numbers()), default=0)
        numbers = "\n".join(f"{name:{width}}  {value}" for name, value in self._numbers())
        tables = [f"{name}\n{records}" for name, records in self._tables().items()]
        return "\n\n".join(filter(None, [text_table(_HEADER, self._rows()), numbers, *tables]))

    def _repr_html_(self) -> str:
        numbers = html_table(("of the run", ""), self._numbers())
        tables = [f"<b>{name}</b>{records._repr_html_()}" for name, records in self._tables().items()]
        return html_table(_HEADER, self._rows()) + numbers + "".join(tables)

    def by_pe(self, grid: tuple[int, ...], grid_names: Sequence[str]) -> list[dict[str, Any]]:
        """Return a record a PE: its place, then its numbers.

        Parameters
        ----------
        grid : tuple of int
            PEs a dimension.
        grid_names : sequence of str
            A name a dimension; ``pe0``, ``pe1`` and so on where they are not told apart.
        """
        distinct = len(set(grid_names)) == len(grid) and all(name not in self for name in grid_names)
        names = grid_names if distinct else [f"pe{dimension}" for dimension in range(len(grid))]
        columns = dict(zip(names, np.indices(grid).reshape(len(grid), -1).tolist(), strict=True))
        columns |= {name: values.ravel().tolist() for name, values in self._arrays()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

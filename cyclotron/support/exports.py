"""Tables for other programs: CSV, data frames and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cyclotron.support.data import data_frame, require_package
from cyclotron.support.files import write_file
from cyclotron.support.tables import Listing, Row, cell

Record = dict[str, Any]


class Exported:
    """A table that is written for other programs; a subclass has `records`."""

    @property
    def records(self) -> Sequence[Record]:
        """The rows, dicts of the same fields."""
        raise NotImplementedError

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the fields, in order."""
        return tuple(self.records[0]) if self.records else ()

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the table as comma-separated values, and write it to `path` if one is given.

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
        >>> table.to_csv().splitlines()[0].split(",")[:3]
        ['depth', 'cycles', 'pes']
        """
        rows = ([record.get(name, "") for name in self.columns] for record in self._texts())
        return csv_text(self.columns, rows, path)

    def _texts(self) -> list[Record]:
        return [{key: _text(value) for key, value in record.items()} for record in self.records]

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``, a row a record.

        Returns
        -------
        DataFrame

        Raises
        ------
        BackendUnavailable
            If pandas is not installed.

        Examples
        --------
        >>> table.to_pandas().shape == (len(table), len(table.columns))
        True
        """
        return data_frame(list(self.records), self.columns, instead="use to_csv()")

    def to_parquet(self, path: str | Path) -> None:
        """Write the table to a Parquet file, what is a tuple as text (``"4x4"``), as `to_csv` does.

        Parameters
        ----------
        path : str or Path
            By habit ``*.parquet``; replaced only when the table is complete.

        Raises
        ------
        BackendUnavailable
            If pandas or pyarrow is not installed.
        OSError
            If it cannot be written.

        Examples
        --------
        >>> table.to_parquet("designs.parquet")
        """
        require_package("pyarrow", instead="use to_csv()")
        frame = data_frame(self._texts(), self.columns, instead="use to_csv()")
        content = io.BytesIO()
        frame.to_parquet(content, index=False)
        write_file(path, content.getvalue())


class RecordTable(Exported, Listing[Record]):
    """A sequence of records that prints as a table, with a column for each of their fields."""

    @property
    def records(self) -> tuple[Record, ...]:
        """The records."""
        return self._items

    def _table(self) -> tuple[Row, list[Row]]:
        return self.columns, [[cell(record[name]) for name in self.columns] for record in self.records]


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]], path: str | Path | None) -> str:
    """Return a table as comma-separated values, and write it where a path is given."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    if path is not None:
        write_file(path, text.getvalue())
    return text.getvalue()


def _text(value: Any) -> Any:
    return "x".join(map(str, value)) if isinstance(value, tuple) else value

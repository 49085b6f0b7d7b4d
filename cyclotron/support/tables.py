"""Tables as text and as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, overload

Row = Sequence[str]
_Item = TypeVar("_Item")
_Own = TypeVar("_Own", bound="Listing[Any]")


class Table:
    """A value that prints as a table, in notebooks too; a subclass has `caption` and `_table`."""

    _what = ""  # what a table is, before the caption

    @property
    def caption(self) -> str:
        """The subject of the table, in a line."""
        raise NotImplementedError

    def _table(self) -> tuple[Row, Sequence[Row]]:
        """The header and the rows."""
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{self.caption}\n\n{text_table(*self._table())}"

    def __repr__(self) -> str:
        return f"<{self._what}{self.caption}>"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), self.caption)


class Listing(Table, Sequence[_Item]):
    """A sequence that prints as a table without its caption; slices are listings of the same kind.

    Parameters
    ----------
    items : iterable
        A row each.
    """

    def __init__(self, items: Iterable[_Item]) -> None:
        self._items = tuple(items)

    def _of(self: _Own, items: Iterable[Any]) -> _Own:
        """Return a listing of this kind with other items."""
        return type(self)(items)

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self: _Own, index: slice) -> _Own: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._of(self._items[index]) if isinstance(index, slice) else self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __str__(self) -> str:
        return text_table(*self._table())

    def __repr__(self) -> str:
        return str(self)


class Records(list[dict[str, Any]]):
    """A list of dicts of the same fields that prints as a table.

    Examples
    --------
    >>> print(Records([{"name": "A along j", "words": 12}, {"name": "B along i", "words": 8}]))
    name       words
    ---------  -----
    A along j  12
    B along i  8
    """

    def _table(self) -> tuple[Row, list[Row]]:
        columns = list(dict.fromkeys(name for record in self for name in record))
        return columns, [[cell(record.get(name)) for name in columns] for record in self]

    def __str__(self) -> str:
        return text_table(*self._table()) if self else "none"

    def _repr_html_(self) -> str:
        return html_table(*self._table()) if self else "none"


def cell(value: Any) -> str:
    """A value of a record, for people."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def text_table(header: Row, rows: Sequence[Row]) -> str:
    """Return aligned columns under a header, each column as wide as its widest cell.

    Parameters
    ----------
    header : sequence of str
        Titles of the columns.
    rows : sequence of sequences of str
        As many cells as the header has.
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def html_table(header: Row, rows: Sequence[Row], caption: str = "") -> str:
    """Return an HTML table; every text is escaped.

    Parameters
    ----------
    header : sequence of str
        Titles of the columns.
    rows : sequence of sequences of str
        As many cells as the header has.
    caption : str
        Above the table; none where empty.
    """
    left = ' style="text-align:left"'
    head = "".join(f"<th{left}>{html.escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td{left}>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

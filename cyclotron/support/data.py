"""Values as plain data: for JSON, and for packages of tables where they are installed."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cyclotron.support.errors import BackendUnavailable


def plain(value: Any) -> Any:
    """Return a value as dicts, lists, texts and numbers that JSON has.

    Arrays become nested lists, complex numbers pairs, and numbers that JSON lacks texts: ``"NaN"``,
    ``"Infinity"``, ``"-Infinity"``, which ``float()`` reads back.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> plain({"x": np.array([1.0, np.inf]), "grid": (2, 2), "z": 1 + 2j})
    {'x': [1.0, 'Infinity'], 'grid': [2, 2], 'z': [1.0, 2.0]}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def to_json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON that every reader takes; see `plain`."""
    return json.dumps(plain(value), indent=indent, allow_nan=False, ensure_ascii=False)


def require_package(name: str, *, instead: str) -> Any:
    """Return a module of an optional package.

    Parameters
    ----------
    name : str
        As pip and import know it.
    instead : str
        What to do without it.

    Raises
    ------
    BackendUnavailable
        If it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise BackendUnavailable(
            f"{name} is not installed", code="CYC722", help=f"pip install {name}, or {instead}"
        ) from None


def data_frame(records: Sequence[Mapping[str, Any]], columns: Sequence[str], *, instead: str) -> Any:
    """Return records as a ``pandas.DataFrame``.

    Parameters
    ----------
    records : sequence of mapping
        A row each.
    columns : sequence of str
        Their fields, in the order of the table.
    instead : str
        What to do without pandas.

    Raises
    ------
    BackendUnavailable
        If pandas is not installed.
    """
    return require_package("pandas", instead=instead).DataFrame(list(records), columns=list(columns))

"""Generators of code from programs, by name: `Program.emit` calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cyclotron import _core
from cyclotron.machine.region import Constraint, Pieces
from cyclotron.support.arguments import shown
from cyclotron.support.errors import BackendUnavailable

Generator = Callable[[dict[str, Any]], str]


def decoded(program: _core.Program) -> dict[str, Any]:
    """Return a program as plain data; see `cyclotron.Program.decoded`."""
    file = program.to_bytes()[20:]  # of the header only the length of the text, if values of constants follow
    data: dict[str, Any] = json.loads(file[4:][: int.from_bytes(file[:4], "little") or None])
    return data


def pieces_of(region: list[list[dict[str, Any]]], rank: int, variables: int | None = None) -> Pieces:
    """Return a region of a decoded program as the core's questions have it.

    Parameters
    ----------
    region : list of lists
        Of a PE class.
    rank : int
        Of the grid.
    variables : int, optional
        More than the rank: the first ones are 0.
    """
    kinds, front = {"zero": "==", "non_negative": ">="}, [0] * ((variables or rank) - rank)
    zeros: list[Constraint] = [
        (([int(n == d) for n in range(rank + len(front))], 0), "==") for d in range(len(front))
    ]
    return [
        [
            *zeros,
            *(
                (([*front, *form[1 : rank + 1]], form[0]), kinds.get(each["is"], each["modulus"]))
                for each in conjunction
                if (form := each["form"] + [0] * (rank + 1))
            ),
        ]
        for conjunction in region
    ]


def register(name: str, generator: Generator) -> None:
    """Let `Program.emit` find a generator by its name, instead of one of the same name.

    Parameters
    ----------
    name : str
    generator : callable
        Takes what `Program.decoded` returns, and returns text.
    """
    _GENERATORS[name] = generator


def generator_of(name: Any) -> Generator:
    """Return the generator of a name.

    Raises
    ------
    BackendUnavailable
        If there is none (CYC720).
    """
    if not isinstance(name, str) or name not in _GENERATORS:
        raise BackendUnavailable(
            f"there is no generator {shown(name)}",
            code="CYC720",
            help=f"use one of: {', '.join(_GENERATORS)}",
        )
    return _GENERATORS[name]


def _as_json(program: dict[str, Any]) -> str:
    return json.dumps(program, indent=1)


_GENERATORS: dict[str, Generator] = {"json": _as_json}

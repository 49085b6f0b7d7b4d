"""Runs of compiled programs on ranks, on arrays and on distributed ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.compiler.program import Program
from cyclotron.mpi.distributed_array import Distributed, ranks_of
from cyclotron.mpi.layout import Layout, layout_of, unfit
from cyclotron.mpi.select import current
from cyclotron.mpi.store import Bound, StoredTensor, Work
from cyclotron.support.arguments import invalid_option

Input = NDArray[Any] | Distributed


def run_on_ranks(
    program: Program,
    inputs: Mapping[str, Input],
    ranks: int | None,
    deal: Layout | None,
    event_limit: int = 0,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run a program once; see `cyclotron.run`.

    Parameters
    ----------
    program : Program
    inputs : dict of str to ndarray or Distributed
        One for each input tensor, of its shape and dtype.
    ranks : int, optional
    deal : Layout, optional
    event_limit : int
        Of each rank.

    Returns
    -------
    outputs : dict of str to ndarray or Distributed
        Distributed where an input is, and the output is in tiles.
    accounts : list of dict
        For each rank, as ``cyclotron._mpi.run`` returns them.
    """
    kept = ranks_of(inputs.values(), ranks)
    found = kept or current(ranks)
    bound: list[Bound] = []
    numbers: dict[str, int] = {}
    outputs: dict[str, Any] = {}
    held = []  # what is relaid out lives until the run is over
    for tensor in program.tensors:
        name = tensor["name"]
        if tensor["role"] == "output":
            if kept and _in_tiles(tensor):
                numbers[name] = found.new_number()
                bound.append(numbers[name])
            else:
                outputs[name] = np.zeros(tensor["shape"], tensor["dtype"])
                bound.append(outputs[name])
            continue
        value = program.constants[name] if tensor["role"] == "constant" else inputs[name]
        if isinstance(value, Distributed):
            held.append(_fitting(tensor, value))
            bound.append(held[-1].on(found))
        else:
            bound.append(value)
    try:
        accounts, owners = found.run(
            Work(program.wire_bytes, program.tensors, bound, dealt(program, deal), event_limit)
        )
    except BaseException:
        for number in numbers.values():
            found.forget(number)
        raise
    for tensor in program.tensors:
        name = tensor["name"]
        if name in numbers:
            shape, tile = tuple(tensor["shape"]), tuple(tensor["tile"])
            extents = [-(-n // t) for n, t in zip(shape, tile, strict=True)]
            table = owners[numbers[name]].reshape(extents)
            form = StoredTensor(shape, tensor["dtype"], tile, table, layout_of(shape, tile, table))
            outputs[name] = Distributed(found, numbers[name], form)
    names = [tensor["name"] for tensor in program.tensors if tensor["role"] == "output"]
    return {name: outputs[name] for name in names}, accounts


def _in_tiles(tensor: Mapping[str, Any]) -> bool:
    return bool(math.prod(tensor["tile"]) > 1)


def _fitting(tensor: Mapping[str, Any], value: Distributed) -> Distributed:
    """The array in the tiles of the program, on the same grid of ranks where there is one."""
    if not _in_tiles(tensor):
        raise unfit(
            f"`{tensor['name']}` is distributed, and the program takes single elements of it",
            "compile the kernel for tiles, e.g. kernel.compile(A.spec(), ...), or pass gather()",
        )
    tile = tuple(tensor["tile"])
    if value.tile == tile:
        return value
    grid = value.layout.grid or (value.ranks.ranks, *(1,) * (value.ndim - 1))
    return value.relayout(Layout(grid=grid, block=tile))


def dealt(program: Program, deal: Layout | None) -> list[tuple[int, int]] | None:
    """Return for each dimension of the PEs' grid how many ranks and how large blocks.

    Parameters
    ----------
    program : Program
    deal : Layout, optional
        Of the PEs; None: blocks in the order of the grid.

    Raises
    ------
    ExecutionError
        If the layout has no grid, or a source (CYC733).
    """
    if deal is None:
        return None
    if deal.grid is None or any(deal.source or ()):
        raise invalid_option(
            f"PEs are dealt out by {deal}", "use a layout with a grid of ranks, and without a source"
        )
    return list(zip(deal.grid, deal.tile(program.grid), strict=True))

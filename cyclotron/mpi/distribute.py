"""Arrays of this process, or of files, to MPI ranks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cyclotron.language import Blocked
from cyclotron.mpi.collective import is_collective
from cyclotron.mpi.distributed_array import Distributed
from cyclotron.mpi.layout import Layout, require_layout
from cyclotron.mpi.select import current
from cyclotron.mpi.sources import File, Given
from cyclotron.support.arguments import array_of


def distribute(
    array: NDArray[Any] | Blocked | str | os.PathLike[str] | None,
    layout: Layout | None = None,
    *,
    ranks: int | None = None,
    root: int | None = None,
) -> Distributed:
    """Give MPI ranks their parts of an array.

    Under ``mpirun`` this is collective, and by default without messages but for the check that all ranks
    agree. In another process the ranks are those of the pool that ``cy.run(..., backend="mpi")`` uses too.

    Parameters
    ----------
    array : ndarray, Blocked, path or None
        The same values on every rank; or a ``.npy`` file, of which each rank reads its part.
    layout : Layout, optional
        By default a block of rows for each rank.
    ranks : int, optional
        MPI processes; by default as many as the layout has.
    root : int, optional
        Under ``mpirun``: the only rank whose `array` is looked at. In another process there is one array
        whatever the root.

    Returns
    -------
    Distributed

    Raises
    ------
    ShapeError
        If the layout does not fit the array or the ranks, the array is not of numbers that Cyclotron has, or
        the file is none (CYC734).
    ExecutionError
        If the ranks were given different arrays or layouts (CYC731); if there is no such number of ranks, or
        no such root (CYC733).
    BackendUnavailable
        If MPI is missing or cannot be started (CYC722).

    Examples
    --------
    >>> kept = cy.distribute(np.eye(4), cy.Layout(grid=(1, 1), block=2))
    >>> float(kept.gather().trace())
    4.0
    """
    source: File | Given
    if layout is not None:
        require_layout(layout)
    if isinstance(array, (str, os.PathLike)):
        source = File(Path(os.path.abspath(array)))
    else:
        source = Given(None if array is None else array_of(array, "what is distributed", code="CYC734"))
    if ranks is None and layout is not None and not is_collective():
        ranks = layout.ranks
    keepers = current(ranks)
    return Distributed(keepers, *keepers.distribute(source, layout, root))

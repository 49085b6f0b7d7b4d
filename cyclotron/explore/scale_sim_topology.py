"""SCALE-Sim's topology files: the layers of a network as products of matrices."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from cyclotron.support.arguments import file_bytes
from cyclotron.support.errors import ShapeError

# Of a convolution: height and width of the input, height and width of a filter, channels, filters, strides.
_CONVOLUTION = "name, IFMAP height, IFMAP width, filter height, filter width, channels, filters, stride"
_PRODUCT = "name, M, N, K"


@dataclass(frozen=True)
class Layer:
    """One product of matrices: the inputs, M×K, with the filters, K×N.

    Attributes
    ----------
    name : str
    M, N, K : int
        Of a convolution: pixels of the output, filters, and elements of a filter (height × width × channels).
    """

    name: str
    M: int
    N: int
    K: int


def read_topology(path: str | Path) -> tuple[Layer, ...]:
    """Read a SCALE-Sim topology file, of products or of convolutions.

    The first line is the header. A line of a product is ``name, M, N, K``; one of a convolution ``name,
    IFMAP height, IFMAP width, filter height, filter width, channels, filters, stride`` and, where it is
    another one, the horizontal stride; its inputs are padded already, and a last window that sticks out of
    them counts. As in SCALE-Sim, a line whose name has
    ``DP`` in it is a depth-wise convolution: a layer for each channel. The last column of SCALE-Sim v3, the
    sparsity, has to be dense (``1:1``).

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    tuple of Layer

    Raises
    ------
    ShapeError
        If the file cannot be read, or a line is none of these.
    """
    layers: list[Layer] = []
    rows = read_rows(path, "give the path of one of SCALE-Sim's topology files")
    for number, cells in enumerate(rows, 1):
        while cells and not cells[-1]:
            cells.pop()
        if number > 1 and cells:
            layers += _layers(cells, f"{path}:{number}")
    if not layers:
        raise _unfit(f"`{path}` has no layers")
    return tuple(layers)


def read_rows(path: str | Path, help: str) -> list[list[str]]:
    """Return the cells of a file of comma-separated values, without the space around them.

    Parameters
    ----------
    path : str or Path
    help : str
        Of the `ShapeError` CYC741 where it is no such file.
    """
    data = file_bytes(path, error=ShapeError, code="CYC741", help=help)
    try:
        lines = data.decode("utf-8").splitlines(keepends=True)
        return [[cell.strip() for cell in row] for row in csv.reader(lines)]
    except (UnicodeDecodeError, csv.Error) as error:
        raise _unfit(f"`{path}` is no text of comma-separated values: {error}") from None


def _layers(cells: list[str], where: str) -> list[Layer]:
    name, *fields = cells
    if fields and ":" in fields[-1]:
        kept, _, of = fields.pop().partition(":")
        if kept.strip() != of.strip():
            raise _unfit(
                f"{where}: layer `{name}` keeps {kept} of {of} weights, and only dense ones are modelled"
            )
    try:
        sizes = [int(field) for field in fields]
    except ValueError:
        raise _unfit(f"{where}: layer `{name}` has the sizes {', '.join(fields)}, not all integers") from None
    if min(sizes, default=0) < 1:
        raise _unfit(f"{where}: layer `{name}` has a size of {min(sizes, default=0)}, below 1")
    if len(sizes) == 3:
        return [Layer(name, *sizes)]
    if len(sizes) not in (7, 8):
        raise _unfit(f"{where}: layer `{name}` has {len(sizes)} sizes, not 3, 7 or 8")
    return _convolution(name, sizes, where)


def _convolution(name: str, sizes: list[int], where: str) -> list[Layer]:
    height, width, filter_height, filter_width, channels, filters, *strides = sizes
    if filter_height > height or filter_width > width:
        raise _unfit(
            f"{where}: the filters of layer `{name}` are {filter_height}x{filter_width}, "
            f"larger than its input of {height}x{width}"
        )
    rows = math.ceil((height - filter_height) / strides[0]) + 1
    columns = math.ceil((width - filter_width) / strides[-1]) + 1
    window = filter_height * filter_width
    if "DP" in name:
        return [Layer(f"{name}Channel_{c}", rows * columns, filters, window) for c in range(channels)]
    return [Layer(name, rows * columns, filters, window * channels)]


def _unfit(message: str) -> ShapeError:
    return ShapeError(message, code="CYC741", help=f"a line is `{_PRODUCT}` or `{_CONVOLUTION}`")

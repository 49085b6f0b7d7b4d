"""Small static pictures as SVG, for notebooks, and the colours of all pictures; needs no matplotlib."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Okabe and Ito's colours, told apart by everyone; then greys.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#555555", "#999999")
_MOST_CELLS = 64  # a side
_SIDE = 240  # pixels, of the longer side at most
_MOST_PIXELS = 20  # a cell
# Matplotlib's viridis at 0, 1/8, ..., 1: the colours of `utilization`.
_VIRIDIS = np.array(
    [
        (68, 1, 84),
        (71, 45, 123),
        (59, 82, 139),
        (44, 114, 142),
        (33, 145, 140),
        (40, 174, 128),
        (94, 201, 98),
        (173, 220, 48),
        (253, 231, 37),
    ]
)


def heat_map_svg(shares: NDArray[Any]) -> str:
    """Return the map of an array as an ``<svg>`` element.

    Parameters
    ----------
    shares : ndarray, float64
        For each PE of the grid a share in [0, 1]. A line is drawn as a row, of more than two dimensions the
        mean over the leading ones, of a large grid the means over blocks of PEs.

    Returns
    -------
    str
        At most 64×64 cells, neighbours of one whole percentage in one piece.
    """
    cells, _ = shrink(np.atleast_2d(plane_of(shares)), _MOST_CELLS)
    rows, columns = cells.shape
    pixels = min(_MOST_PIXELS, _SIDE / max(rows, columns))
    pieces: dict[int, str] = {}
    for y, row in enumerate(np.rint(100 * cells).astype(int).tolist()):
        for percentage, run in groupby(range(columns), key=row.__getitem__):
            xs = list(run)
            piece = f"M{xs[0]} {y}h{len(xs)}v1h-{len(xs)}z"
            pieces[percentage] = pieces.get(percentage, "") + piece
    paths = "".join(f'<path fill="{_color(p / 100)}" d="{d}"/>' for p, d in sorted(pieces.items()))
    label = f"{rows}×{columns} cells, {cells.min():.0%} to {cells.max():.0%} of the cycles computing"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{columns * pixels:.0f}" '
        f'height="{rows * pixels:.0f}" viewBox="0 0 {columns} {rows}" preserveAspectRatio="none" '
        f'shape-rendering="crispEdges"><title>{escape(label)}</title>{paths}</svg>'
    )


def inline_image(svg: str) -> str:
    """Return a picture as an ``<img>`` element, which notebooks that are not trusted show, unlike ``<svg>``.

    Parameters
    ----------
    svg : str
        With a ``<title>``, which becomes the image's text.
    """
    title = re.search(r"<title>(.*?)</title>", svg)
    label = title.group(1) if title else ""
    return f'<img alt="{label}" src="data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}">'


def heat_map_png(shares: NDArray[Any]) -> bytes:
    """Return the map of `heat_map_svg` as a PNG file, for where neither HTML nor SVG is shown.

    Parameters
    ----------
    shares : ndarray, float64
        As for `heat_map_svg`.
    """
    cells, _ = shrink(np.atleast_2d(plane_of(shares)), _MOST_CELLS)
    side = max(1, min(_MOST_PIXELS, _SIDE // max(cells.shape)))
    percentages = np.rint(100 * cells).astype(np.uint8).repeat(side, axis=0).repeat(side, axis=1)
    return png(percentages, [_color(n / 100) for n in range(101)])


def png(pixels: NDArray[np.uint8], palette: Sequence[str]) -> bytes:
    """Return a picture as a PNG file.

    Parameters
    ----------
    pixels : ndarray, uint8
        Rows of numbers of colours.
    palette : sequence of str
        At most 256 colours, as ``#0072B2``.
    """
    colors = bytes.fromhex("".join(color[1:] for color in palette))
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # each without a filter

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # a byte a pixel, of a palette
    parts = (b"IHDR", header), (b"PLTE", colors), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def color_scale_svg() -> str:
    """Return the colours of `heat_map_svg` from 0 to 1, as an ``<svg>`` element as high as text."""
    steps = len(_VIRIDIS)
    rects = "".join(
        f'<rect x="{n}" width="1" height="1" fill="{_color(n / (steps - 1))}"/>' for n in range(steps)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="10" viewBox="0 0 {steps} 1" '
        f'preserveAspectRatio="none" shape-rendering="crispEdges">{rects}</svg>'
    )


def plane_of(values: NDArray[Any]) -> NDArray[Any]:
    """Return the means over all dimensions but the last two."""
    plane: NDArray[Any] = values.mean(axis=tuple(range(values.ndim - 2)))
    return plane


def shrink(values: NDArray[Any], most: int) -> tuple[NDArray[np.float64], tuple[int, ...]]:
    """Return means over blocks so that no dimension exceeds `most`, and the block's extents.

    Parameters
    ----------
    values : ndarray
        Any shape.
    most : int
        Largest extent of the result.
    """
    result = np.asarray(values, dtype=np.float64)
    blocks = []
    for dimension, extent in enumerate(result.shape):
        block = -(-extent // most)
        blocks.append(block)
        if block > 1:
            starts = np.arange(0, extent, block)
            sizes = np.minimum(extent - starts, block)
            shape = [1] * result.ndim
            shape[dimension] = len(sizes)
            result = np.add.reduceat(result, starts, axis=dimension) / sizes.reshape(shape)
    return result, tuple(blocks)


def _color(share: float) -> str:
    stops = np.linspace(0, 1, len(_VIRIDIS))
    red, green, blue = (round(float(np.interp(share, stops, channel))) for channel in _VIRIDIS.T)
    return f"#{red:02x}{green:02x}{blue:02x}"

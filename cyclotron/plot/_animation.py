"""The wavefronts of a run as a film."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.plot import _common as common
from cyclotron.plot._wavefront import Wavefronts
from cyclotron.support.errors import ExecutionError
from cyclotron.support.files import write_file

if TYPE_CHECKING:
    from PIL.Image import Image

_DPI = 100
_COLORS = 64  # of a picture: the operators', and their edges


def animation(
    result: common.ResultLike, path: str | Path, *, frames: int = 120, frames_per_second: int = 10
) -> None:
    """Write the wavefronts over a run as a film, a GIF or a web page that needs no server and no network.

    Parameters
    ----------
    result : Result
        Of a simulation that kept all events, on a grid of one or two dimensions.
    path : str or Path
        File to write, ``*.gif`` or ``*.html``.
    frames : int
        Most pictures; of a run with more cycles, these are spread evenly from the first to the last.
    frames_per_second : int
        Speed of the film, pictures a second.

    Raises
    ------
    ExecutionError
        If the suffix is another, there is nothing to show, or events are missing.
    ShapeError
        If the grid has more than two dimensions.
    BackendUnavailable
        If matplotlib is not installed.
    """
    writers = {".gif": _write_gif, ".html": _write_page}
    suffix = Path(path).suffix.lower()
    if suffix not in writers:
        raise ExecutionError(
            f"an animation cannot be written to `{Path(path).name}`",
            code="CYC735",
            help=f"name a file with one of: {', '.join(writers)}",
        )
    if min(frames, frames_per_second, result.cycles) <= 0:
        raise ExecutionError(
            f"there are {frames} frames, {frames_per_second} a second, to show of {result.cycles} cycles",
            code="CYC735",
            help="ask for one frame or more, of a run that takes time",
        )
    cycles = np.unique(np.linspace(0, result.cycles - 1, min(frames, result.cycles)).astype(np.int64))
    writers[suffix](Path(path), _film(result, cycles), frames_per_second, common.headline(result))


def _film(result: common.ResultLike, cycles: NDArray[np.int64]) -> Iterator[Image]:
    """One picture a cycle, all of the same size and layout."""
    picture = Wavefronts(result)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas: Any = FigureCanvasAgg(picture.figure)
    picture.figure.set_dpi(_DPI)
    picture.figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.1)
    # Laid out and drawn once, except for what changes from cycle to cycle.
    for artist in picture.changing:
        artist.set_animated(True)
    canvas.draw()
    still = canvas.copy_from_bbox(picture.figure.bbox)
    for cycle in cycles:
        picture.show(int(cycle))
        canvas.restore_region(still)
        for artist in picture.changing:
            artist.draw(canvas.renderer)
        pixels = np.asarray(canvas.buffer_rgba())
        yield Image.fromarray(pixels[..., :3].copy()).quantize(_COLORS)


def _write_gif(path: Path, film: Iterator[Image], frames_per_second: int, title: str) -> None:
    first, *rest = film
    buffer = io.BytesIO()
    first.save(
        buffer,
        format="GIF",
        save_all=True,
        append_images=rest,
        duration=round(1000 / frames_per_second),
        loop=0,
        comment=title,
    )
    write_file(path, buffer.getvalue())


def _write_page(path: Path, film: Iterator[Image], frames_per_second: int, title: str) -> None:
    pictures = []
    for picture in film:
        buffer = io.BytesIO()
        picture.save(buffer, format="PNG", optimize=True)
        pictures.append(base64.b64encode(buffer.getvalue()).decode())
    text = Template(common.file_text("animation.html")).substitute(
        title=escape(title), pictures=json.dumps(pictures), milliseconds=round(1000 / frames_per_second)
    )
    write_file(path, text)

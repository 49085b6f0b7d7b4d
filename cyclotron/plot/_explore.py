"""The interactive view of a run: a widget in notebooks, a page without a server or a network elsewhere."""

from __future__ import annotations

import base64
import functools
import html
from pathlib import Path
from string import Template
from typing import Any

from cyclotron.plot import _common as common
from cyclotron.plot._explore_data import data_of
from cyclotron.support.errors import BackendUnavailable
from cyclotron.support.files import write_file

_MOST_INLINE = 1_000_000  # bytes of a page that a notebook keeps beside the widget
_HEIGHT = 760  # pixels of a page in a notebook


class Exploration:
    """An interactive view of one run, or of two side by side; notebooks show it as other values.

    The array of PEs at a cycle, with a scrubber, and Play; a click on a PE shows its program, its line of the
    kernel and its memory; waits and the critical path are layers.

    Parameters
    ----------
    *results : Result
        One simulation or two.
    critical_path : bool, optional
        As for `Result.explore`.
    """

    def __init__(self, *results: common.ResultLike, critical_path: bool | None = None) -> None:
        self._results = results
        self._critical_path = critical_path
        for result in results:
            if not (result.cycles and common.pe_count(result)):
                raise common.undrawable(
                    f"there is nothing to explore: {common.headline(result)}, {result.cycles} cycles",
                    "take a run that takes time",
                )

    @functools.cached_property
    def _data(self) -> bytes:
        return data_of(self._results, self._critical_path)

    @functools.cached_property
    def widget(self) -> Any:
        """The widget: its ``cycle``, and ``selected``, the run and the linear index of a PE, may be set.

        Raises
        ------
        BackendUnavailable
            If anywidget is not installed.
        """
        return _widget_class()(data=self._data)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the view as a page of its own, and write it to `path` if one is given.

        The page has its data inside: it needs no server and no network.

        Parameters
        ----------
        path : str or Path, optional
            By habit ``*.html``; replaced only when the page is complete.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        page = Template(common.file_text("explore.html")).substitute(
            title=html.escape(", ".join(map(common.headline, self._results))),
            style=common.file_text("explore.css"),
            script=common.file_text("explore.js"),
            data=base64.b64encode(self._data).decode(),
        )
        if path is not None:
            write_file(Path(path), page)
        return page

    def __repr__(self) -> str:
        runs = ", ".join(f"{common.headline(r)}, {r.cycles:,} cycles" for r in self._results)
        return f"<view of {runs}: show it in a notebook, or .to_html(path)>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The widget, where there is one; and a page, for exported notebooks and where there is none."""
        bundle: dict[str, Any] = {"text/plain": repr(self)}
        try:
            shown = self.widget._repr_mimebundle_()
            bundle |= shown[0] if isinstance(shown, tuple) else shown  # with metadata, as of anywidget
        except BackendUnavailable as missing:
            bundle["text/html"] = f"<pre>{html.escape(str(missing))}</pre>"
        if len(self._data) < _MOST_INLINE:
            frame = (
                f'style="width: 100%; height: {_HEIGHT}px; border: 0" title="{html.escape(repr(self)[1:-1])}"'
            )
            bundle["text/html"] = f'<iframe {frame} srcdoc="{html.escape(self.to_html())}"></iframe>'
        return bundle


def explore(
    result: common.ResultLike, *others: common.ResultLike, critical_path: bool | None = None
) -> Exploration:
    """Return an interactive view of a run, or of two side by side.

    Of more than a million PEs, or two million things that they do, every second PE of each dimension is
    shown, or every third, and so on; the view says so.

    Parameters
    ----------
    result : Result
        Of a simulation; one that kept all events has cycles to scrub over.
    *others : Result
        To compare with.
    critical_path : bool, optional
        Follow the critical path, for a layer of it; by default of runs with up to 300,000 records.

    Returns
    -------
    Exploration
        A widget in notebooks, `to_html` elsewhere.

    Raises
    ------
    ShapeError
        If a run has no cycles or no PEs.
    ExecutionError
        If a critical path is asked for and events or messages are missing.
    """
    return Exploration(result, *others, critical_path=critical_path)


@functools.cache
def _widget_class() -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise BackendUnavailable(
            "the widget needs anywidget, which is not installed",
            code="CYC722",
            help="pip install 'cyclotron-compiler[notebook]', or write a page: explore().to_html(path)",
        ) from None

    class Explorer(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = common.file_text("explore.js")
        _css = common.file_text("explore.css")
        data = traitlets.Bytes().tag(sync=True)
        cycle = traitlets.Int(0).tag(sync=True)
        selected = traitlets.List(traitlets.Int()).tag(sync=True)

    return Explorer

"""The operators of a run and their colours, the same in every picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.plot._common import Axes
from cyclotron.support.svg import COLORS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.patches import Patch

IDLE = "#ececec"


def ranked(cycles: Mapping[str, float]) -> tuple[list[str], dict[str, int]]:
    """Number the operators by their colour, the busiest first.

    Parameters
    ----------
    cycles : mapping of str to float
        How long all PEs computed each operator.

    Returns
    -------
    labels : list of str
        For a legend, one a colour; where there are more operators than colours the last is ``3 others``.
    numbers : dict of str to int
        For each operator the number of its colour.
    """
    order = sorted(cycles, key=lambda name: (-cycles[name], name))
    own = len(order) if len(order) <= len(COLORS) else len(COLORS) - 1
    labels = order[:own]
    if own < len(order):
        labels.append(f"{len(order) - own} others")
    return labels, {name: min(number, own) for number, name in enumerate(order)}


def operators_of(events: NDArray[Any]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the labels of `ranked`, and for each event the number of its operator's colour.

    Parameters
    ----------
    events : ndarray
        As of `Result.events`.
    """
    found, positions = np.unique(events["operator"], return_inverse=True)
    positions = positions.reshape(-1)
    cycles = np.bincount(positions, weights=events["end"] - events["start"], minlength=len(found))
    labels, numbers = ranked(dict(zip(map(str, found), cycles.tolist(), strict=True)))
    return labels, np.array([numbers[str(name)] for name in found], dtype=np.intp)[positions]


def keys(labels: Iterable[str]) -> list[Patch]:
    """Return the entries of a legend for the labels of `ranked`."""
    from matplotlib.patches import Patch

    return [Patch(color=color, label=label) for label, color in zip(labels, COLORS, strict=False)]


def legend(ax: Axes, entries: Sequence[Artist]) -> None:
    """Put a legend to the right of the axes, where it covers neither data nor titles.

    Parameters
    ----------
    ax : Axes
        Beside which to put it.
    entries : sequence of Artist
        With a label each, from top to bottom.
    """
    ax.legend(
        handles=entries,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
        fontsize=8,
        handlelength=1,
        handleheight=1,
    )

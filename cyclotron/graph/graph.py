"""Graphs with all that can be done with them."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from cyclotron.graph.dot import to_dot
from cyclotron.graph.evaluate import evaluate
from cyclotron.graph.nodes import Block
from cyclotron.graph.png import to_png
from cyclotron.graph.svg import to_svg
from cyclotron.support.svg import inline_image

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_DRAWN = 300  # nodes; larger graphs are shown as text in notebooks


class Graph(Block):
    """The operations of a kernel, or of one iteration of a loop in it, in the order they run.

    Made by `Kernel.graph`; prints one node a line, and draws itself in notebooks.

    Attributes
    ----------
    name : str
        The kernel, or the loop.
    nodes : tuple of Node
        By number; those of loops have graphs of their own.
    outputs : tuple of str
        The addresses that the kernel returns.

    Examples
    --------
    >>> @cy.kernel
    ... def double(x):
    ...     return 2 * x
    >>> graph = double.graph(np.array([1.0, 2.0]))
    >>> graph.evaluate()["result"].tolist()
    [2.0, 4.0]
    """

    def evaluate(self, **inputs: Any) -> dict[str, NDArray[Any]]:
        """Run the graph in NumPy, one node after the other.

        It shares nothing with the compiler but the recording: an oracle for what is lowered from it.

        Parameters
        ----------
        **inputs : ndarray or Blocked
            By parameter, shaped and typed as those the graph was made from, which are used by default.

        Returns
        -------
        dict of str to ndarray
            The outputs by name.

        Raises
        ------
        ShapeError
            CYC710 if an input is missing, unknown, or has another shape or dtype.
        ExecutionError
            CYC719 if a `while` would go on after its most steps, CYC701 if an operator fails,
            CYC710 if this is the body of a loop.
        """
        return evaluate(self, inputs)

    def to_dot(self) -> str:
        """Return the graph in Graphviz's language; loops are clusters."""
        return to_dot(self)

    def to_svg(self) -> str:
        """Return a picture of the graph; loops are boxes around theirs."""
        return to_svg(self)

    def _repr_html_(self) -> str:
        if len(self) <= MOST_DRAWN:
            return inline_image(self.to_svg())
        return f"<pre>{html.escape(str(self))}</pre>"

    def _repr_png_(self) -> bytes | None:
        """The picture for readers of notebooks that show no HTML, where matplotlib can draw it."""
        return to_png(self) if len(self) <= MOST_DRAWN else None

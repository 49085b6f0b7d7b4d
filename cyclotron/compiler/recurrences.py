"""A system of recurrence equations, and what depends on what in it."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cyclotron import _core, compiler
from cyclotron.language import Kernel
from cyclotron.support.latex import aligned, to_latex, words
from cyclotron.support.tables import html_table

if TYPE_CHECKING:
    from cyclotron.compiler.dependences import Access, Dependences, ScheduleTree, SpaceLoop, Statement


class Recurrences:
    """A verified system of recurrence equations; prints one equation a line.

    Made by `Kernel.recurrences`; immutable.

    Attributes
    ----------
    core : _core.System
        The system of the C++ core.
    constants : dict of str to ndarray
        The arrays of the host that the kernel reads, as they were when it was recorded, by tensor; among the
        equations' inputs.
    changed : frozenset of str
        The arguments that the kernel changes in place.

    Examples
    --------
    >>> @cy.kernel
    ... def double(x):
    ...     return 2 * x
    >>> print(double.recurrences(np.ones(3)))
    recurrences double
      x : input float64[3]
      result : output float64[3]
      result[i] = 2 · x[i]    0 <= i <= 2
    <BLANKLINE>
    """

    def __init__(
        self,
        core: _core.System,
        constants: Mapping[str, NDArray[Any]] | None = None,
        changed: Iterable[str] = (),
    ) -> None:
        self.core = core
        self.constants = dict(constants or {})
        self.changed = frozenset(changed)

    def verify(self) -> None:
        """Prove again single assignment, cover and bounds.

        Raises
        ------
        LegalityError
            With a witness, if one does not hold.
        """
        self.core.verify()

    @property
    def indices(self) -> tuple[str, ...]:
        """Every index of the kernel, outermost first."""
        return tuple(_core.index_names(self.core))

    @functools.cached_property
    def _analysis(self) -> tuple[tuple[Statement, ...], Dependences]:
        return compiler.analyze(self.core)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements of the loop nest that spells the system.

        Recurrences assign each element once and have no order; tools for loop nests speak of statements. An
        equation ``C[i, j] = sum(A[i, k] * B[k, j] for k in ...)`` is the two statements of the usual nest::

            S0: C[i, j] = 0
            S1: C[i, j] += A[i, k] * B[k, j]

        An expression around the only sum is a third one, which overwrites the element: ``S2: X[i] = (B[i] -
        X[i]) / L[i, i]``. Sums side by side, and sums inside sums, have cells of their own, named after the
        target and the index. An equation without a sum is one statement.
        """
        return self._analysis[0]

    @property
    def dependences(self) -> Dependences:
        """The dependences between instances of `statements`; exact, for these shapes.

        Only those that the others do not imply are listed, as values travel in a systolic array:

        * ``flow``: from the instance that writes an element to the first ones that read it: those with no
          predecessor along a direction in which this access reads one element;
        * ``read``: from each instance that reads to the next along such a direction, for inputs and for
          computed tensors alike (the input dependences of other tools);
        * within a sum, flow, ``anti`` and ``output`` go from each term to the next, from the start to the
          first term, and from the last term to the statement that overwrites the element. Other elements
          are written once, after which nothing writes them: they have no anti and output dependences.

        The distance is target minus source in the indices that both statements have.
        """
        return self._analysis[1]

    @property
    def domains(self) -> dict[str, str]:
        """The iteration domain of each statement, in isl's notation."""
        return {statement.name: statement.domain for statement in self.statements}

    @property
    def accesses(self) -> dict[str, tuple[Access, ...]]:
        """The access relations of each statement; each prints in isl's notation."""
        return {statement.name: statement.accesses for statement in self.statements}

    @property
    def schedules(self) -> dict[str, str]:
        """The order of each statement's own instances, in isl's notation: that of the text.

        For an equation with a sum, ``S0`` comes before the ``S1`` of the same element, and these before
        ``S2``.
        """
        return {statement.name: statement.schedule for statement in self.statements}

    @functools.cached_property
    def schedule_tree(self) -> ScheduleTree:
        """A loop nest for `statements` as a schedule tree, and the code generated from it (AS-012).

        isl's scheduler makes the tree: it keeps all dependences but reads of inputs, brings the ends of each
        close together, and marks loops that carry none as coincident (they may be space loops). The
        compiler itself orders PE programs by the schedule's time, not by this tree.
        """
        return compiler.schedule_tree(self.core)

    @property
    def space_loops(self) -> tuple[SpaceLoop, ...]:
        """The indices that may be space loops of a systolic array, with the reasons of those that may not.

        AutoSA's conditions: every dependence that involves the index is uniform in it, of whatever kind; and
        flow and read dependences, which become messages, are at most 1 long in it. Anti and output
        dependences may be longer, since each PE has its own memory. What the compiler makes of an index is
        more exact (it may turn values at a diagonal, for instance): see `cyclotron.systolic_arrays`.
        """
        return compiler.space_loops(self.indices, self.dependences)

    def __str__(self) -> str:
        return str(self.core)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recurrences) and bool(self.core == other.core)

    __hash__ = None  # type: ignore[assignment]

    def _lines(self) -> tuple[str, list[tuple[str, str]], list[tuple[str, str]]]:
        """The title; tensors with their types; equations with their domains."""
        title, *lines = str(self.core).rstrip("\n").split("\n")
        tensors = [line.strip().split(" : ", 1) for line in lines if " : " in line and " = " not in line]
        equations = [line.strip().rsplit("    ", 1) for line in lines if " = " in line]
        return title, [(a, b) for a, b in tensors], [(a, b) for a, b in equations]

    def _repr_html_(self) -> str:
        title, tensors, equations = self._lines()
        return (
            f"<b>{html.escape(title)}</b>"
            + html_table(("tensor", "type"), tensors)
            + html_table(("equation", "where"), equations)
        )

    def _repr_latex_(self) -> str:
        _, _, equations = self._lines()
        rows = []
        for equation, domain in equations:
            left, right = equation.split(" = ", 1)
            where = "" if domain == "true" else rf"\quad {to_latex(domain)}"
            rows.append((to_latex(left), rf"= \displaystyle {to_latex(right)}", where))
        return aligned(rows or [(words("no equations"), "", "")])


def recurrences_of(kernel: Kernel, values: tuple[Any, ...]) -> Recurrences:
    """Return the verified recurrences of a kernel; see `cyclotron.Kernel.recurrences`.

    Parameters
    ----------
    kernel : Kernel
    values : tuple
        From `Kernel.bind`.
    """
    system, trace = kernel.verified(*values)
    constants = {t.unique_name: t.values for t in trace.tensors if t.values is not None}
    constants |= {name: np.ones(shape, bool) for name, shape in system.fill_tiles().items()}
    return Recurrences(system, constants, (t.name for t in trace.tensors if t.is_input and t.assigned))

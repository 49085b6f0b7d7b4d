"""All systolic arrays of a kernel: every choice of one or two space loops that the compiler proves legal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from cyclotron.compiler.explain import Explanation
from cyclotron.compiler.program import Program
from cyclotron.kernel import Kernel, require_kernel
from cyclotron.machine.machine import Machine
from cyclotron.runtime.run import run
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.errors import CapacityError, LegalityError, ScheduleError
from cyclotron.support.exports import Exported, Record
from cyclotron.support.tables import Row, html_table, text_table


@dataclass(frozen=True)
class SystolicArray:
    """One legal array.

    Attributes
    ----------
    schedule : Schedule
        Complete: with every index in space or time.
    program : Program
        What it compiled to.
    cycles : int or None
        Simulated clock cycles, where they were asked for.
    """

    schedule: Schedule
    program: Program
    cycles: int | None = None

    @property
    def pe_count(self) -> int:
        """PEs of the array."""
        return sum(item.pe_count for item in self.program.classes)

    @property
    def stationary(self) -> tuple[str, ...]:
        """Tensors whose elements stay in one PE."""
        return Explanation(self.program).stationary


class SystolicArrays(Exported, Sequence[Schedule]):
    """The schedules of all legal arrays; prints as a table.

    Attributes
    ----------
    arrays : tuple of SystolicArray
        Each schedule with its program.
    rejected : dict of tuple of str to str
        The choices of space loops that are not legal, each with the reason.

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> arrays = cy.systolic_arrays(matmul, np.ones((4, 4)), np.ones((4, 4)))
    >>> float(cy.run(matmul.compile(np.eye(4), np.eye(4), schedule=arrays[0])).output.trace())
    4.0
    """

    def __init__(self, arrays: Sequence[SystolicArray], rejected: dict[tuple[str, ...], str]) -> None:
        self.arrays = tuple(arrays)
        self.rejected = rejected

    @overload
    def __getitem__(self, index: int) -> Schedule: ...
    @overload
    def __getitem__(self, index: slice) -> list[Schedule]: ...
    def __getitem__(self, index: int | slice) -> Schedule | list[Schedule]:
        if isinstance(index, slice):
            return [array.schedule for array in self.arrays[index]]
        return self.arrays[index].schedule

    def __len__(self) -> int:
        return len(self.arrays)

    @property
    def records(self) -> list[Record]:
        """A dict each: ``space``, ``time``, ``pes``, ``grid``, ``stationary``, ``cycles``, ``schedule``."""
        return [
            {
                "space": ", ".join(array.schedule.space_indices),
                "time": ", ".join(array.schedule.time_indices),
                "pes": array.pe_count,
                "grid": tuple(array.program.grid),
                "stationary": ", ".join(array.stationary),
                "cycles": array.cycles,
                "schedule": repr(array.schedule),  # the code that makes it
            }
            for array in self.arrays
        ]

    def _table(self) -> tuple[Row, list[Row]]:
        simulated = ["cycles"] if any(array.cycles is not None for array in self.arrays) else []
        shown = ["space", "time", "pes", "stationary", *simulated]
        rows = self.records
        for row in rows:
            row["pes"] = f"{row['pes']} ({'×'.join(map(str, row['grid']))})"
        cells = [[str(number), *(str(row[name]) or "-" for name in shown)] for number, row in enumerate(rows)]
        return ("array", *(name.replace("pes", "PEs") for name in shown)), [*cells]

    def _refusals(self) -> Iterator[tuple[str, str]]:
        for space, reason in self.rejected.items():
            yield ", ".join(space), reason

    def __str__(self) -> str:
        text = text_table(*self._table())
        lines = [f"not legal: space {space}: {reason}" for space, reason in self._refusals()]
        return "\n".join([text, *([""] if lines else []), *lines])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = html_table(*self._table(), "Systolic arrays")
        refusals = list(self._refusals())
        return tables + (html_table(("space", "not legal, because"), refusals) if refusals else "")


def systolic_arrays(
    kernel: Kernel[..., Any],
    *args: Any,
    machine: Machine | None = None,
    simulate: bool = False,
    **kwargs: Any,
) -> SystolicArrays:
    """Return every one- and two-dimensional systolic array of a kernel.

    Each choice of one or two indices as space, the others time in the order of the text, is compiled: what is
    listed is proven legal, with messages between neighbours only. Exchanging the two space loops transposes
    an array and makes no new one.

    Parameters
    ----------
    kernel : Kernel
        What to map.
    *args : ndarray, Blocked or Spec
        One for each parameter; only shapes, dtypes and tiles matter.
    machine : Machine, optional
        By default one that is large enough.
    simulate : bool
        Whether to run each on the simulator, for its cycles.
    **kwargs : ndarray, Blocked or Spec
        As `*args`, by name.

    Returns
    -------
    SystolicArrays
        A sequence of schedules; a product of matrices has six.

    Raises
    ------
    TraceError
        If it is no kernel, or its arguments cannot be traced (CYC116).

    Examples
    --------
    >>> @cy.kernel
    ... def matmul(A, B):
    ...     return A @ B
    >>> len(cy.systolic_arrays(matmul, np.ones((4, 4)), np.ones((4, 4))))
    6
    """
    require_kernel(kernel, "systolic_arrays()")
    indices = kernel.recurrences(*args, **kwargs).indices
    arrays: list[SystolicArray] = []
    rejected: dict[tuple[str, ...], str] = {}
    for space in itertools.chain.from_iterable(itertools.combinations(indices, n) for n in (1, 2)):
        try:
            program = kernel.compile(*args, schedule=Schedule().space(*space), machine=machine, **kwargs)
        except (LegalityError, ScheduleError, CapacityError) as error:
            rejected[space] = error.message
            continue
        assert program.schedule is not None
        cycles = run(program, backend="sim", functional=False).cycles if simulate else None
        arrays.append(SystolicArray(program.schedule, program, cycles))
    return SystolicArrays(arrays, rejected)

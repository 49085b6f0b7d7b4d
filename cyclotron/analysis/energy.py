"""The energy of a run: of what the simulator counted, by what the machine says that each costs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.support.errors import NotMeasuredError
from cyclotron.support.tables import Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from cyclotron import _core
    from cyclotron.analysis.events import HasEvents
    from cyclotron.machine.energy import Energy

_HEADER = ("level", "by", "of", "picojoules", "share")
_PRODUCTS = {
    "multiply_add": ("multiply", "add"),
    "multiply_subtract": ("multiply", "subtract"),
    **{
        f"{name}{end}": ("multiply", "add")
        for name in ("matmul", "syrk")
        for end in ("", "_add", "_subtract")
    },
    "correlate_add": ("multiply", "add"),
    "solve_triangular": ("multiply", "subtract"),
    "inv_triangular": ("multiply", "subtract"),
    "cholesky": ("multiply", "subtract"),
    "lu": ("multiply", "subtract"),
    "ldl": ("multiply", "subtract"),
}
"""Operators whose operations are as many of one kind as of the other."""
_SAME = {"subtract": "add", "negative": "add", "row_sum": "add", "column_sum": "add"}
_SAME |= dict.fromkeys(("minimum", "first_maximum", "first_minimum"), "maximum")
_SAME |= dict.fromkeys(("row_max", "row_min", "column_max", "column_min"), "maximum")
_SAME |= dict.fromkeys(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), "subtract")
"""Operators that cost what another one does, unless the machine has them by their own name."""


@dataclasses.dataclass(frozen=True, eq=False)
class EnergyPart:
    """One reason for which energy is used.

    Attributes
    ----------
    level : str
        ``operations``, ``registers``, ``sram`` (the PEs' memory), ``links``, a memory's name, ``leakage``.
    by : str
        The operator, or the instruction that moves words.
    of : str
        The tensor or the value that is computed or moved.
    counts : ndarray of int64
        Of each PE: operations, bytes, bytes times hops, or cycles.
    picojoules : Fraction
        Of one of these.
    """

    level: str
    by: str
    of: str
    counts: NDArray[np.int64]
    picojoules: Fraction

    @property
    def total(self) -> Fraction:
        """Its energy in picojoules, all PEs together, exactly."""
        return sum(map(int, self.counts.ravel()), 0) * self.picojoules


class EnergyAccount(Table):
    """The energy of a run in picojoules; the sums by PE, operator, tensor and level are the total.

    Everything is summed exactly and rounded once. It prints as a table of its parts, the largest first.

    Attributes
    ----------
    parts : tuple of EnergyPart
        What the total is the sum of.
    total : float
        In picojoules.
    """

    _what = "energy of "

    def __init__(self, result: HasEvents, parts: tuple[EnergyPart, ...]) -> None:
        self.result = result
        self.parts = parts
        self.total = float(self._exact)

    @property
    def _exact(self) -> Fraction:
        return sum((part.total for part in self.parts), Fraction())

    @property
    def by_pe(self) -> NDArray[np.float64]:
        """Of each PE, float64 of shape ``grid``."""
        quantum = math.lcm(*(part.picojoules.denominator for part in self.parts))
        found = np.zeros(self.result.grid, dtype=object)
        for part in self.parts:
            found += part.counts.astype(object) * int(part.picojoules * quantum)
        exact = [float(Fraction(int(one), quantum)) for one in found.ravel()]
        return np.array(exact, dtype=np.float64).reshape(self.result.grid)

    @property
    def by_operator(self) -> dict[str, float]:
        """By operator; of words on their way by the instruction that moves them; and ``leakage``."""
        return self._by("by")

    @property
    def by_tensor(self) -> dict[str, float]:
        """By the tensor, or the value in the PEs, that is computed or moved; and ``leakage``."""
        return self._by("of")

    @property
    def by_level(self) -> dict[str, float]:
        """By level: operations, registers, sram, links, each memory, leakage."""
        return self._by("level")

    def _by(self, attribute: str) -> dict[str, float]:
        sums: dict[str, Fraction] = {}
        for part in self.parts:
            name = getattr(part, attribute)
            sums[name] = sums.get(name, Fraction()) + part.total
        return {name: float(one) for name, one in sums.items()}

    def _table(self) -> tuple[Row, list[list[str]]]:
        whole = self._exact or 1
        parts = sorted(self.parts, key=lambda part: -part.total)
        return _HEADER, [
            [p.level, p.by, p.of, f"{float(p.total):,.6g}", f"{float(p.total / whole):.1%}"] for p in parts
        ]

    @property
    def source(self) -> str:
        """The source of the energies, as the machine tells it."""
        machine = self.result.program.machine
        return machine.energy.source if machine is not None and machine.energy is not None else ""

    @property
    def caption(self) -> str:
        """The title of the table, in a line."""
        grid = "×".join(map(str, self.result.grid))
        text = f"{self.result.program.kernel_name} on {grid}: {self.total:,.6g} pJ"
        return f"{text}, by {self.source}" if self.source else text

    def plot(self, by: str = "level", *, ax: Axes | None = None, path: str | Path | None = None) -> Figure:
        """Draw bars by level, operator or tensor, or a map of the PEs; see `cyclotron.plot.energy`.

        Parameters
        ----------
        by : {"level", "operator", "tensor", "pe"}
            What a bar, or a cell, is.
        ax : matplotlib Axes, optional
        path : str or Path, optional

        Returns
        -------
        matplotlib Figure

        Raises
        ------
        ExecutionError
            CYC716 if `by` is none of these.
        BackendUnavailable
            If matplotlib is not installed.
        """
        from cyclotron.plot import energy

        return energy(self, by, ax=ax, path=path)


def energy_of(result: HasEvents, counters: _core.Counters) -> EnergyAccount:
    """Return what a run cost.

    Parameters
    ----------
    result : Result
        Of a simulation.
    counters : _core.Counters
        Of the simulation.

    Raises
    ------
    ExecutionError
        CYC712 if the machine has no energies, or none for something that the run did.
    """
    machine = result.program.machine
    if machine is None or machine.energy is None:
        raise NotMeasuredError(
            "the machine has no energies, so that cycles are no picojoules",
            code="CYC712",
            help="give them, e.g. `program.with_machine(dataclasses.replace(machine,"
            " energy=cy.energies.horowitz_45nm()))`, or your own cy.Energy(...)",
        )
    accountant = _Accountant(result, counters, machine.energy)
    parts = [*accountant.of_amounts(), *accountant.of_links(), accountant.leakage()]
    counts: dict[tuple[str, str, str, Fraction], NDArray[np.int64]] = {}
    for part in parts:  # classes of PEs have each their own
        key = (part.level, part.by, part.of, part.picojoules)
        counts[key] = counts.get(key, 0) + part.counts
    merged = (EnergyPart(level, by, of, own, price) for (level, by, of, price), own in counts.items())
    return EnergyAccount(result, tuple(part for part in merged if part.counts.any() and part.picojoules))


class _Accountant:
    """Prices what a run did."""

    def __init__(self, result: HasEvents, counters: _core.Counters, energy: Energy) -> None:
        self.result = result
        self.counters = counters
        self.energy = energy
        self.slots = [list(one.slots) for one in result.program.core.classes]
        self.tensors = result.program.core.tensors

    def of_amounts(self) -> Iterator[EnergyPart]:
        for one in self.counters.amounts():
            counts = np.asarray(one["amount"]).reshape(self.result.grid)
            if one["kind"] in ("loaded", "stored"):
                yield from self._of_memories(one, self.tensors[one["of"]], counts)
                continue
            slot = self.slots[one["class"]][one["of"]]
            if one["kind"] == "operations":
                price = self._of_operation(one["by"], one["dtype"], slot["dtype"])
                yield EnergyPart("operations", one["by"], slot["name"], counts, price)
                continue
            level = "sram" if slot["first_register"] is None else "registers"
            price = exact(
                self.energy.sram_picojoules_per_byte
                if level == "sram"
                else self.energy.register_picojoules_per_byte
            )
            yield EnergyPart(level, one["by"], slot["name"], counts * np.dtype(slot["dtype"]).itemsize, price)

    def _of_operation(self, op: str, dtype: str, sums: str) -> Fraction:
        """Of an operator on a dtype; of a product that of its factors, beside that of its sums."""
        if op in _PRODUCTS and op not in self.energy.operation_picojoules:
            multiply, add = _PRODUCTS[op]
            return (self._of_operation(multiply, dtype, sums) + self._of_operation(add, sums, sums)) / 2
        for name in (op, _SAME.get(op, op), _SAME.get(_SAME.get(op, op), op)):
            found = self.energy.operation_picojoules.get(name, {}).get(dtype)
            if found is not None:
                return exact(found)
        raise _unpriced(
            f"`{op}` of {dtype}", f'operation_picojoules={{"{_SAME.get(op, op)}": {{"{dtype}": ...}}}}'
        )

    def _of_memories(
        self, one: Mapping[str, Any], tensor: Mapping[str, Any], counts: NDArray[np.int64]
    ) -> Iterator[EnergyPart]:
        """Of each memory, the bytes of the PEs that it serves."""
        names = [port["memory"] for port in self.result.stats["memory_ports"]]
        served = self.result.stats["memory_port"]
        by = "load" if one["kind"] == "loaded" else "store"
        for memory in dict.fromkeys([*names, ""]):
            ports = [number for number, name in enumerate(names) if name == memory] if memory else [-1]
            own = np.where(np.isin(served, ports), counts, 0) * np.dtype(tensor["dtype"]).itemsize
            if not own.any():
                continue
            prices = self.energy.memory_picojoules_per_byte
            if memory not in prices and "default" not in prices:
                what = f"memory `{memory}`" if memory else "tensors outside of the PEs"
                raise _unpriced(what, f'memory_picojoules_per_byte={{"{memory or "default"}": ...}}')
            price = exact(prices.get(memory, prices.get("default", 0.0)))
            yield EnergyPart(memory or "outside", by, tensor["name"], own, price)

    def of_links(self) -> Iterator[EnergyPart]:
        """Of what each PE receives, by the hops that it came."""
        machine = self.result.program.machine
        for number, channel in enumerate(self.result.program.channels):
            words = self.counters.words_received(number).reshape(self.result.grid)
            steps = sum(map(abs, channel["offset"])) if channel["kind"] == "link" else 1
            plain = all(one == 1 for one in channel["scale"]) and not (machine and machine.link_maps)
            hops = max(steps, 1) if plain else 1
            counts = words * (hops * np.dtype(channel["dtype"]).itemsize)
            name = str(channel["name"])
            yield EnergyPart("links", "hop", name, counts, exact(self.energy.hop_picojoules_per_byte))

    def leakage(self) -> EnergyPart:
        """Of the PEs that do something, as long as the run takes."""
        executed = sum(self.result.stats["instructions_by_kind"].values())
        counts = np.where(executed > 0, self.result.cycles, 0)
        return EnergyPart(
            "leakage", "leakage", "leakage", counts, exact(self.energy.leakage_picojoules_per_cycle)
        )


def exact(picojoules: float) -> Fraction:
    """The number that was written: 0.1 is a tenth.

    >>> exact(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(float(picojoules)))


def _unpriced(what: str, example: str) -> NotMeasuredError:
    return NotMeasuredError(
        f"the machine has no energy for {what}, which the run has",
        code="CYC712",
        help=f"add it to the machine's energies: `cy.Energy({example}, ...)`; 0 says that it is free",
    )

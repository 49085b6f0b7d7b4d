"""Networks: layers as kernels with their weights, compiled and simulated one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.compiler.program import Program
from cyclotron.kernel import Kernel
from cyclotron.language import Spec
from cyclotron.machine.machine import Machine
from cyclotron.runtime.result import Result
from cyclotron.runtime.run import run
from cyclotron.schedule.schedule import Schedule
from cyclotron.support.arguments import array_of, file_bytes
from cyclotron.support.errors import ScheduleError, ShapeError
from cyclotron.support.tables import Listing, Records, Row, cell

__all__ = ["Layer", "LayerRun", "NetworkRun", "NeuralNetwork"]

# Lines of Timeloop's summary; of sparse problems the first computes are all of them.
_STATED = r"^(?:Algorithmic )?(Cycles|Utilization|Total topology energy|Computes|MACCs)(?::| =) ([\d.]+)(%?)"


@dataclass(frozen=True)
class Layer:
    """A layer or problem of another tool: a kernel, and what it is compiled for.

    Attributes
    ----------
    name : str
        That of the other tool.
    kernel : Kernel
        Its loops and tensors are those that schedules name; ``print(layer.kernel.source)`` shows them.
    arguments : dict
        By the kernel's parameters: specs of the inputs, arrays of weights, and numbers.
    output_shape : tuple of int
        As the other tool has it.
    multiply_adds : int
        In all; 0 of what multiplies nothing.

    Examples
    --------
    >>> spaces = [{"name": "A", "projection": ["M", "K"]}, {"name": "B", "projection": ["K"]}]
    >>> spaces += [{"name": "Z", "projection": ["M"], "read_write": True}]
    >>> shape = {"name": "gemv", "dimensions": ["M", "K"], "data_spaces": spaces}
    >>> layer = cy.from_timeloop({"problem": {"shape": shape, "instance": {"M": 4, "K": 3}}})
    >>> layer.compile(schedule=cy.Schedule().space("M")).grid
    (4,)
    """

    name: str
    kernel: Kernel[..., Any]
    arguments: dict[str, Any] = field(repr=False)
    output_shape: tuple[int, ...]
    multiply_adds: int

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of the kernel's first input."""
        first: Spec = next(iter(self.arguments.values()))
        return first.shape

    @property
    def weights(self) -> dict[str, NDArray[Any]]:
        """The arrays among the arguments, which programs have as inputs."""
        return {name: value for name, value in self.arguments.items() if isinstance(value, np.ndarray)}

    def compile(self, *, schedule: Schedule | None = None, machine: Machine | None = None) -> Program:
        """Compile the layer; its weights are bound as default inputs.

        Parameters
        ----------
        schedule : Schedule, optional
        machine : Machine, optional
            See `Kernel.compile`.

        Returns
        -------
        Program
        """
        return self.kernel.compile(*self.arguments.values(), schedule=schedule, machine=machine)

    def beside(self, result: Result, path: str | Path) -> Records:
        """Return the measures of a run with those that Timeloop reported of the problem.

        Parameters
        ----------
        result : Result
            Of `compile`'s program, simulated.
        path : str or Path
            Timeloop's ``timeloop-model.stats.txt`` or ``timeloop-mapper.stats.txt``.

        Returns
        -------
        Records
            A dict a measure, cycles, utilization (0 to 1), and picojoules where the machine has energies;
            prints as a table.

        Raises
        ------
        ShapeError
            CYC742 if it cannot be read, has no summary, or is of another number of multiply-adds.
        """
        help = "give Timeloop's stats.txt of this problem"
        text = file_bytes(path, error=ShapeError, code="CYC742", help=help).decode(errors="replace")
        stated: dict[str, float] = {}
        for name, number, percent in re.findall(_STATED, text, re.MULTILINE):
            stated.setdefault(name, float(number) / (100 if percent else 1))
        work = stated.get("Computes", stated.get("MACCs"))
        if work != self.multiply_adds or "Cycles" not in stated:
            what = f"{int(work or 0) or 'no'} multiply-adds, and `{self.name}` has {self.multiply_adds}"
            raise unfit_input(f"`{path}` reports {what}", help)
        own = {"Cycles": result.cycles, "Utilization": float(result.utilization.mean())}
        if (machine := result.program.machine) is not None and machine.energy is not None:
            own["Total topology energy"] = result.energy.total
        return Records({"measure": name, "here": own[name], "Timeloop": stated.get(name)} for name in own)


@dataclass(frozen=True)
class LayerRun:
    """A layer with the program that it became and the result of its run."""

    layer: Layer
    program: Program = field(repr=False)
    result: Result = field(repr=False)


class NetworkRun(Listing[LayerRun]):
    """The layers of a network, run one after the other; prints as a table.

    Attributes
    ----------
    output : ndarray or None
        Of the network, in the shape of the other tool; None where only time was simulated.
    """

    def __init__(self, items: Iterable[LayerRun], output: NDArray[Any] | None = None) -> None:
        super().__init__(items)
        self.output = output

    @property
    def cycles(self) -> int:
        """Cycles of all layers, one after the other."""
        return sum(item.result.cycles for item in self)

    def _table(self) -> tuple[Row, list[Row]]:
        header = ("layer", "kernel", "grid", "multiply-adds", "cycles", "utilization")
        return header, [
            (
                item.layer.name,
                item.layer.kernel.name,
                cell(item.program.grid) or "one PE",
                str(item.layer.multiply_adds),
                str(item.result.cycles),
                f"{item.result.utilization.mean():.1%}",
            )
            for item in self
        ]

    @property
    def caption(self) -> str:
        """The cycles of all layers, in words."""
        return f"{self.cycles} cycles"


class NeuralNetwork(Listing[Layer]):
    """Layers one after the other; prints as a table. Calling it gives what the other tool computes.

    Attributes
    ----------
    input_shape, output_shape : tuple of int
        As the other tool has them.
    dtype : str
        Of the inputs.

    Examples
    --------
    >>> from torch import nn, ones
    >>> module = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    >>> network = cy.from_torch(module, (2, 4))
    >>> np.allclose(network(ones(2, 4)), module(ones(2, 4)).detach(), rtol=1e-5)
    True
    """

    def __init__(
        self, items: Iterable[Layer], input_shape: tuple[int, ...], output_shape: tuple[int, ...], dtype: str
    ) -> None:
        super().__init__(items)
        self.input_shape = input_shape
        self.output_shape = output_shape
        self.dtype = dtype

    def _of(self, items: Iterable[Layer]) -> NeuralNetwork:
        layers = tuple(items)
        if not layers:
            return NeuralNetwork((), (), (), self.dtype)
        return NeuralNetwork(layers, layers[0].input_shape, layers[-1].output_shape, self.dtype)

    def __call__(self, x: Any) -> NDArray[Any]:
        """Run the kernels on threads of this process.

        Parameters
        ----------
        x : array_like
            Of `input_shape` and `dtype`; tensors of other libraries too.

        Returns
        -------
        ndarray
        """
        value = self._checked(x)
        for layer in self:
            _, *rest = layer.arguments.values()
            value = layer.kernel(value.reshape(layer.input_shape), *rest)
        return value.reshape(self.output_shape)

    def run(
        self,
        x: Any = None,
        *,
        backend: str = "sim",
        schedules: Mapping[str, Schedule] | None = None,
        machine: Machine | None = None,
    ) -> NetworkRun:
        """Compile every layer and run them one after the other.

        Parameters
        ----------
        x : array_like, optional
            Of `input_shape` and `dtype`. Without it only time is simulated.
        backend : str
            See `cyclotron.run`.
        schedules : mapping of str to Schedule, optional
            By the name of a layer or, for all layers of it, of a kernel; others have the default.
        machine : Machine, optional
            By default one that is large enough for each layer.

        Returns
        -------
        NetworkRun

        Raises
        ------
        ShapeError
            If `x` has another shape.
        ScheduleError
            If there is neither a layer nor a kernel of a name in `schedules`.

        Examples
        --------
        >>> network.run(schedules={"linear": cy.Schedule().space("n", "o")}).cycles > 0
        True
        """
        schedules = dict(schedules or {})
        names = dict.fromkeys(name for layer in self for name in (layer.name, layer.kernel.name))
        for name in schedules:
            if name not in names:
                raise ScheduleError(
                    f"there is neither a layer nor a kernel `{name}`",
                    code="CYC742",
                    help=f"use one of: {', '.join(names)}",
                )
        value = None if x is None else self._checked(x)
        done = []
        for layer in self:
            schedule = schedules.get(layer.name, schedules.get(layer.kernel.name))
            program = layer.compile(schedule=schedule, machine=machine)
            if value is None:
                result = run(program, backend=backend, functional=False)
            else:
                inputs = value.reshape(layer.input_shape), *layer.weights.values()
                result = run(program, *inputs, backend=backend)
                value = result.output
            done.append(LayerRun(layer, program, result))
        return NetworkRun(done, None if value is None else value.reshape(self.output_shape))

    def _checked(self, x: Any) -> NDArray[Any]:
        value = array_of(x, "the input of the network", code="CYC742")
        if value.shape != self.input_shape:
            raise unfit_input(
                f"the input is {cell(value.shape)} and the network takes {cell(self.input_shape)}",
                "give another `input_shape` to from_torch, or reshape the input",
            )
        return value.astype(self.dtype, copy=False)

    def _table(self) -> tuple[Row, list[Row]]:
        header = ("layer", "kernel", "input", "output", "weights", "multiply-adds")
        return header, [
            (
                layer.name,
                layer.kernel.name,
                cell(layer.input_shape),
                cell(layer.output_shape),
                str(sum(weight.size for weight in layer.weights.values())),
                str(layer.multiply_adds),
            )
            for layer in self
        ]

    @property
    def caption(self) -> str:
        """The layers and the multiply-adds of all, in words."""
        return f"{len(self)} layers, {sum(layer.multiply_adds for layer in self)} multiply-adds"


def unfit_input(message: str, help: str) -> ShapeError:
    """Return the error of an input that a network does not take."""
    return ShapeError(message, code="CYC742", help=help)

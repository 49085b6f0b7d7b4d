"""The recording in progress, as values see it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from cyclotron.language.values.affine import Affine, Index, Region
from cyclotron.language.values.source_span import trace_error


class Recorder(Protocol):
    """The recording of a kernel as values see it; tensors and views are `Any` here, as they refer to it.

    Attributes
    ----------
    statements : sequence
        All assignments so far, in the order in which Python runs them.
    open_terms : int
        Number of reductions whose terms are being recorded: no array is made there.
    open_parts : int
        Number of those terms, and of values of conditional expressions: copies are expressions there.
    mixed : set of str
        The dtypes of operators' operands, where those differ and are no numbers of Python's.
    divided : set of tensors
        What numbers of Python's are computed of that divide others, or are divided, perhaps by 0.
    nonzero : set of tensors
        Scalars that loops carry which begin with a number of Python's that is not 0.
    settled : set
        Numbers of Python's that are taken for NumPy's, since an iteration makes them so.
    """

    open_terms: int
    open_parts: int
    mixed: set[str]
    divided: set[Any]
    nonzero: set[Any]
    settled: set[Any]

    @property
    def statements(self) -> Sequence[Any]: ...

    def indices(self) -> tuple[Index, ...]:
        """The indices of the open loops, outermost first."""

    def region(self) -> Region:
        """The points where the open loops and conditions all hold."""

    def taken(self) -> Region:
        """The points of `region` where the value that is recorded is taken."""

    def assuming(self, condition: Any) -> AbstractContextManager[None]:
        """While a value is recorded that is taken only where a condition holds."""

    def open_loop(self, index: Index, region: Region) -> None:
        """Open a loop or reduction; its index must not hide another one."""

    def close_loops(self, count: int) -> None:
        """Close the innermost loops."""

    def declare(
        self,
        name: str | None,
        scalars: tuple[int, ...],
        tile: tuple[int, ...] | None,
        dtype: str | None,
        fill: complex | None,
        *,
        anywhere: bool = False,
        variable: str = "",
    ) -> Any:
        """Add a tensor that the kernel computes; with `anywhere` in loops too, which assign all of it."""

    def add_constant(self, name: str, values: Any, tile: tuple[int, ...] | None) -> Any:
        """The tensor of an array of the host, as it is now."""

    def assign(self, target: Any, index: tuple[Affine, ...], value: object) -> None:
        """Record the assignment of an element."""

    def assign_view(self, target: Any, value: object) -> None:
        """Record `target[...] = value`."""

    def update_view(self, target: Any, op: str, value: object) -> None:
        """Record `target += value` and the like."""

    def accumulate_view(self, target: Any, value: object, **options: bool) -> None:
        """Record `target += il.term(value)`, or `-=` where `negative`."""

    def new_array(self, value: Any, name: str) -> Any:
        """A new tensor that holds an array."""

    def bind(self, names: Any, sources: Any, first: int, **options: Any) -> None:
        """Note that the statements since one give names what other arrays hold."""


@dataclass
class Reference:
    """The run of a kernel's plain Python body, with the dtypes of its inputs."""

    dtypes: list[str]


ACTIVE: ContextVar[Recorder | Reference | None] = ContextVar("cyclotron_active", default=None)


def recorder_or_none() -> Recorder | None:
    """Return the recording in progress, if there is one."""
    recorder = ACTIVE.get()
    return None if isinstance(recorder, Reference) else recorder


def active_recorder() -> Recorder:
    """Return the recording in progress; the intermediate language means nothing without one."""
    recorder = recorder_or_none()
    if recorder is None:
        raise trace_error(
            "CYC118",
            "the intermediate language is used outside a kernel",
            help="decorate the function with `@il.program` and compile it",
        )
    return recorder

"""Arrays of the host in kernels: NumPy's, until they meet what a kernel computes; then constants of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cyclotron.language.values.affine import Affine
from cyclotron.language.values.blocked import Blocked
from cyclotron.language.values.context import ACTIVE, active_recorder
from cyclotron.language.values.dispatch import IN_PLACE, Arithmetic, Term
from cyclotron.language.values.source_span import trace_error
from cyclotron.language.values.subscripts import keys_of
from cyclotron.support.errors import TraceError

_UNNAMED = "constant"
_PLAIN = (np.ndarray, np.memmap)  # matrices and masked arrays have other operators


class HostArray(np.ndarray):
    """An array of the host while a kernel is recorded.

    What the host computes with it is the host's; where an index of a loop subscripts it, an element of a
    constant is read.

    Attributes
    ----------
    label : str
        What the kernel calls it.
    depth : int
        How many loops and branches were open where it was made.
    """

    label: str
    depth: int

    def __array_finalize__(self, other: Any) -> None:
        is_view = self.base is not None
        self.label = getattr(other, "label", _UNNAMED) if is_view else _UNNAMED
        self.depth = getattr(other, "depth", _depth()) if is_view else _depth()

    def __array_wrap__(self, array: Any, *rest: Any) -> Any:
        result = super().__array_wrap__(array, *rest)
        if isinstance(result, HostArray):
            result.label = _UNNAMED  # what an operator makes is another array
        return result

    def __getitem__(self, key: Any) -> Any:
        return constant(self)[key] if _is_symbolic(key) else super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if _is_symbolic(key):
            raise assigned(self.label)
        self._check_change(value)
        super().__setitem__(key, value)

    def _check_change(self, value: Any = None) -> None:
        """Refuse changes by data, of what is not to be written, and in loops that are open."""
        if not self.flags.writeable:
            raise assigned(self.label)
        if isinstance(value, Arithmetic):
            raise _changed_by_data(self.label)
        if _depth() > self.depth:
            name = "w" if self.label == _UNNAMED else self.label
            raise trace_error(
                "CYC101",
                f"the array `{name}` of the host is changed in a loop or branch, which is recorded once",
                help=f"make it an array of the kernel where it is made: `{name} = cy.array(...)`",
            )


def _depth() -> int:
    """The number of loops, branches and conditional values that are being recorded."""
    recorder: Any = ACTIVE.get()
    scopes = getattr(recorder, "scopes", None)
    return 0 if scopes is None else len(scopes) + recorder.open_parts + len(recorder.assumed)


def _in_place(name: str) -> Callable[[HostArray, Any], Any]:
    """The method that changes an array by an operator, which those of others refuse."""

    def method(self: HostArray, other: Any) -> Any:
        other = other.value if isinstance(other, Term) else other
        self._check_change(other)
        return getattr(super(HostArray, self), name)(other)

    method.__name__ = method.__qualname__ = name
    return method


def _method(name: str) -> Callable[..., Any]:
    """A method that changes an array, which its name says."""

    def method(self: HostArray, *args: Any, **kwargs: Any) -> Any:
        self._check_change()
        return getattr(super(HostArray, self), name)(*args, **kwargs)

    return method


for _name in IN_PLACE.values():
    setattr(HostArray, _name, _in_place(_name))
for _name in ("sort", "fill", "put", "partition", "resize"):
    setattr(HostArray, _name, _method(_name))


def captured(value: Any, *, name: str) -> Any:
    """``il.captured(self.w, name="w")``: what a kernel reads of the objects around it, not to be assigned."""
    if type(value) is tuple:
        return tuple(captured(one, name=name) for one in value)
    if isinstance(value, Blocked):
        return _added(name, np.asarray(value.array), value.tile_shape)
    if not _is_array(value):
        return value
    array = labelled(value.view(), name)
    array.flags.writeable = False
    return array


def labelled(value: Any, name: str) -> Any:
    """An array that a kernel makes on the host, under its name there; other values as they are."""
    if isinstance(value, HostArray):
        if value.label == _UNNAMED:
            value.label = name
        return value
    if not _is_array(value):
        return value
    array = value.view(HostArray)
    array.label = name
    return array


def constant(value: Any) -> Any:
    """The tensor that an array of the host is, as it is now.

    Raises
    ------
    ShapeError
        CYC120 if it has another dtype than tensors.
    TraceError
        CYC107 for matrices and masked arrays, whose operators are others than those of arrays.
    """
    array = np.asanyarray(value)
    if not isinstance(array, HostArray) and type(array) not in _PLAIN:
        raise trace_error(
            "CYC107",
            f"a `{type(array).__name__}` of the host is an operand, whose operators are not those of arrays",
            help="make an array of it before, e.g. `w = np.asarray(m)`",
        )
    return _added(getattr(array, "label", _UNNAMED), np.asarray(array), None)


def _added(name: str, array: np.ndarray[Any, Any], tile_shape: tuple[int, ...] | None) -> Any:
    return active_recorder().add_constant(name, array, tile_shape)


def assigned(name: str) -> TraceError:
    """The error for a constant that a kernel changes."""
    return trace_error(
        "CYC106",
        f"`{name}` is an array of the host and cannot be assigned",
        help=f"programs keep it as it was when they were compiled: declare a result, e.g. `y = cy.empty_like("
        f"{name})`, and assign that; change `{name}` itself outside of kernels",
    )


def _changed_by_data(name: str) -> TraceError:
    """The error for an array that a kernel makes on the host and changes by what is known only later."""
    what, name = ("an array", "w") if name == _UNNAMED else (f"the array `{name}`", name)
    return trace_error(
        "CYC106",
        f"what a kernel computes is assigned to {what} of the host",
        help=f"make it an array of the kernel before: `y = cy.empty_like({name})` and `y[...] = {name}`; or"
        f" write a new one, e.g. `{name} = {name} + x`",
    )


def _is_array(value: Any) -> bool:
    return type(value) in _PLAIN and value.ndim > 0


def _is_symbolic(key: Any) -> bool:
    """Return whether a subscript speaks of indices of loops, or of data."""
    parts = (part for one in keys_of(key) for part in (_bounds(one) if isinstance(one, slice) else (one,)))
    return any(
        bool(part.terms) if isinstance(part, Affine) else isinstance(part, Arithmetic) for part in parts
    )


def _bounds(one: slice) -> tuple[Any, Any, Any]:
    return one.start, one.stop, one.step

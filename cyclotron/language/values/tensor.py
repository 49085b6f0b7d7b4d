"""Symbolic tensors: what arrays are while a kernel is traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from cyclotron.language.values import dispatch
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import (
    SymbolicArray,
    View,
    assign_element,
    assigned_by_cases,
    by_cases,
    check_scalars,
    combine,
    update_in_place,
)
from cyclotron.language.values.broadcasting import Shape
from cyclotron.language.values.dispatch import Array, in_place
from cyclotron.language.values.nodes import Access, Element, Tensor
from cyclotron.language.values.source_span import here, trace_error
from cyclotron.language.values.subscripts import (
    Pick,
    count,
    has_bounds_of_data,
    in_cases,
    is_place,
    keys_of,
    subscript_form,
)

_OF_ARRAYS = (slice, type(...), type(None), Array, np.ndarray, list)


@in_place(update_in_place)
class SymbolicTensor(Tensor, SymbolicArray):
    """An input of a kernel or a tensor declared in it; subscripts give elements.

    Attributes
    ----------
    is_number : bool
        Whether it holds what is a scalar in NumPy, so that operators in place make a new one.
    """

    is_number = False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.scalars)

    def __repr__(self) -> str:
        return f"<tensor {self.name} {self.dtype_name} {'x'.join(str(int(n)) for n in self.shape)}>"

    def whole(self) -> View:
        """All elements."""
        picks = [Pick(Affine({}, 0), 1, axis) for axis in range(self.ndim)]
        return View(self, picks, tuple(int(n) for n in self.shape), here())

    def read_tensors(self) -> tuple[SymbolicTensor, ...]:
        return (self,)

    def at(self, index: Sequence[Affine]) -> Access:
        return self.read(index, here())

    def __getitem__(self, key: object) -> Any:
        cases = in_cases(key)
        if cases:
            return by_cases(self, cases)
        if self._names_an_element(key):
            return self.read(self.subscripts(key), here())
        check_scalars(self)
        return dispatch.call("read_by_bounds", self, key) if has_bounds_of_data(key) else self.whole()[key]

    def __setitem__(self, key: object, value: object) -> None:
        if assigned_by_cases(self, key, value):
            return
        if self._names_an_element(key):
            if self.fixed:
                self.whole().check_writable()
            assign_element(self, self.subscripts(key), value)
        else:
            check_scalars(self)
            self.whole()[key] = value

    def _names_an_element(self, key: object) -> bool:
        """Return whether subscripts give one element, or are wrong for it."""
        keys = keys_of(key)
        if any(isinstance(one, _OF_ARRAYS) or is_place(one) for one in keys):
            return False
        return self.blocked or len(keys) >= self.ndim

    def subscripts(self, key: object) -> tuple[Affine, ...]:
        """Check subscripts and return them as affine forms; negative numbers count from the end."""
        keys = keys_of(key)
        if len(keys) != self.ndim:
            raise trace_error(
                "CYC108",
                f"`{self.name}` has {count(self.ndim, 'axis', 'axes')} but"
                f" {count(len(keys), 'subscript', 'subscripts')}",
                help=f"give one subscript per axis, e.g. `{self.example()}`",
            )
        return tuple(subscript_form(self.name, one, int(n)) for one, n in zip(keys, self.shape, strict=True))

    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        """The tensor read with its axes in reverse."""
        if not self.blocked:
            return self.transpose()
        if self.ndim > 2:
            check_scalars(self)
        return TransposedTensor(self)

    def taken(self, picks: Sequence[Pick], shape: Shape, fixed: str = "") -> View:
        return self.whole().taken(picks, shape, fixed)

    def accumulated(self, value: object, *, negative: bool, is_loop: bool = False) -> SymbolicTensor:
        """Add a value to all elements in place, or subtract it; `is_loop`: the sum of what a loop adds."""
        check_scalars(self)
        if self.is_number:
            return self._in_place("subtract" if negative else "add", value)
        self.whole().accumulated(value, negative=negative, is_loop=is_loop)
        return self

    def _in_place(self, op: str, value: object) -> SymbolicTensor:
        check_scalars(self)
        if self.is_number:
            result: SymbolicTensor = self.owner.new_array(combine(op, (self, value)), self.name)
            result.is_number = True
            return result
        self.whole()._in_place(op, value)
        return self


class TransposedTensor:
    """`A.T` of a tensor of tiles with one or two axes: its tiles, transposed."""

    def __init__(self, tensor: SymbolicTensor) -> None:
        self._tensor = tensor

    @property
    def T(self) -> SymbolicTensor:  # noqa: N802 (NumPy's name)
        """The tensor itself."""
        return self._tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self._tensor.shape[::-1]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, key: object) -> Element:
        keys = key[::-1] if isinstance(key, tuple) else key
        access: Element = self._tensor[keys]
        return access.T if self._tensor.ndim == 2 else access

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tensor, name)

    def _whole(self, *_: object, **__: object) -> NoReturn:
        check_scalars(self._tensor)
        raise AssertionError("only tensors of tiles have this type")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _whole
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __abs__ = __bool__ = _whole
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __iter__ = __setitem__ = _whole
    __array_ufunc__ = __array_function__ = __array__ = _whole
    __hash__ = object.__hash__

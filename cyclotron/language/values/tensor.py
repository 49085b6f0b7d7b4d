"""Symbolic tensors: what arrays are while a kernel is traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cyclotron.errors import Span, TraceError
from cyclotron.language.arrays.blocked import Extent, extents
from cyclotron.language.arrays.subscripts import Pick, count, position
from cyclotron.language.arrays.whole import View, Whole, check_scalars
from cyclotron.language.expressions.affine import Affine
from cyclotron.language.expressions.arithmetic import Array
from cyclotron.language.expressions.elements import Access, Element
from cyclotron.language.expressions.position import here

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cyclotron.language.recording.trace import Trace

_OF_ARRAYS = (slice, Array, np.ndarray, list)


class SymbolicTensor(Whole):
    """An input of a kernel or a tensor declared in it; subscripts give elements.

    Parameters
    ----------
    trace : Trace
        The recording that the tensor belongs to.
    name : str
        The name in the kernel.
    dtype : str
        NumPy's name of the dtype.
    scalars : tuple of int
        Scalars along each axis.
    tile : tuple of int or None
        Scalars per tile along each axis; None where elements are scalars.
    is_input : bool
        Whether it is an argument.
    fill : complex or None
        The value of elements without equation; None where all need one.
    span : Span
        The declaration.
    """

    def __init__(
        self,
        trace: Trace,
        name: str,
        dtype: str,
        scalars: tuple[int, ...],
        tile: tuple[int, ...] | None,
        *,
        is_input: bool,
        fill: complex | None,
        span: Span,
    ) -> None:
        self.owner = trace
        self.name = name
        self.dtype_name = dtype
        self.scalars = scalars
        self.tile = tile
        self.is_input = is_input
        self.initial = fill
        self.span = span
        self.origin = (0,) * len(scalars)  # where element 0 lies among the indices of whole-array statements
        self.complete = False  # whether its first statement assigns all elements
        self.assigned = 0  # the number of the last statement that assigns it, from 1
        self.values: NDArray[Any] | None = None  # of an array of the host, when it was read

    @property
    def blocked(self) -> bool:
        """Whether elements are tiles."""
        return self.tile is not None

    @property
    def shape(self) -> tuple[Extent, ...]:
        """Elements along each axis."""
        return extents(self.scalars, self.tile)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.scalars)

    def example(self) -> str:
        """An access as one would write it, for messages."""
        return f"{self.name}[{', '.join('ijkl'[: self.ndim]) if self.ndim <= 4 else '...'}]"

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

    def read(self, index: Sequence[Affine], span: Span) -> Access:
        """An element as the kernel reads it now."""
        return Access(self, tuple(index), span, len(self.owner.statements), len(self.owner.indices()))

    def __getitem__(self, key: object) -> Any:
        if self._names_an_element(key):
            return self.read(self.subscripts(key), here())
        from cyclotron.language.arrays.dynamic_slices import has_bounds_of_data, read_by_bounds

        check_scalars(self)
        return read_by_bounds(self, key) if has_bounds_of_data(key) else self.whole()[key]

    def __setitem__(self, key: object, value: object) -> None:
        if self._names_an_element(key):
            self.owner.assign(self, self.subscripts(key), value)
        else:
            check_scalars(self)
            self.whole()[key] = value

    def _names_an_element(self, key: object) -> bool:
        """Whether subscripts give one element, or are wrong for it."""
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(one, _OF_ARRAYS) or one is Ellipsis or one is None for one in keys):
            return False
        return self.blocked or len(keys) >= self.ndim

    def subscripts(self, key: object) -> tuple[Affine, ...]:
        """Check subscripts and return them as affine forms; negative numbers count from the end."""
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) != self.ndim:
            raise TraceError(
                f"`{self.name}` has {count(self.ndim, 'axis', 'axes')} but"
                f" {count(len(keys), 'subscript', 'subscripts')}",
                code="CYC108",
                span=here(),
                help=f"give one subscript per axis, e.g. `{self.example()}`",
            )
        return tuple(position(self.name, one, int(n)) for one, n in zip(keys, self.shape, strict=True))

    @property
    def T(self) -> Any:  # noqa: N802 (NumPy's name)
        """The tensor read with its axes in reverse."""
        if not self.blocked:
            return self.transpose()
        if self.ndim > 2:
            check_scalars(self)
        return TransposedTensor(self)

    def _permuted(self, order: tuple[int, ...]) -> Whole:
        return self.whole()._permuted(order)

    def grown(self, value: object, *, negative: bool) -> SymbolicTensor:
        """Add a value to all elements in place, or subtract it."""
        check_scalars(self)
        self.whole().grown(value, negative=negative)
        return self

    def _in_place(self, op: str, value: object) -> SymbolicTensor:
        check_scalars(self)
        self.whole()._in_place(op, value)
        return self

    def __imatmul__(self, other: object) -> SymbolicTensor:
        check_scalars(self)
        self.whole().__imatmul__(other)
        return self

    __iadd__, __isub__ = View.__iadd__, View.__isub__
    __imul__, __itruediv__, __ifloordiv__ = View.__imul__, View.__itruediv__, View.__ifloordiv__
    __imod__, __ipow__ = View.__imod__, View.__ipow__
    __iand__, __ior__, __ixor__ = View.__iand__, View.__ior__, View.__ixor__


class TransposedTensor:
    """`A.T` of a tensor of tiles with one or two axes: its tiles, transposed."""

    def __init__(self, tensor: SymbolicTensor) -> None:
        self._tensor = tensor

    @property
    def T(self) -> SymbolicTensor:  # noqa: N802 (NumPy's name)
        """The tensor itself."""
        return self._tensor

    @property
    def shape(self) -> tuple[Extent, ...]:
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

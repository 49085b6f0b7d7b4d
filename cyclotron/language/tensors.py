"""Symbolic tensors: what arrays are while a kernel is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cyclotron.errors import Span, TraceError
from cyclotron.language.affine import Affine, Extremum, affine
from cyclotron.language.blocked import Extent, extents
from cyclotron.language.elements import Access, Element
from cyclotron.language.position import here
from cyclotron.language.rounding import Remainder, not_affine

if TYPE_CHECKING:
    from cyclotron.language.trace import Trace


class SymbolicTensor:
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
        self.trace = trace
        self.name = name
        self.dtype_name = dtype
        self.scalars = scalars
        self.tile = tile
        self.is_input = is_input
        self.fill = fill
        self.span = span

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

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        return np.dtype(self.dtype_name)

    def __len__(self) -> int:
        return int(self.shape[0])

    def example(self) -> str:
        """An access as one would write it, for messages."""
        return f"{self.name}[{', '.join('ijkl'[: self.ndim]) if self.ndim <= 4 else '...'}]"

    def __repr__(self) -> str:
        return f"<tensor {self.name} {self.dtype_name} {'x'.join(str(int(n)) for n in self.shape)}>"

    def __getitem__(self, key: object) -> Access:
        return Access(self, self.subscripts(key), here())

    def __setitem__(self, key: object, value: object) -> None:
        self.trace.assign(self, self.subscripts(key), value)

    def subscripts(self, key: object) -> tuple[Affine, ...]:
        """Check subscripts and return them as affine forms; negative numbers count from the end."""
        keys = key if isinstance(key, tuple) else (key,)
        for one in keys:
            if isinstance(one, slice) or one is Ellipsis or one is None:
                raise TraceError(
                    f"`{self.name}` is subscripted with a slice",
                    code="CYC107",
                    span=here(),
                    help="write loops over its elements, e.g. `for i in range(n): ...`;"
                    " whole-array statements are not supported yet",
                )
        if len(keys) != self.ndim:
            raise TraceError(
                f"`{self.name}` has {_count(self.ndim, 'axis', 'axes')} but {_count(len(keys), 'subscript')}",
                code="CYC108",
                span=here(),
                help=f"give one subscript per axis, e.g. `{self.example()}`",
            )
        return tuple(self._subscript(one, int(n)) for one, n in zip(keys, self.shape, strict=True))

    def _subscript(self, key: object, extent: int) -> Affine:
        if isinstance(key, Remainder):
            raise not_affine(key)
        form = None if isinstance(key, (Element, bool)) else affine(key)
        if form is None:
            what = (
                "the data of a tensor"
                if isinstance(key, Element)
                else f"a value of type `{type(key).__name__}`"
            )
            if isinstance(key, Extremum):
                what = f"`{key}`"
            raise TraceError(
                f"`{self.name}` is subscripted with {what}, which is not affine",
                code="CYC103",
                span=here(),
                help="an index expression is a sum of integer multiples of indices, e.g. `2 * i - j + 1`",
            )
        if not isinstance(key, Affine) and form.constant < 0:
            return Affine({}, form.constant + extent)
        return form

    def _whole(self, *_: object, **__: object) -> NoReturn:
        raise TraceError(
            f"`{self.name}` is used as a whole array",
            code="CYC107",
            span=here(),
            help=f"write loops over its elements, e.g. `{self.example()}`; whole-array statements are not"
            " supported yet",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _whole
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __abs__ = __bool__ = _whole
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __iter__ = __float__ = __array__ = _whole
    __array_ufunc__ = __array_function__ = _whole
    __hash__ = object.__hash__

    @property
    def T(self) -> TransposedTensor:  # noqa: N802 (NumPy's name)
        """The tensor read with its axes exchanged."""
        if self.ndim > 2:
            self._whole()
        return TransposedTensor(self)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise TraceError(
            f"`{self.name}.{name}` is not known while a kernel is traced",
            code="CYC107",
            span=here(),
            help="tensors have .shape, .ndim, .size and .dtype; whole-array methods are not supported yet",
        )


class TransposedTensor:
    """`A.T` of a tensor with one or two axes: its elements, transposed."""

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
        access = self._tensor[keys]
        return access.T if self._tensor.ndim == 2 else access

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tensor, name)

    def _whole(self, *_: object, **__: object) -> NoReturn:
        self._tensor._whole()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _whole
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __abs__ = __bool__ = _whole
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __iter__ = __setitem__ = _whole
    __array_ufunc__ = __array_function__ = __array__ = _whole
    __hash__ = object.__hash__


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"

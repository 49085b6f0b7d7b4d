"""Python's operators on what a kernel computes with: elements of tensors, and whole arrays."""

from __future__ import annotations

from typing import Any


class Arithmetic:
    """The operators of elements and arrays, each an operator of the registry by name."""

    __hash__ = object.__hash__

    def operate(self, op: str, *values: object) -> Any:
        """Apply an operator to values of which this is one."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        """Nothing that a kernel computes with holds by default, as Python's objects do."""
        raise NotImplementedError

    def grown(self, value: object, *, negative: bool) -> Any:
        """What `self += il.term(value)` makes of it; less the value where `negative`."""
        return self - value if negative else self + value

    def __add__(self, other: object) -> Any:
        return NotImplemented if isinstance(other, Term) else self.operate("add", self, other)

    def __radd__(self, other: object) -> Any:
        return self.operate("add", other, self)

    def __sub__(self, other: object) -> Any:
        return NotImplemented if isinstance(other, Term) else self.operate("subtract", self, other)

    def __rsub__(self, other: object) -> Any:
        return self.operate("subtract", other, self)

    def __mul__(self, other: object) -> Any:
        return self.operate("multiply", self, other)

    def __rmul__(self, other: object) -> Any:
        return self.operate("multiply", other, self)

    def __truediv__(self, other: object) -> Any:
        return self.operate("divide", self, other)

    def __rtruediv__(self, other: object) -> Any:
        return self.operate("divide", other, self)

    def __matmul__(self, other: object) -> Any:
        return self.operate("matmul", self, other)

    def __rmatmul__(self, other: object) -> Any:
        return self.operate("matmul", other, self)

    def __pow__(self, exponent: object) -> Any:
        return self.operate("power", self, exponent)

    def __rpow__(self, base: object) -> Any:
        return self.operate("power", base, self)

    def __neg__(self) -> Any:
        return self.operate("negative", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.operate("absolute", self)

    def __floordiv__(self, other: object) -> Any:
        return self.operate("floor_divide", self, other)

    def __rfloordiv__(self, other: object) -> Any:
        return self.operate("floor_divide", other, self)

    def __mod__(self, other: object) -> Any:
        return self.operate("remainder", self, other)

    def __rmod__(self, other: object) -> Any:
        return self.operate("remainder", other, self)

    def __eq__(self, other: object) -> Any:
        return self.operate("equal", self, other)

    def __ne__(self, other: object) -> Any:
        return self.operate("not_equal", self, other)

    def __lt__(self, other: object) -> Any:
        return self.operate("less", self, other)

    def __le__(self, other: object) -> Any:
        return self.operate("less_equal", self, other)

    def __gt__(self, other: object) -> Any:
        return self.operate("greater", self, other)

    def __ge__(self, other: object) -> Any:
        return self.operate("greater_equal", self, other)

    def __and__(self, other: object) -> Any:
        return self.operate("bit_and", self, other)

    def __or__(self, other: object) -> Any:
        return self.operate("bit_or", self, other)

    def __xor__(self, other: object) -> Any:
        return self.operate("bit_xor", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        return self.operate("bit_not", self)

    @property
    def real(self) -> Any:
        """The real parts."""
        return self.operate("real", self)

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return self.operate("imag", self)

    def conj(self) -> Any:
        """The complex conjugates."""
        return self.operate("conj", self)

    conjugate = conj


class Array(Arithmetic):
    """What whole arrays are while a kernel is traced: tensors, views of them, and expressions of both."""

    dtype_name: str
    __hash__ = object.__hash__

    def combined(self, op: str, values: tuple[object, ...]) -> Array:
        """Apply an operator to the elements of values of which this is one, broadcast."""
        raise NotImplementedError


class Part(Arithmetic):
    """A part of an array of which data tell how large it is: no array, but operators make others of it."""

    __hash__ = object.__hash__

    def combined(self, op: str, values: tuple[object, ...]) -> Part:
        """Apply an operator to the elements of values of which this is one."""
        made: Part = self.operate(op, *values)
        return made

    def refused(self) -> Exception:
        """The error where it is used as an array."""
        raise NotImplementedError


class Term:
    """What `C[i, j] += il.term(e)` adds: an accumulation, not an assignment of a sum."""

    __array_ufunc__ = None  # arrays on the left leave the addition to us

    def __init__(self, value: object) -> None:
        self.value = value

    def __radd__(self, target: Any) -> Any:
        return target.grown(self.value, negative=False) if hasattr(target, "grown") else target + self.value

    def __rsub__(self, target: Any) -> Any:
        return target.grown(self.value, negative=True) if hasattr(target, "grown") else target - self.value

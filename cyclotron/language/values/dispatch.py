"""Python's operators on values of a kernel, and the table of what implements them.

An operator may make any value of another: a comparison of an index a condition, an index times an element a
number. So values call what is above them by name; the modules that implement it fill the table, once each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {}


def implement(**functions: Callable[..., Any]) -> None:
    """Fill the table: functions by the names under which values call them."""
    assert functions.keys().isdisjoint(_IMPLEMENTATIONS), "each name has one implementation"
    _IMPLEMENTATIONS.update(functions)


def call(name: str, /, *args: Any, **options: Any) -> Any:
    """Call the implementation of a name."""
    return _IMPLEMENTATIONS[name](*args, **options)


def apply(op: str, *values: object, **options: Any) -> Any:
    """Apply an operator of the registry to elements, arrays and numbers."""
    return _IMPLEMENTATIONS["apply"](op, *values, **options)


Method = Callable[..., Any]


def unary(op: str) -> Method:
    """Return the method of an operator on one value."""
    return lambda self: self.operate(op, self)


def binary(op: str) -> Method:
    """Return the method of an operator with the value on its left."""
    return lambda self, other: self.operate(op, self, other)


def reflected(op: str) -> Method:
    """Return the method of an operator with the value on its right."""
    return lambda self, other: self.operate(op, other, self)


def whole(op: str) -> Method:
    """Return the method that makes Python's whole number of the value, by an operator that rounds."""
    return lambda self: call("whole_number", self, op)


def _unless_term(op: str) -> Method:
    """Return the method of an operator that leaves `x += il.term(y)` to the term."""
    return lambda self, other: NotImplemented if isinstance(other, Term) else self.operate(op, self, other)


SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "power": "**",
    "matmul": "@",
    "bit_and": "&",
    "bit_or": "|",
    "bit_xor": "^",
    "left_shift": "<<",
    "right_shift": ">>",
}
"""Python's signs of operators."""
_STEMS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"
)  # fmt: skip
IN_PLACE = {op: f"__i{stem}__" for op, stem in zip(SIGNS, _STEMS, strict=True)}
"""The methods of operators in place."""
_Class = TypeVar("_Class", bound=type)


def in_place(method: Callable[[str], Method]) -> Callable[[_Class], _Class]:
    """Give a class the operators in place, by what makes the method of each."""

    def decorated(kind: _Class) -> _Class:
        for op, name in IN_PLACE.items():
            setattr(kind, name, method(op))
        return kind

    return decorated


class Arithmetic:
    """The operators of elements and arrays, each an operator of the registry by name."""

    __hash__ = object.__hash__

    def operate(self, op: str, *values: object) -> Any:
        """Apply an operator to values of which this is one."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        """Nothing that a kernel computes with holds by default, as Python's objects do."""
        raise NotImplementedError

    def accumulated(self, value: object, *, negative: bool, is_loop: bool = False) -> Any:
        """Return `self += il.term(value)`; less the value where `negative`."""
        return self - value if negative else self + value

    def __pos__(self) -> Any:
        return self

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    __add__, __radd__ = _unless_term("add"), reflected("add")
    __sub__, __rsub__ = _unless_term("subtract"), reflected("subtract")
    __mul__, __rmul__ = binary("multiply"), reflected("multiply")
    __truediv__, __rtruediv__ = binary("divide"), reflected("divide")
    __matmul__, __rmatmul__ = binary("matmul"), reflected("matmul")
    __pow__, __rpow__ = binary("power"), reflected("power")
    __floordiv__, __rfloordiv__ = binary("floor_divide"), reflected("floor_divide")
    __mod__, __rmod__ = binary("remainder"), reflected("remainder")
    __neg__, __abs__, __invert__ = unary("negative"), unary("absolute"), unary("bit_not")
    __eq__, __ne__ = binary("equal"), binary("not_equal")
    __lt__, __le__ = binary("less"), binary("less_equal")
    __gt__, __ge__ = binary("greater"), binary("greater_equal")
    __and__ = __rand__ = binary("bit_and")
    __or__ = __ror__ = binary("bit_or")
    __xor__ = __rxor__ = binary("bit_xor")
    __lshift__, __rlshift__ = binary("left_shift"), reflected("left_shift")
    __rshift__, __rrshift__ = binary("right_shift"), reflected("right_shift")
    real, imag = property(unary("real")), property(unary("imag"))
    conj = conjugate = unary("conj")


class Array(Arithmetic):
    """Whole arrays while a kernel is traced: tensors, views of them, and expressions of both."""

    dtype_name: str
    __hash__ = object.__hash__

    def combined(self, op: str, values: tuple[object, ...]) -> Array:
        """Apply an operator to the elements of values of which this is one, broadcast."""
        raise NotImplementedError

    def only_element(self) -> Any:
        """The element of an array without axes."""
        raise NotImplementedError


class PartialArray(Arithmetic):
    """A part of an array of which data tell how large it is: no array, but operators make others of it."""

    __hash__ = object.__hash__

    def combined(self, op: str, values: tuple[object, ...]) -> PartialArray:
        """Apply an operator to the elements of values of which this is one."""
        made: PartialArray = self.operate(op, *values)
        return made

    def refused(self) -> Exception:
        """The error where it is used as an array."""
        raise NotImplementedError


class Term:
    """The value that `C[i, j] += il.term(e)` adds: an accumulation, not an assignment of a sum."""

    __array_ufunc__ = None  # arrays on the left leave the addition to us

    def __init__(self, value: object) -> None:
        self.value = value

    def __radd__(self, target: Any) -> Any:
        return (
            target.accumulated(self.value, negative=False)
            if hasattr(target, "accumulated")
            else target + self.value
        )

    def __rsub__(self, target: Any) -> Any:
        return (
            target.accumulated(self.value, negative=True)
            if hasattr(target, "accumulated")
            else target - self.value
        )

"""Types that a kernel declares: of its parameters, and of names in it (`total: float = cy.sum(u)`)."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np

from cyclotron.language.values import broadcasting
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.blocked import Blocked, Spec
from cyclotron.language.values.condition import Condition, Extremum, Piecewise
from cyclotron.language.values.dispatch import Array
from cyclotron.language.values.nodes import Element
from cyclotron.language.values.source_span import here
from cyclotron.support.errors import Span, TraceError

# NumPy's letters of the dtypes that Python's types of numbers take, and the scalars of each letter.
_KINDS = ((bool, "b"), (int, "biu"), (float, "biuf"), (complex, "biufc"))
_SCALARS = {"b": np.bool_, "i": np.integer, "u": np.integer, "f": np.floating, "c": np.complexfloating}
_NO_NUMBERS = (type(None), str, bytes, tuple, list, dict, set)


def typed(value: object, annotation: object, *, name: str) -> None:
    """``il.typed(total, float, name="total")``: what a name is declared as, after each assignment of it.

    Raises
    ------
    TraceError
        CYC124 if it holds something else.
    """
    if not conforms(value, annotation):
        raise not_of_its_type(f"`{name}`", value, annotation, here())


def check_members(owner: object, read: Mapping[str, Span]) -> None:
    """Check the attributes that a method reads of its object against the annotations of their classes.

    Parameters
    ----------
    owner : object
    read : dict of str to Span
        The attributes, with the places where they are read.

    Raises
    ------
    TraceError
        CYC124 if one holds something else.
    """
    for name, declared in members(type(owner)).items():
        value = getattr(owner, name, None) if name in read else None
        if value is not None and not conforms(value, declared):
            raise not_of_its_type(f"`{name}` of `{type(owner).__name__}`", value, declared, read[name])


def members(kind: type) -> dict[str, Any]:
    """Return the types of the attributes that a class declares, or one that it inherits from."""
    return {
        name: resolved(annotation, vars(sys.modules.get(one.__module__, object)))
        for one in reversed(kind.__mro__)
        for name, annotation in vars(one).get("__annotations__", {}).items()
    }


def not_of_its_type(what: str, value: object, annotation: object, span: Span | None) -> TraceError:
    """The error for a value of another type than was declared."""
    return TraceError(
        f"{what} is declared as `{_text(annotation)}` and gets {_described(value)}",
        code="CYC124",
        span=span,
        help="give it a value of that type, or declare what it holds: `float`, `int`, `complex` or `bool` for"
        " one number, `np.ndarray` for an array",
    )


def conforms(value: object, annotation: Any) -> bool:
    """Return whether a value, traced or of the host, conforms to an annotation; True of unknown ones."""
    origin, given = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, one) for one in given)
    if origin is typing.Annotated:
        return conforms(value, given[0])
    if annotation is None or annotation is type(None):
        return value is None
    declared = origin or annotation
    if not isinstance(declared, type):
        return True
    letters = next((letters for one, letters in _KINDS if declared is one), None)  # it may have no hash
    if letters is not None:
        return not _has_axes(value) and _is_of_kind(value, letters)
    if declared is str:
        return isinstance(value, str)
    if declared is np.ndarray:
        scalars = typing.get_args(given[1]) if len(given) == 2 else ()
        return _may_be_array(value) and all(_is_subtype(value, scalar) for scalar in scalars)
    if declared is Blocked:
        return isinstance(value, (Blocked, Array)) or (isinstance(value, Spec) and value.tile is not None)
    if issubclass(declared, np.generic):
        return not _has_axes(value) and _is_scalar(value, declared)
    return True


def resolved(annotation: Any, names: Mapping[str, Any]) -> Any:
    """An annotation that may be text (`from __future__ import annotations`); Any where it names nothing."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(names))
    except Exception:  # a type that is only there for checkers
        return Any


def _has_axes(value: object) -> bool:
    if isinstance(value, Array):
        return bool(value.shape)  # type: ignore[attr-defined]
    return isinstance(value, (Blocked, Spec)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _kind(value: object) -> str | None:
    """NumPy's letter of a number of Python, or of what stands for one while loops are recorded."""
    if isinstance(value, (bool, Condition)):
        return "b"
    if isinstance(value, (int, Affine, Extremum, Piecewise)):
        return "i"
    if isinstance(value, float) and not isinstance(value, np.generic):
        return "f"
    return "c" if isinstance(value, complex) and not isinstance(value, np.generic) else None


def _dtype(value: object) -> np.dtype[Any] | None:
    """The dtype of a value of NumPy or of a traced one, where it has one."""
    if isinstance(value, (Element, Array, Blocked, Spec, np.ndarray, np.generic)):
        is_weak = isinstance(value, Element) and value.type.weak
        return None if is_weak else np.dtype(value.dtype)  # type: ignore[union-attr]
    return None


def _is_of_kind(value: object, letters: str) -> bool:
    dtype = _dtype(value)
    kind = _kind(value) or (dtype.kind if dtype is not None else "O")
    return not isinstance(value, _NO_NUMBERS) if kind == "O" else kind in letters


def _is_scalar(value: object, declared: type[np.generic]) -> bool:
    """Return whether a value is a scalar of this type; numbers of Python are of any that is wide enough."""
    kind = _kind(value)
    if kind is None:
        if isinstance(value, np.generic) and np.dtype(declared).type is declared:
            return np.can_cast(value.dtype, declared)
        return not isinstance(value, _NO_NUMBERS) and _is_subtype(value, declared)
    wide = [_SCALARS[letter] for letter in "biufc"["biufc".index(kind) :]]
    return any(issubclass(declared, one) or issubclass(one, declared) for one in wide)


def _may_be_array(value: object) -> bool:
    if isinstance(value, (Array, Element, np.ndarray, Blocked, Spec)):
        return _has_axes(value) or isinstance(value, (Array, Element))
    return _kind(value) is None and not isinstance(value, (*_NO_NUMBERS, np.generic))


def _is_subtype(value: object, scalar: Any) -> bool:
    """Return whether the dtype is this one; True where it is unknown, and of types other than NumPy's."""
    scalar, dtype = typing.get_origin(scalar) or scalar, _dtype(value)
    if dtype is None or not isinstance(scalar, type) or not issubclass(scalar, np.generic):
        return True
    return issubclass(dtype.type, scalar)


def _text(annotation: Any) -> str:
    """An annotation as one writes it."""
    given = typing.get_args(annotation)
    if typing.get_origin(annotation) is np.ndarray and len(given) == 2:
        return f"NDArray[{', '.join(map(_text, typing.get_args(given[1])))}]"
    if isinstance(annotation, type):
        module = annotation.__module__.replace("numpy", "np")
        return annotation.__name__ if module == "builtins" else f"{module}.{annotation.__name__}"
    return str(annotation)


def _described(value: object) -> str:
    dtype = _dtype(value)
    if isinstance(value, Condition):
        return "a condition on indices"
    if isinstance(value, (Affine, Extremum, Piecewise)):
        return f"index `{value}`"
    if _has_axes(value):
        shape = value.shape  # type: ignore[attr-defined]
        text = broadcasting.text(shape) if isinstance(value, Array) else str(tuple(map(int, shape)))
        return f"an array of shape {text} and dtype {dtype}"
    if isinstance(value, (Array, Element)):
        return "one value" + (f" of dtype {dtype}" if dtype is not None else "")
    return f"`{value!r}`"

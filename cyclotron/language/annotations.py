"""Types that a kernel declares: of its parameters, and of names in it (`total: float = cy.sum(u)`)."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np

from cyclotron.errors import Span, TraceError
from cyclotron.language import broadcasting
from cyclotron.language.arithmetic import Array
from cyclotron.language.blocked import Blocked, Spec
from cyclotron.language.elements import Element
from cyclotron.language.position import here

# NumPy's letters of the dtypes that Python's types of numbers take.
_KINDS: Mapping[Any, str] = {bool: "b", int: "bi", float: "bif", complex: "bifc"}


def typed(value: object, annotation: object, *, name: str) -> None:
    """``il.typed(total, float, name="total")``: what a name is declared as, after each assignment of it.

    Raises
    ------
    TraceError
        CYC124 if it holds something else.
    """
    if not conforms(value, annotation):
        raise not_of_its_type(f"`{name}`", value, annotation, here())


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
    """Whether a value, traced or of the host, is what an annotation says; True of what is not known here."""
    origin, given = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, one) for one in given)
    if origin is typing.Annotated:
        return conforms(value, given[0])
    if annotation is None or annotation is type(None):
        return value is None
    dtype = _dtype(value)
    if annotation in _KINDS:
        return not _has_axes(value) and dtype is not None and dtype.kind in _KINDS[annotation]
    if annotation is str:
        return isinstance(value, str)
    if (origin or annotation) is np.ndarray:
        scalar = typing.get_args(given[1]) if len(given) == 2 else ()
        is_array = _has_axes(value) or isinstance(value, (Array, Element))
        return is_array and all(_is_subtype(dtype, one) for one in scalar)
    if annotation is Blocked:
        return isinstance(value, Blocked) or (isinstance(value, Spec) and value.tile is not None)
    if isinstance(annotation, type) and issubclass(annotation, np.generic):
        return not _has_axes(value) and _is_subtype(dtype, annotation)
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


def _dtype(value: object) -> np.dtype[Any] | None:
    if isinstance(value, Element):
        return np.dtype(value.dtype) if value.dtype is not None else None
    if isinstance(value, (Array, Blocked, Spec, np.ndarray, np.generic)):
        return np.dtype(value.dtype)  # type: ignore[union-attr]
    return np.asarray(value).dtype if isinstance(value, (bool, int, float, complex)) else None


def _is_subtype(dtype: np.dtype[Any] | None, scalar: Any) -> bool:
    return dtype is None or not isinstance(scalar, type) or issubclass(dtype.type, scalar)


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
    if _has_axes(value):
        shape = value.shape  # type: ignore[attr-defined]
        text = broadcasting.text(shape) if isinstance(value, Array) else str(tuple(map(int, shape)))
        return f"an array of shape {text} and dtype {dtype}"
    if isinstance(value, (Array, Element)):
        return f"one value of dtype {dtype}"
    return f"`{value!r}`"

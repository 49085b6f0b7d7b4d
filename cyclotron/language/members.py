"""Classes whose attributes keep their types."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cyclotron.language.syntax.annotations import conforms, members, not_of_its_type
from cyclotron.language.values.source_span import here

Class = TypeVar("Class", bound=type)


def typed(kind: Class) -> Class:
    """Have a class refuse values of another type in assignments to attributes of its objects.

    An attribute holds what it is declared as, where the class or one that it inherits from declares it (``u:
    np.ndarray``), else values of the type that it has had, of an array those of its dtype. Methods that are
    kernels check their attributes and arguments as ever.

    Parameters
    ----------
    kind : type
        The class, which is changed.

    Returns
    -------
    type
        The class.

    Raises
    ------
    TraceError
        CYC124 in an assignment of another type.

    Examples
    --------
    >>> @cy.typed
    ... class Heat:
    ...     rate: float
    ...
    ...     def __init__(self, rate):
    ...         self.rate = rate
    >>> Heat(0.25).rate
    0.25
    """
    plain: Any = kind.__setattr__

    def assign(self: Any, name: str, value: object) -> None:
        declared = _declared(type(self), name, getattr(self, name, None))
        if not conforms(value, declared):
            raise not_of_its_type(f"`{name}` of `{type(self).__name__}`", value, declared, here())
        plain(self, name, value)

    kind.__setattr__ = assign  # type: ignore[method-assign, assignment]
    return kind


def _declared(kind: type, name: str, before: object) -> Any:
    kept: Any = Any if before is None else type(before)
    if isinstance(before, np.ndarray):
        kept = NDArray[before.dtype.type]  # type: ignore[name-defined]
    return members(kind).get(name, kept)

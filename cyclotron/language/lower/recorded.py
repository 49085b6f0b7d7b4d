"""Systems of equations that know what they are made of, so that equal ones are told by a text."""

from __future__ import annotations

import hashlib
from typing import Any

from cyclotron import _core
from cyclotron.language.values.scalar_type import identity


def _noted(method: str) -> Any:
    """A method of the core's systems that notes what it is given."""

    def noted(self: RecordedSystem, *parts: Any, **named: Any) -> Any:
        self.note(method.removeprefix("add_"), parts, named)
        return getattr(_core.System, method)(self, *parts, **named)

    return noted


class RecordedSystem(_core.System):
    """A system of the core, with a digest of all that it was made by: values, places in the text, order.

    Attributes
    ----------
    reduction_indices : set of str
        Those of sums and other reductions that were added as such.
    """

    def __init__(self, kernel: str) -> None:
        super().__init__(kernel)
        self._digest = hashlib.sha256(kernel.encode("utf-8", "surrogatepass"))
        self.reduction_indices: set[str] = set()

    add_tensor, add_index, add_access, add_apply, add_equation, expand = map(
        _noted, ("add_tensor", "add_index", "add_access", "add_apply", "add_equation", "expand")
    )

    def add_constant(self, *parts: Any, **named: Any) -> int:
        self.note("constant", (identity(parts[0]), *parts), named)  # every NaN is written `nan`
        return super().add_constant(*parts, **named)

    def add_reduce(self, kind: str, index: str, *parts: Any, **named: Any) -> int:
        self.note("reduce", (kind, index, *parts), named)
        self.reduction_indices.add(index)
        return super().add_reduce(kind, index, *parts, **named)

    @property
    def digest(self) -> str:
        """The text that equal systems share."""
        return f"{self._digest.hexdigest()} {self.idle_nests}"

    def note(self, *what: Any) -> None:
        """Take a step of how it is made into the digest."""
        self._digest.update(repr(what).encode("utf-8", "surrogatepass"))

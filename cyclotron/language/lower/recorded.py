"""Systems of equations that know what they are made of, so that equal ones are told by a text."""

from __future__ import annotations

import hashlib
from typing import Any

from cyclotron import _core
from cyclotron.language.values.scalar_type import identity


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

    def add_tensor(self, *parts: Any, **named: Any) -> int:
        self._note("tensor", parts, named)
        return super().add_tensor(*parts, **named)

    def add_constant(self, *parts: Any, **named: Any) -> int:
        self._note("constant", (identity(parts[0]), *parts), named)  # every NaN is written `nan`
        return super().add_constant(*parts, **named)

    def add_index(self, *parts: Any, **named: Any) -> int:
        self._note("index", parts, named)
        return super().add_index(*parts, **named)

    def add_access(self, *parts: Any, **named: Any) -> int:
        self._note("access", parts, named)
        return super().add_access(*parts, **named)

    def add_apply(self, *parts: Any, **named: Any) -> int:
        self._note("apply", parts, named)
        return super().add_apply(*parts, **named)

    def add_reduce(self, kind: str, index: str, *parts: Any, **named: Any) -> int:
        self._note("reduce", (kind, index, *parts), named)
        self.reduction_indices.add(index)
        return super().add_reduce(kind, index, *parts, **named)

    def add_equation(self, *parts: Any, **named: Any) -> None:
        self._note("equation", parts, named)
        super().add_equation(*parts, **named)

    def expand(self, *parts: Any, **named: Any) -> None:
        self._note("expand", parts, named)
        super().expand(*parts, **named)

    @property
    def digest(self) -> str:
        """The text that equal systems share."""
        return f"{self._digest.hexdigest()} {self.idle_nests}"

    def _note(self, *what: Any) -> None:
        self._digest.update(repr(what).encode("utf-8", "surrogatepass"))

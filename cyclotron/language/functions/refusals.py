"""The refusal of what a function cannot do, at the line that asks for it."""

from __future__ import annotations

from cyclotron.language.values.source_span import here
from cyclotron.support.errors import ShapeError


def unfit(message: str, help: str, code: str = "CYC122") -> ShapeError:
    """Return the error of arguments that a function of NumPy's is not made for, here."""
    return ShapeError(message, code=code, span=here(), help=help)

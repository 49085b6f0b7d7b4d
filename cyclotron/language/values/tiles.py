"""The shapes of tiles, as far as the trace knows them; the compiler proves them (CYC206)."""

from __future__ import annotations

from cyclotron import _core
from cyclotron.language.values.nodes import Access, Apply, Choose, Element, Reduce
from cyclotron.support.errors import ShapeError

_OPERATORS = {operator.name: operator for operator in _core.operators()}


def tile_shape(value: Element) -> tuple[int, int] | None:
    """Rows and columns of an expression's largest tile; None for numbers and where they do not fit."""
    if isinstance(value, Access):
        return _of_access(value)
    shapes = [tile_shape(operand) for operand in value.operands]
    if isinstance(value, (Reduce, Choose)):
        return shapes[0]
    if not isinstance(value, Apply) or not any(shapes):
        return None
    try:
        return _OPERATORS[value.op].result_shape([shape or (1, 1) for shape in shapes], value.flags)
    except ShapeError:
        return None


def _of_access(value: Access) -> tuple[int, int]:
    tensor = value.tensor
    sizes = [min(max(n, 1), t) for n, t in zip(tensor.scalars, tensor.tile or (), strict=False)]
    if not sizes:
        return 1, 1
    return (sizes[0], 1) if len(sizes) == 1 else (sizes[-2], sizes[-1])

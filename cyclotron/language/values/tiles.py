"""The shapes of tiles, as far as the trace knows them; the compiler proves them (CYC206)."""

from __future__ import annotations

from cyclotron.language.expressions.elements import Access, Apply, Choose, Element, Reduce

_ELEMENTWISE = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "power",
        "negative",
        "absolute",
        "sqrt",
        "exp",
        "log",
    ]
)


def tile_shape(value: Element) -> tuple[int, int] | None:
    """Rows and columns of an expression's largest tile; None for numbers and for operators not known here."""
    if isinstance(value, Access):
        return _of_access(value)
    shapes = [tile_shape(operand) for operand in value.operands]
    if isinstance(value, (Reduce, Choose)):
        return shapes[0]
    if not isinstance(value, Apply):
        return None
    known = [shape for shape in shapes if shape is not None]
    if value.op in _ELEMENTWISE and known:
        return max(rows for rows, _ in known), max(columns for _, columns in known)
    if len(known) < len(shapes):
        return None
    if value.op == "matmul":
        a, b = known
        return a["transpose_a" in value.flags], b["transpose_b" not in value.flags]
    if value.op in ("transpose", "syrk", "row_sum", "row_max"):
        rows, columns = known[0]
        return {"transpose": (columns, rows), "syrk": (rows, rows)}.get(value.op, (rows, 1))
    return None


def _of_access(value: Access) -> tuple[int, int]:
    tensor = value.tensor
    sizes = [min(max(n, 1), t) for n, t in zip(tensor.scalars, tensor.tile or (), strict=False)]
    if not sizes:
        return 1, 1
    return (sizes[0], 1) if len(sizes) == 1 else (sizes[-2], sizes[-1])

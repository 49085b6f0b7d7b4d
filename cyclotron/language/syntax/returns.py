"""What a kernel returns: one tensor, several or a dict of them, by name."""

from __future__ import annotations

import ast

from cyclotron.language.text.source import Source


def returned(
    source: Source, node: ast.Return, value: ast.expr | None
) -> tuple[str, list[tuple[str, ast.expr]]]:
    """The form in which a statement returns its results, and the results by name.

    Raises
    ------
    TraceError
        CYC114 if they have no names, or two have one.
    """
    pairs: list[tuple[str, ast.expr]] = []
    form = "single"
    if isinstance(value, ast.Name):
        pairs = [(value.id, value)]
    elif isinstance(value, (ast.Tuple, ast.List)):
        form = "tuple"
        pairs = [(item.id, item) for item in value.elts if isinstance(item, ast.Name)]
        pairs = pairs if len(pairs) == len(value.elts) else []
    elif isinstance(value, ast.Dict):
        form = "dict"
        for key, item in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier():
                pairs.append((key.value, item))
        pairs = pairs if len(pairs) == len(value.values) else []
    if len({key for key, _ in pairs}) != len(pairs) or not pairs:
        raise source.error(
            value or node,
            "CYC114",
            f"`{source.text_of(node)}` does not return distinct tensors by name",
            'write `return X`, `return X, Y` or `return {"X": X}` with tensors that the kernel computes',
        )
    return form, pairs

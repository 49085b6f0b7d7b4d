"""The fields of a schedule, and how the C++ core has them."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

from cyclotron import _core
from cyclotron.schedule.parts import Fold, FoldKind, Movement, Reassociation, Reduction
from cyclotron.support import records


def _pairs(kind: type, name: str, value: str) -> Any:
    """Return a field of pairs, which the core has as records of two fields."""

    def from_core(items: list[Any]) -> tuple[tuple[Any, Any], ...]:
        found = [(getattr(item, name), getattr(item, value)) for item in items]
        return tuple((key, tuple(entry) if isinstance(entry, list) else entry) for key, entry in found)

    return records.field(
        default=(),
        to_core=lambda pairs: [kind(**{name: key, value: entry}) for key, entry in pairs],
        from_core=from_core,
    )


def _folds_to_core(folds: tuple[tuple[str, Fold], ...]) -> list[_core.Fold]:
    return [_core.Fold(dimension=name, kind=fold.kind, parts=fold.parts) for name, fold in folds]


def _folds_from_core(items: list[_core.Fold]) -> tuple[tuple[str, Fold], ...]:
    return tuple((item.dimension, Fold(cast(FoldKind, item.kind), item.parts)) for item in items)


def _reductions_to_core(items: tuple[Reduction, ...]) -> list[_core.Reduction]:
    """A reduction in two phases is one of radix 0 there."""
    return [
        _core.Reduction(index=item.index, radix=item.radix if item.algorithm == "tree" else 0)
        for item in items
    ]


def _reductions_from_core(items: list[_core.Reduction]) -> tuple[Reduction, ...]:
    return tuple(Reduction(i.index, "tree" if i.radix else "two_phase", i.radix or 2) for i in items)


@dataclasses.dataclass(frozen=True, repr=False)
class Fields:
    """The fields of a schedule; see `Schedule`."""

    space_indices: tuple[str, ...] = ()
    time_indices: tuple[str, ...] = ()
    movements: tuple[Movement, ...] = ()
    folds: tuple[tuple[str, Fold], ...] = records.field(
        default=(), to_core=_folds_to_core, from_core=_folds_from_core
    )
    rotations: tuple[tuple[str, tuple[str, ...]], ...] = _pairs(_core.Rotation, "index", "by")
    reassociations: tuple[Reassociation, ...] = ()
    places: tuple[tuple[str, tuple[str, ...]], ...] = _pairs(_core.Place, "tensor", "at")
    panel_counts: tuple[tuple[str, int], ...] = _pairs(_core.PanelCount, "index", "count")
    inward_indices: tuple[str, ...] = ()
    descending_indices: tuple[str, ...] = ()
    stage_indices: tuple[str, ...] = ()
    reductions: tuple[Reduction, ...] = records.field(
        default=(), to_core=_reductions_to_core, from_core=_reductions_from_core
    )
    is_serpentine: bool = False

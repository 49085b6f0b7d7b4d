"""Reductions whose index does not simply run from a first to a last value."""

from __future__ import annotations

from cyclotron.language.lower.strides import has_residue
from cyclotron.language.values.affine import Constraint, Index, Region, intersection
from cyclotron.language.values.nodes import Reduce
from cyclotron.language.values.region import has_gap


def is_bound(constraint: Constraint, index: Index) -> bool:
    """Return whether a constraint bounds an index by an affine form, or does not concern it."""
    factor = constraint.form.terms.get(index, 0)
    return abs(factor) <= 1 and not (factor and constraint.modulus)


def has_holes(region: Region, value: Reduce) -> bool:
    """Return whether the index of a reduction may skip values, or end at one that is not affine.

    Parameters
    ----------
    region : Region
        The points at which the reduction is needed.
    value : Reduce
        The reduction.

    Returns
    -------
    bool
        True also where that is not easily seen.
    """
    return is_difficult(value) or (
        len(value.region) > 1 and has_gap(intersection(region, value.region), value.index)
    )


def is_difficult(value: Reduce) -> bool:
    """Return whether the index of a reduction runs over residue classes, or ends at a quotient."""
    if has_residue(value.region, value.index):
        return True
    return any(_ends_between(constraint, value.index) for part in value.region for constraint in part)


def _ends_between(constraint: Constraint, index: Index) -> bool:
    """`3 * k <= i`: the last value is a quotient."""
    factor = constraint.form.terms.get(index, 0)
    upper = factor < -1 or (constraint.equality and abs(factor) > 1)
    return upper and len(constraint.form.terms) > 1

"""The points of domains, as arrays of the values of indices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cyclotron.graph.nodes import Domain
from cyclotron.language.values.affine import Affine, Constraint, Index, Region

Numbers = NDArray[np.int64]
Values = Mapping[Index, int | Numbers]


@dataclass(frozen=True)
class Points:
    """Points in lexicographic order within those of the domain around.

    Attributes
    ----------
    values : dict of Index to int or ndarray
        One for each point, or one for all.
    count : int
    parents : ndarray, int64
        For each point, its place among those of the domain around.
    """

    values: Values
    count: int
    parents: Numbers

    def of(self, form: Affine) -> Numbers:
        """The value of a form at each point."""
        return np.broadcast_to(number(form, self.values), (self.count,))


def number(form: Affine, values: Values) -> int | Numbers:
    """The values of a form where its indices have values."""
    result: int | Numbers = form.constant
    for index, factor in form.terms.items():
        result = result + factor * values[index]
    return result


def points_of(domain: Domain, outer: Points) -> Points:
    """The points of a domain whose outer domain has the given ones."""
    values, parents = dict(outer.values), np.arange(outer.count)
    for index in domain.indices:
        low, high = bounds(index, domain.region, values, len(parents))
        counts = np.maximum(high - low + 1, 0)
        again = np.repeat(np.arange(len(parents)), counts)
        first = np.cumsum(counts) - counts
        values = _taken(values, again)
        values[index] = low[again] + np.arange(len(again)) - first[again]
        parents = parents[again]
    inside = np.flatnonzero(_holds(domain.region, values, len(parents)))
    return Points(_taken(values, inside), len(inside), parents[inside])


def bounds(index: Index, region: Region, values: Values, count: int) -> tuple[Numbers, Numbers]:
    """The least and the largest value that an index may have at each point, or a little beyond.

    Constraints on indices without a value are left out.
    """
    least = np.full(count, np.iinfo(np.int64).max)
    most = np.full(count, np.iinfo(np.int64).min)
    for conjunction in region:
        low = np.full(count, np.iinfo(np.int64).min)
        high = np.full(count, np.iinfo(np.int64).max)
        for one in conjunction:
            factor = one.form.terms.get(index, 0)
            rest = one.form.plus(Affine({index: -factor}, 0))
            if not factor or one.modulus or any(other not in values for other in rest.terms):
                continue
            value = np.broadcast_to(number(rest, values), (count,))
            if factor > 0 or one.equality:
                np.maximum(low, -(value // factor) if factor > 0 else -(-value // -factor), out=low)
            if factor < 0 or one.equality:
                np.minimum(high, value // -factor if factor < 0 else -value // factor, out=high)
        np.minimum(least, np.where(low <= high, low, least), out=least)
        np.maximum(most, np.where(low <= high, high, most), out=most)
    empty = least > most
    return np.where(empty, 0, least), np.where(empty, -1, most)


def _taken(values: Values, places: Numbers) -> dict[Index, int | Numbers]:
    return {index: v if isinstance(v, int) else v[places] for index, v in values.items()}


def _holds(region: Region, values: Values, count: int) -> NDArray[np.bool_]:
    """At which points one of the conjunctions holds."""
    result = np.zeros(count, bool)
    for conjunction in region:
        inside = np.ones(count, bool)
        for one in conjunction:
            inside &= _satisfied(one, number(one.form, values))
        result |= inside
    return result


def _satisfied(one: Constraint, value: int | Numbers) -> bool | NDArray[np.bool_]:
    if one.equality:
        return value == 0
    return value % one.modulus == 0 if one.modulus else value >= 0

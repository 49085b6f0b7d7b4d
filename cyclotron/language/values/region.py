"""Regions of index space: questions about them are the core's to answer, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cyclotron import _core
from cyclotron.language.values.affine import Affine, Constraint, Index, Region
from cyclotron.language.values.source_span import trace_error

Conjunction = tuple[Constraint, ...]
AffineTuple = tuple[list[int], int]
RegionList = list[list[tuple[AffineTuple, str | int]]]
"""Any of (all of (form, relation)): ">=" 0, "==" 0, or divisible by a number."""

_MOST_PIECES = 200


def indices_of(region: Region) -> list[Index]:
    """The indices that a region speaks about, in the order in which it does."""
    terms = (index for conjunction in region for constraint in conjunction for index in constraint.form.terms)
    return list(dict.fromkeys(terms))


def affine_tuple(form: Affine, scope: Sequence[Index]) -> AffineTuple:
    """A form as the core takes it: its factors of the indices in scope, and its constant."""
    return ([form.terms.get(index, 0) for index in scope], form.constant)


def region_list(region: Region, scope: Sequence[Index]) -> RegionList:
    """A region as the core takes it."""
    return [
        [(affine_tuple(c.form, scope), c.modulus or ("==" if c.equality else ">=")) for c in conjunction]
        for conjunction in region
    ]


def region_of_list(region: RegionList, scope: Sequence[Index]) -> Region:
    """A region as the core gives it."""
    return tuple(
        tuple(
            Constraint(
                Affine(dict(zip(scope, factors, strict=False)), constant),
                relation == "==",
                relation if isinstance(relation, int) else 0,
            )
            for (factors, constant), relation in conjunction
        )
        for conjunction in region
    )


def substitute(region: Region, values: dict[Index, Affine]) -> Region:
    """Replace indices by affine forms."""
    return tuple(tuple(c.substitute(values) for c in conjunction) for conjunction in region)


def is_empty(conjunction: Conjunction) -> bool:
    """Return whether no integer point exists; False where that takes long to tell."""
    scope = indices_of((conjunction,))
    return _core.is_empty(len(scope), region_list((conjunction,), scope))


def subtract(region: Region, removed: Region) -> Region:
    """The points of a region that are not in another, as conjunctions without common points.

    Raises
    ------
    TraceError
        CYC104 if they are too many.
    """
    result = region
    for conjunction in removed:
        result = tuple(piece for part in result for piece in _without(part, conjunction))
        if len(result) > _MOST_PIECES:
            raise trace_error(
                "CYC104",
                f"a condition on indices has more than {_MOST_PIECES} cases where it does not hold",
                help="split it into simpler ones, or read it from an array with `cy.where`",
            )
    return result


def _without(part: Conjunction, removed: Conjunction) -> Iterator[Conjunction]:
    if is_empty((*part, *removed)):
        yield part
        return
    inside = part
    for constraint in removed:
        pieces = [(*inside, *outside) for outside in constraint.outside()]
        pieces = [piece for piece in pieces if not is_empty(piece)]
        yield from pieces
        if pieces:  # else the others imply it
            inside = (*inside, constraint)


def project(region: Region, index: Index) -> Region | None:
    """Remove an index ("there is one such that"); None where its bounds are quotients or it has strides."""
    constraints = [c for conjunction in region for c in conjunction if index in c.form.terms]
    if any(abs(c.form.terms[index]) > 1 or c.modulus for c in constraints):
        return None
    others = [other for other in indices_of(region) if other is not index]
    left = _core.project(len(others) + 1, region_list(region, [*others, index]), list(range(len(others))))
    return None if left is None else region_of_list(left, others)


def extent(region: Region, index: Index) -> tuple[int, int] | None:
    """The least and the largest value that an index may have; None if there is none."""
    scope = list(dict.fromkeys((index, *indices_of(region))))
    return _core.bounds(len(scope), region_list(region, scope), 0)


def has_gap(region: Region, index: Index) -> bool:
    """Return whether an index skips values between others; True, too, where that takes long to tell."""
    scope = list(dict.fromkeys((index, *indices_of(region))))
    return _core.has_gap(len(scope), region_list(region, scope), 0)

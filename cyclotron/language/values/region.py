"""Small exact tools for regions of index space; the heavy ones are the compiler's (isl)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from cyclotron.language.values.affine import Affine, Constraint, Index, Region
from cyclotron.language.values.source_span import trace_error
from cyclotron.support.errors import NO_SPAN

Conjunction = tuple[Constraint, ...]

_MOST_PRODUCTS = 1000  # beyond which the emptiness of a conjunction is left open
_MOST_PIECES = 200


def indices_of(region: Region) -> set[Index]:
    """The indices that a region speaks about."""
    return {index for conjunction in region for constraint in conjunction for index in constraint.form.terms}


def substitute(region: Region, values: dict[Index, Affine]) -> Region:
    """Replace indices by affine forms."""
    return tuple(tuple(c.substitute(values) for c in conjunction) for conjunction in region)


def is_empty(conjunction: Conjunction) -> bool:
    """Return whether no integer point can exist; False where that is not easily seen."""
    forms: list[Affine] | None = _without_equalities(conjunction)
    while forms is not None:
        products = _products(forms)
        if not products:
            return any(form.constant < 0 for form in forms)
        index = min(products, key=products.__getitem__)
        if products[index] > _MOST_PRODUCTS:
            return False
        forms = _eliminate(forms, index)
    return True


def _products(forms: list[Affine]) -> dict[Index, int]:
    """Of each index, how many forms its elimination makes."""
    below = Counter(index for form in forms for index, factor in form.terms.items() if factor > 0)
    above = Counter(index for form in forms for index, factor in form.terms.items() if factor < 0)
    return {index: below[index] * above[index] for form in forms for index in form.terms}


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


def simplify(region: Region, context: Conjunction = ()) -> Region:
    """Drop empty and repeated conjunctions, and constraints that the others and the context imply."""
    result: list[Conjunction] = []
    for conjunction in region:
        if is_empty(context + conjunction):
            continue
        kept = list(conjunction)
        for constraint in conjunction:
            rest = [other for other in kept if other is not constraint]
            if _implied(constraint, (*context, *rest)):
                kept = rest
        part = tuple(kept)
        if not any(_contains(other, part, context) for other in result):
            result = [other for other in result if not _contains(part, other, context)]
            result.append(part)
    return tuple(result)


def project(conjunction: Conjunction, index: Index) -> Conjunction | None:
    """Remove an index ("there is one such that"); None where that is not exact over the integers."""
    of_index = [c for c in conjunction if index in c.form.terms]
    if any(abs(c.form.terms[index]) > 1 or c.modulus for c in of_index):
        return None
    kept = tuple(c for c in conjunction if (c.equality or c.modulus) and index not in c.form.terms)
    forms = _inequalities(c for c in conjunction if c not in kept)
    left = None if forms is None else _eliminate(forms, index)
    if left is None:
        return (Constraint(Affine({}, -1)),)
    return kept + tuple(Constraint(form) for form in left)


def box(extents: Sequence[tuple[Index, Affine | int]]) -> Conjunction:
    """The constraints ``0 <= index < extent``, where extents may be affine forms of other indices."""
    result = []
    for index, extent in extents:
        last = extent if isinstance(extent, Affine) else Affine({}, int(extent))
        result.append(Constraint(Affine({index: 1}, 0)))
        result.append(Constraint(last.plus(Affine({index: -1}, -1))))
    return tuple(result)


def extent(region: Region, index: Index) -> tuple[int, int] | None:
    """The least and the largest value that an index may have, or a little beyond; None if there is none."""
    low: int | None = None
    high: int | None = None
    for conjunction in region:
        bounds = _bounds(conjunction, index)
        if bounds is not None:
            low = bounds[0] if low is None else min(low, bounds[0])
            high = bounds[1] if high is None else max(high, bounds[1])
    return None if low is None or high is None else (low, high)


def _bounds(conjunction: Conjunction, index: Index) -> tuple[int, int] | None:
    forms = _inequalities(conjunction)
    while forms is not None:
        other = next((term for form in forms for term in form.terms if term is not index), None)
        if other is None:
            lower = [-(form.constant // form.terms[index]) for form in forms if form.terms.get(index, 0) > 0]
            upper = [form.constant // -form.terms[index] for form in forms if form.terms.get(index, 0) < 0]
            low, high = max(lower), min(upper)
            return (low, high) if low <= high else None
        forms = _eliminate(forms, other)
    return None


def _contains(larger: Conjunction, smaller: Conjunction, context: Conjunction) -> bool:
    return all(_implied(constraint, (*context, *smaller)) for constraint in larger)


def _implied(constraint: Constraint, context: Conjunction) -> bool:
    return all(is_empty((*context, *part)) for part in constraint.outside())


def _without_equalities(conjunction: Conjunction) -> list[Affine] | None:
    """Forms that must be at least 0, of fewer indices: those that an equality gives are replaced."""
    equalities = [c.form for c in conjunction if c.equality]
    for constraint in conjunction:
        if constraint.modulus:
            quotient = Affine({Index("quotient", NO_SPAN): -constraint.modulus}, 0)
            equalities.append(constraint.form.plus(quotient))
    forms = [c.form for c in conjunction if not c.equality and not c.modulus]
    difficult: list[Affine] = []
    while equalities:
        form = equalities.pop()
        divisor = math.gcd(*form.terms.values())
        if form.constant % divisor if divisor else form.constant:
            return None
        form = _tighten(form)
        index = next((index for index, factor in form.terms.items() if abs(factor) == 1), None)
        if index is None:
            difficult += [form] if form.terms else []
            continue
        values = {index: Affine({index: 1}, 0).plus(form.times(-form.terms[index]))}
        forms = [other.substitute(values) for other in forms]
        equalities = [other.substitute(values) for other in (*equalities, *difficult)]
        difficult = []
    forms += [form.times(sign) for form in difficult for sign in (1, -1)]
    return [_tighten(form) for form in forms]


def _inequalities(constraints: Iterable[Constraint]) -> list[Affine] | None:
    """The forms that must be at least 0, tightened; None if an equality has no integer solution."""
    result = []
    for constraint in constraints:
        form = constraint.form
        if constraint.modulus:
            factor = Index("quotient", NO_SPAN)
            form = form.plus(Affine({factor: -constraint.modulus}, 0))
        if constraint.equality or constraint.modulus:
            divisor = math.gcd(*form.terms.values())
            if divisor and form.constant % divisor:
                return None
            result.append(form.times(-1))
        result.append(form)
    return [_tighten(form) for form in result]


def _tighten(form: Affine) -> Affine:
    divisor = math.gcd(*form.terms.values())
    if divisor <= 1:
        return form
    terms = {index: factor // divisor for index, factor in form.terms.items()}
    return Affine(terms, form.constant // divisor)


def _eliminate(forms: list[Affine], index: Index) -> list[Affine] | None:
    """One step of Fourier and Motzkin; None if a contradiction without indices appears."""
    below = [form for form in forms if form.terms.get(index, 0) > 0]
    above = [form for form in forms if form.terms.get(index, 0) < 0]
    unique: dict[tuple[tuple[int, int], ...], Affine] = {}
    others = [form for form in forms if index not in form.terms]
    products = [a.times(-b.terms[index]).plus(b.times(a.terms[index])) for a in below for b in above]
    for form in (*others, *map(_tighten, products)):
        if not form.terms:
            if form.constant < 0:
                return None
            continue
        key = tuple(sorted((id(variable), factor) for variable, factor in form.terms.items()))
        if key not in unique or form.constant < unique[key].constant:
            unique[key] = form
    return list(unique.values())

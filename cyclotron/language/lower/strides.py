"""Residue classes of indices (`if k % 2 == 0`): reductions over one, and whether there are many."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cyclotron.language.trace.statement import Statement
from cyclotron.language.values.affine import Affine, Constraint, Index, Region
from cyclotron.language.values.nodes import Reduce, substitute_indices

_MOST_CLASSES = 1000


def are_many(equations: Sequence[Statement]) -> bool:
    """Return whether assignments to one array leave too many classes to look for them."""
    strides = [c.modulus for one in equations for part in one.region for c in part if c.modulus]
    strides += [abs(factor) for one in equations for form in one.index for factor in form.terms.values()]
    return math.lcm(*strides) > max(_MOST_CLASSES, 8 * max(strides, default=1))


def has_residue(region: Region, index: Index) -> bool:
    """Return whether a region has a constraint on a residue of a form with that index."""
    return any(c.modulus and index in c.form.terms for conjunction in region for c in conjunction)


def along(value: Reduce) -> Reduce:
    """A reduction over one residue class of its index, as one over an index that counts its values."""
    while len(value.region) == 1:
        constraint = next((c for c in value.region[0] if c.modulus and value.index in c.form.terms), None)
        new = Index(value.index.name, value.index.span)
        form = None if constraint is None else _solved(constraint, value.index, new)
        if form is None:
            break
        values = {value.index: form}
        region = (tuple(c.substitute(values) for c in value.region[0] if c is not constraint),)
        value = Reduce(value.kind, new, region, substitute_indices(value.body, values), value.span)
    return value


def _reduced(constraint: Constraint) -> Constraint | None:
    """The constraint with the least modulus and coefficients; None where it never holds."""
    modulus = constraint.modulus
    terms = {index: factor % modulus for index, factor in constraint.form.terms.items()}
    divisor = math.gcd(modulus, *terms.values())
    if constraint.form.constant % divisor:
        return None
    form = Affine(terms, constraint.form.constant % modulus)
    reduced = Affine({i: f // divisor for i, f in form.terms.items()}, form.constant // divisor)
    return Constraint(reduced, modulus=modulus // divisor)


def _solved(constraint: Constraint, index: Index, new: Index) -> Affine | None:
    """An index as a multiple of a new one plus other indices; None where it is not that."""
    simple = _reduced(constraint)
    if simple is None:
        return None
    modulus, factor = simple.modulus, simple.form.terms.get(index, 0)
    if not factor or math.gcd(factor, modulus) != 1:
        return None
    inverse = pow(factor, -1, modulus)
    # Of the equal forms the one whose new index is not negative where the others are not.
    terms = {i: -(inverse * f % modulus) for i, f in simple.form.terms.items() if i is not index}
    return Affine({**terms, new: modulus}, -inverse * simple.form.constant % modulus)

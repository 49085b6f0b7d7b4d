"""The codes of the errors that tracing can raise (CYC1xx); tests/errors has one example of each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CODES: Mapping[str, str] = MappingProxyType(
    {
        "CYC100": "the source of the kernel cannot be read",
        "CYC101": "a statement that is no recurrence (try, `while` without a bound, ...)",
        "CYC102": "a loop over no array, and no range with affine bounds and a constant step",
        "CYC103": "an index expression that is not affine",
        "CYC104": "a condition on data where it cannot be, or one that is not affine",
        "CYC105": "an operation or function that is no operator on elements",
        "CYC106": "an assignment to an input",
        "CYC107": "a slice or whole-array statement",
        "CYC108": "a wrong number of subscripts",
        "CYC109": "an index used outside its loop, assigned to, or used twice",
        "CYC110": "an index used as a number or as a value",
        "CYC111": "a local variable that carries a value out of an iteration or branch",
        "CYC112": "a comprehension or reduction of an unsupported form",
        "CYC113": "an accumulation that is not a plain reduction",
        "CYC114": "a return of something else than arrays and numbers",
        "CYC115": "a tensor declared in a way that the compiler cannot see",
        "CYC116": "a kernel signature or argument that cannot be traced",
        "CYC118": "the intermediate language used outside a kernel or in a wrong form",
        "CYC120": "dtypes that do not agree",
        "CYC121": "an operation that is not defined for the dtype",
        "CYC122": "a shape or tile shape that does not fit",
        "CYC123": "subscripts of einsum that are malformed or do not fit the operands",
        "CYC124": "a value of another type than its name or parameter is declared with",
    }
)

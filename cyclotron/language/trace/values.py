"""The expressions of the intermediate language: reductions, choices and functions."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cyclotron.language.trace.assign import new_array
from cyclotron.language.trace.branches import chosen_array
from cyclotron.language.trace.conditions import Parted, as_element, every, some, taken, truth, without_changes
from cyclotron.language.trace.loops import as_condition, range_domain
from cyclotron.language.trace.statement import Scope, Statement
from cyclotron.language.trace.trace import Trace, active_trace
from cyclotron.language.values import operations
from cyclotron.language.values.affine import (
    EVERYWHERE,
    Affine,
    Constraint,
    Index,
    Region,
    affine,
    intersection,
)
from cyclotron.language.values.array import LazyArray, SymbolicArray, combine, operand
from cyclotron.language.values.broadcasting import same, text
from cyclotron.language.values.condition import Condition, Extremum, Piecewise, tested
from cyclotron.language.values.dispatch import Arithmetic, Array, PartialArray, Term
from cyclotron.language.values.nodes import (
    Choose,
    Constant,
    Element,
    Reduce,
    Tensor,
    accesses,
    forms_of,
    retyped,
)
from cyclotron.language.values.operations import element, where_of_numpy
from cyclotron.language.values.ranges import range_of_reduction
from cyclotron.language.values.region import extent, indices_of, is_empty, project
from cyclotron.language.values.scalar_type import ScalarType, promote
from cyclotron.language.values.scalars import as_python, explicit_cast
from cyclotron.language.values.source_span import here, shape_error, trace_error
from cyclotron.language.values.tensor import SymbolicTensor
from cyclotron.support.errors import Span, TraceError

Body = Callable[[Affine], object]
_NEUTRAL = {"sum": 0, "product": 1}
_NUMBERS = (bool, int, float, complex, np.generic, Affine)


def sum(name: str, start: object, stop: object, body: Body, **options: Any) -> Any:
    """The sum of ``body(k)`` over ``range(start, stop, step)`` where ``where(k)``; 0 over nothing."""
    return _reduce("sum", name, start, stop, _counted(body), **options)


def prod(name: str, start: object, stop: object, body: Body, **options: Any) -> Any:
    """The product of ``body(k)`` over ``range(start, stop, step)`` where ``where(k)``; 1 over nothing."""
    return _reduce("product", name, start, stop, _counted(body), **options)


def max(name: str, start: object, stop: object, body: Body, **options: Any) -> Any:
    """The maximum of ``body(k)`` over ``range(start, stop, step)`` where ``where(k)``; never over nothing.

    With `skip_empty`, whose body is another maximum, over those ``k`` only where that is not over nothing.
    """
    return _reduce("maximum", name, start, stop, body, **options)


def min(name: str, start: object, stop: object, body: Body, **options: Any) -> Any:
    """The minimum of ``body(k)`` over ``range(start, stop, step)`` where ``where(k)``; never over nothing.

    With `skip_empty`, whose body is another minimum, over those ``k`` only where that is not over nothing.
    """
    return _reduce("minimum", name, start, stop, body, **options)


def any(name: str, start: object, stop: object, body: Body, **options: Any) -> Any:
    """Return whether ``body(k)`` holds for some ``k`` in ``range(start, stop, step)``; False over nothing."""
    return _of_booleans("any", _reduce("sum", name, start, stop, _tested(body), **options))


def all(name: str, start: object, stop: object, body: Body, **options: Any) -> Any:
    """Return whether ``body(k)`` holds for each ``k`` in ``range(start, stop, step)``; True over nothing."""
    return _of_booleans("all", _reduce("product", name, start, stop, _tested(body), **options))


def choose(test: object, then: Callable[[], object], other: Callable[[], object]) -> object:
    """``then()`` where a test of indices, data or host values holds, else ``other()``."""
    known = _decided(truth(test))
    if isinstance(known, bool):
        return then() if known else other()
    values = (taken(branch, known, holds=holds) for branch, holds in ((then, True), (other, False)))
    first, second = (element(value) if _is_new_number(value) else value for value in values)
    result = _chosen(known, first, second)
    if isinstance(result, Element):  # in an array, each value is converted as it is
        result.of_changed = lambda change: element(
            _chosen(known, change(element(first)), change(element(second)))
        )
    return result


def _chosen(test: Element | Condition, first: object, second: object) -> object:
    if isinstance(test, Element):
        return _chosen_by_data(test, first, second)
    if (
        isinstance(first, SymbolicArray)
        and isinstance(second, SymbolicArray)
        and first.shape
        and second.shape
    ):
        return _chosen_array(test, first, second)
    return operations.where(test, element(first), element(second))


def _decided(test: Element | Condition | bool) -> Element | Condition | bool:
    """A test as it is; its truth where it has the same one at all points where the value is taken."""
    if not isinstance(test, Condition):
        return test
    points = active_trace().taken()

    def has_points(region: Region) -> bool:
        return builtins.any(not is_empty((*a, *b)) for a in points for b in region)

    if not has_points(test.region):
        return False
    return test if has_points(test.negated().region) else True


def select(
    function: Callable[..., object], test: object, then: Callable[[], object], other: Callable[[], object]
) -> object:
    """``cy.where(test, then(), other())``, each of which is computed where the test on indices leaves it."""
    test = tested(test)
    if not isinstance(test, Condition):
        return function(test, then(), other())
    values = (taken(branch, test, holds=holds) for branch, holds in ((then, True), (other, False)))
    return where_of_numpy(test, *values)


def and_(*values: Callable[[], object]) -> object:
    """Return Python's `and`: the first value that is false, or the last; of bools whether all hold."""
    return _connected(values, stops_at=False)


def or_(*values: Callable[[], object]) -> object:
    """Return Python's `or`: the first value that is true, or the last; of bools whether one holds."""
    return _connected(values, stops_at=True)


def one_of(value: Any, items: Any) -> object:
    """Return Python's `value in items`, of indices and data too where the items are the host's."""
    held = items if isinstance(items, (tuple, list, set, frozenset)) else ()
    symbolic = builtins.any(isinstance(one, (Affine, Arithmetic, SymbolicArray)) for one in (value, *held))
    if not symbolic or isinstance(items, SymbolicArray):
        return value in items
    if isinstance(items, range):
        items = items if items.step > 0 else items[::-1]
        bounds = (lambda: value >= items.start, lambda: value < items.stop)
        return and_(*bounds, lambda: (value - items.start) % items.step == 0)
    return or_(*(lambda one=one: value == one for one in items), lambda: False)


def _connected(values: Sequence[Callable[[], object]], *, stops_at: bool) -> object:
    first = values[0]()
    if len(values) == 1:
        return first
    known = truth(first)
    if isinstance(known, bool):
        return first if known is stops_at else _connected(values[1:], stops_at=stops_at)
    rest = taken(lambda: _connected(values[1:], stops_at=stops_at), known, holds=not stops_at)
    if _is_truth(first) and _is_truth(rest):
        return (some if stops_at else every)(lambda: first, lambda: rest)
    then, other = (
        Choose(one, Constant(True, here()), Constant(False, here()), here())
        if isinstance(one, Condition)
        else one
        for one in ((first, rest) if stops_at else (rest, first))
    )
    if isinstance(then, SymbolicArray) or isinstance(other, SymbolicArray):
        then, other = _promoted(then, other)
    return choose(first, lambda: then, lambda: other)


def _promoted(*values: object) -> list[object]:
    """Arrays without axes and numbers in the dtype that NumPy promotes them to; others as they are."""
    arrays = [operand(value) for value in values]
    if builtins.any(array.shape for array in arrays):
        return list(values)
    dtype, _ = promote("where", ScalarType("bool"), *(array.type for array in arrays))
    return [array.astype(dtype) for array in arrays]


def _is_truth(value: object) -> bool:
    if isinstance(value, (Element, SymbolicArray)):
        return value.dtype == "bool"
    return isinstance(value, (bool, np.bool_, Condition, Piecewise))  # a remainder is no value but this


def all_of(*tests: object) -> object:
    """Return Python's `and` of values that are there, as those of indices."""
    return and_(*(lambda test=test: test for test in tests))


def any_of(*tests: object) -> object:
    """Return Python's `or` of values that are there, as those of indices."""
    return or_(*(lambda test=test: test for test in tests))


def _is_new_number(value: object) -> bool:
    return isinstance(value, LazyArray) and not value.shape and value.viewed is None


def _chosen_by_data(test: Element, first: object, second: object) -> object:
    """One of two values, by a bool that the kernel computes."""
    if (
        isinstance(test, Parted)
        and not isinstance(first, SymbolicArray)
        and not isinstance(second, SymbolicArray)
    ):
        chosen = operations.where(test.then, first, second)
        return operations.where(test.condition, chosen, element(first if test.elsewhere else second))
    if isinstance(first, SymbolicArray) or isinstance(second, SymbolicArray):
        return chosen_array("what is chosen", test, first, second)
    return operations.where(test, first, second)


def _chosen_array(test: Condition, first: SymbolicArray, second: SymbolicArray) -> SymbolicArray:
    """One of two new arrays, by a condition on indices."""
    for value in (first, second):
        if not isinstance(value, LazyArray):
            raise trace_error(
                "CYC107",
                f"`{value.name}` itself, or another array, is chosen by a condition on indices",
                help=f"choose between new arrays, e.g. `{value.name}.copy()`: which array a name means may"
                " not depend on the condition",
            )
    agree = len(first.shape) == len(second.shape) and builtins.all(map(same, first.shape, second.shape))
    if not agree or first.dtype_name != second.dtype_name:
        raise shape_error(
            "CYC120" if agree else "CYC122",
            f"a condition on indices chooses between {first.dtype_name} of shape {text(first.shape)} and"
            f" {second.dtype_name} of shape {text(second.shape)}",
            help="what a name holds has one shape and dtype: convert one of the arrays, e.g. with `.astype`",
        )
    return combine("where", (test, first, second))


def term(value: object) -> Term:
    """``C[i, j] += il.term(e)``: accumulate over the loop that the subscripts do not name."""
    return Term(value)


def outputs(**tensors: object) -> dict[str, Tensor]:
    """``return il.outputs(C=C)``: name the results; a kernel that another one calls just returns them."""
    trace = active_trace()
    if builtins.any(scope.branch is not None for scope in trace.scopes[trace.entered :]):
        raise trace_error(
            "CYC101",
            "a condition that is known only when the program runs decides what is returned",
            help="assign the result in both branches, and return it at the end of the kernel",
        )
    if trace.calls:
        return tensors  # type: ignore[return-value]  # what the caller computes with
    result: dict[str, Tensor] = {}
    for name, value in tensors.items():
        if isinstance(value, PartialArray):
            raise value.refused()
        if not isinstance(value, (SymbolicArray, Element, np.ndarray, *_NUMBERS)):
            message = f"`{name}` is returned but is no array and no number"
            raise trace_error(
                "CYC114", message, help="return arrays and numbers, e.g. `X, s`, `cy.array([s, t])`"
            )
        tensor = value if isinstance(value, SymbolicTensor) else new_array(operand(value), name)
        unchanged = tensor.is_input and tensor not in {statement.target for statement in trace.statements}
        again = builtins.any(tensor is other for other in result.values())
        if unchanged or again or (tensor.is_input and tensor.name != name):  # inputs keep their names
            tensor = new_array(tensor if tensor.tile else tensor.expression(), name)
        is_taken = builtins.any(
            t.is_input and t.unique_name == name and t is not tensor for t in trace.tensors
        )
        tensor.name = name
        result[f"{name}_out" if is_taken else name] = tensor  # `x = x + 1` is another x than the input
    for flag in (*trace.reached_bounds, *trace.prints):
        result[flag.unique_name] = flag
    _rename(trace, result)
    trace.outputs = result
    return result


def _rename(trace: Trace, result: dict[str, Tensor]) -> None:
    """Give results their names; other tensors that had them step aside."""
    for name, tensor in result.items():
        for other in trace.tensors:
            if other.unique_name == name and other is not tensor:
                other.unique_name = f"{name}_local"
        tensor.unique_name = name


def maximum(*values: object) -> object:
    """The largest of elements; of indices as the start of a range; of host values as in Python."""
    return _extremum("maximum", values)


def minimum(*values: object) -> object:
    """The smallest of elements; of indices as the stop of a range; of host values as in Python."""
    return _extremum("minimum", values)


def _symbolic(value: object) -> bool:
    return _is_number_of_data(value) or isinstance(value, (Affine, Extremum, Piecewise, Condition))


def _function(op: str, host: Callable[..., object], about: str) -> Callable[..., object]:
    """A function of elements or host values."""

    def function(*values: object) -> object:
        return _of_math(op, values) if builtins.any(map(_symbolic, values)) else host(*values)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"{about} of an element or host value."
    return function


def _of_math(op: str, values: Sequence[object]) -> Any:
    """A function of Python's floating numbers, of which it gives one; of data it is that of elements."""
    if builtins.any(map(_has_axes, values)):
        return operations.apply(op, *values)
    operands = list(map(element, values))
    if builtins.any(one.type.kind == "c" for one in operands):
        help = "the functions of cy are of complex numbers too, e.g. `cy.sin`; or take the real part"
        raise trace_error(
            "CYC105", f"a function of Python's `math`, {op}, is taken of a complex number", help=help
        )
    if not builtins.any(one.blocked for one in operands):
        operands = [as_python(one, "float64") for one in operands]
    made = operations.apply(op, *operands, flags=("checked",) if op in ("sqrt", "log") else ())
    of_numbers = builtins.all(one.type.weak for one in operands)
    return retyped(made, ScalarType(made.dtype, True)) if of_numbers else made


def _has_axes(value: object) -> bool:
    return isinstance(value, PartialArray) or (isinstance(value, SymbolicArray) and bool(value.shape))


sqrt = _function("sqrt", math.sqrt, "The square root")
exp = _function("exp", math.exp, "The exponential")
log = _function("log", math.log, "The natural logarithm")
absolute = _function("absolute", math.fabs, "The absolute value")
sin = _function("sin", math.sin, "The sine")
cos = _function("cos", math.cos, "The cosine")
sinh = _function("sinh", math.sinh, "The hyperbolic sine")
cosh = _function("cosh", math.cosh, "The hyperbolic cosine")
tanh = _function("tanh", math.tanh, "The hyperbolic tangent")
log1p = _function("log1p", math.log1p, "The logarithm of one more")
expm1 = _function("expm1", math.expm1, "The exponential, less one,")
hypot = _function("hypot", math.hypot, "The length of the vector")
arctan2 = _function("arctan2", math.atan2, "The angle of the point (y, x)")
is_nan = _function("is_nan", math.isnan, "The NaN test")
is_finite = _function("is_finite", math.isfinite, "The test for a finite number")


def power(base: object, exponent: object) -> object:
    """The power of elements or host values."""
    if _symbolic(base) or _symbolic(exponent):
        return _of_math("power", (base, exponent))
    return math.pow(base, exponent)  # type: ignore[arg-type]


def _extremum(op: str, values: tuple[object, ...]) -> object:
    if len(values) == 1:
        return values[0]
    largest = op == "maximum"
    of_indices = builtins.any(isinstance(value, (Affine, Extremum, Piecewise, Condition)) for value in values)
    bounds = builtins.all(_forms(value, largest) is not None for value in values)  # perhaps of a range
    numbers = of_indices and not bounds
    if numbers or builtins.any(map(_is_number_of_data, values)):
        result = element(values[0])
        for value in map(element, values[1:]):
            _check_one_type(op, result, value)
            text = f"{op[:3]}({_text(result)}, {_text(value)})"
            result = operations.apply(_of_python(op, value), result, value)
            if result.is_index:
                result.text = text
        return result
    if of_indices:
        return Extremum(largest, tuple(form for value in values for form in _forms(value, largest) or ()))
    host: Callable[..., Any] = builtins.max if largest else builtins.min
    return host(*values)


def _is_number_of_data(value: object) -> bool:
    return isinstance(value, (Element, SymbolicTensor)) or (
        isinstance(value, SymbolicArray) and not value.shape
    )


def _of_python(kind: str, value: Element | SymbolicArray) -> str:
    """Python's maximum or minimum where NumPy's differs: the first value, unless the next is more or less."""
    number = isinstance(value, Constant) and value.value == value.value
    return kind if number or value.type.kind in "biu" else f"first_{kind}"


def _text(value: Element) -> str:
    return str(value.value) if isinstance(value, Constant) else value.text or "..."


def _check_one_type(op: str, *values: Element) -> None:
    """Check that numbers without data, of which Python takes one as it is, have one type."""
    kinds = {"Python's" if value.type.weak else f"NumPy's {value.dtype}": value for value in values}
    if len(kinds) > 1 and not builtins.any(map(accesses, values)):
        raise shape_error(
            "CYC120",
            f"`{op[:3]}` chooses between numbers of different types, {' and '.join(kinds)}, and which one it"
            " is decides the dtype",
            help=f"convert what is chosen to one type, e.g. `{op[:3]}(np.float32(i), np.float32(1))`",
        )


def _forms(value: object, largest: bool) -> tuple[Affine, ...] | None:
    """The forms of which a value is the largest or the smallest; None where it is no such bound."""
    if isinstance(value, Extremum):
        return value.forms if value.largest == largest else None
    form = affine(value)
    return None if form is None else (form,)


def _reduce(
    kind: str,
    name: str,
    start: object,
    stop: object,
    body: Body,
    *,
    where: Body | None = None,
    step: object = 1,
    skip_empty: bool = False,
) -> Any:
    trace = active_trace()
    span = here()
    index = trace.new_index(name, hides=True)
    value, region = range_domain(index, (start, stop, step))
    trace.open_loop(index, region)
    made = len(trace.statements)
    trace.open_terms += 1
    try:
        scope = trace.scopes[-1]
        data = None
        if where is not None:
            condition, data = _filter(kind, where(value))
            scope.region = intersection(scope.region, condition.region)
            if len(scope.region) > 1:
                scope.region = _with_points(trace.region(), scope.region)
        around = trace.region()
        term = without_changes(
            lambda: _term_of(body, value, kind, scope.region),
            "a term of a sum, product, maximum or minimum",
            "in a loop",
        )
        if kind not in _NEUTRAL and len(scope.region) > 1:
            term = _fill_gaps(scope, index, term, lambda first: body(_at(value, index, first)))
        if data is not None:
            neutral = bool(_NEUTRAL[kind]) if _is_truth(term) else _NEUTRAL[kind]
            term = operations.where(data, term, neutral)
        expression = None if isinstance(term, Array) else element(term)
        ranges = [one for part in (*around, *scope.region) for one in part]
        if _differ(index, ranges, trace.statements[made:]):
            is_array = isinstance(term, SymbolicArray) and term.shape
            expression = _kept(kind, index, None if is_array else element(term), scope)
    finally:
        trace.open_terms -= 1
        trace.scopes.pop()
    region = scope.region
    if kind not in _NEUTRAL:
        kind = _of_python(kind, operand(term) if expression is None else expression)
    nothing = kind in _NEUTRAL and builtins.all(map(is_empty, region))
    if expression is None and nothing:
        return _NEUTRAL[kind]
    if expression is None:
        return _of_arrays(kind, index, region, term, span, by_data=data is not None)
    if skip_empty and isinstance(expression, Reduce):
        region = _not_empty(region, expression)
    if isinstance(expression, Constant):
        expression = retyped(explicit_cast(expression, expression.dtype), expression.type)
    known = range_of_reduction(kind, index, region, expression.type.range)
    result = Reduce(kind, index, region, expression, span, replace(expression.type, range=known))
    return _of_nothing(result) if nothing and expression.dtype != "bool" else result


def _with_points(around: Region, region: Region) -> Region:
    """The parts of a region that have points, where some have."""
    found = tuple(part for part in region if not builtins.all(map(is_empty, intersection(around, (part,)))))
    return found or region


def _at(value: Affine, index: Index, place: int) -> Affine:
    return value.substitute({index: Affine({}, place)})


def _fill_gaps(scope: Scope, index: Index, term: object, term_at: Callable[[int], object]) -> object:
    """The term of a maximum or minimum whose range a filter leaves with gaps, without these.

    There it is the first term once more, which changes nothing: it does not even replace NaN in Python's.
    """
    region = scope.region
    ends = extent(region, index)
    if ends is None or indices_of(region) != [index]:  # another range at other points
        return term
    first, last = (Affine({}, end) for end in ends)
    at = Affine({index: 1}, 0)
    scope.region = ((Constraint(at.plus(first.times(-1))), Constraint(last.plus(at.times(-1)))),)
    return operations.where(Condition(region), term, term_at(ends[0]))


def _of_nothing(value: Reduce) -> Element:
    """Python's whole number, whatever the terms would be; schedules may name what those read."""
    neutral = int(_NEUTRAL[value.kind])
    real = operations.apply("real", value) if value.type.kind == "c" else value
    return retyped(as_python(real, "int64"), ScalarType("int64", True, (neutral, neutral)))


def _differ(index: Index, known: Sequence[Constraint], made: Sequence[Statement]) -> bool:
    """Return whether terms are made of arrays that differ from term to term.

    That is where what is recorded reads the index, or depends on more of it than the `known` range.
    """
    own = set(map(id, known))
    for statement in made:
        values = forms_of(statement.value)
        limits = [one.form for part in statement.region for one in part if id(one) not in own]
        if builtins.any(index in form.terms for form in (*values, *limits)):
            return True
    return False


def _kept(kind: str, index: Index, term: Element | None, scope: Scope) -> Element:
    """The terms of a reduction in an array, which the loop over them fills with what they are made of."""
    trace = active_trace()
    ends = extent(trace.region(), index)
    if term is None or term.counts or ends is None:
        raise trace_error(
            "CYC107",
            f"each term of the {kind} over `{index.name}` is made of an array of its own",
            help=f"add the terms in a loop, e.g. `for {index.name} in ...: total[i] += ...`",
        )
    trace.scopes.pop()
    terms = trace.declare("terms", (ends[1] - ends[0] + 1,), None, term.dtype, None, anywhere=True)
    trace.scopes.append(scope)
    at = (Affine({index: 1}, -ends[0]),)
    trace.assign(terms, at, term)
    kept = element(terms.at(at))
    return as_python(kept, term.dtype) if term.type.weak else kept


def _term_of(body: Body, at: Affine, kind: str, region: Region) -> object:
    """A term; where there are none, Python's error in making one does not matter."""
    try:
        return body(at)
    except ArithmeticError:
        if kind in _NEUTRAL and builtins.all(map(is_empty, region)):
            return _NEUTRAL[kind]
        raise


def _filter(kind: str, test: object) -> tuple[Condition, Element | None]:
    """The filter of a reduction: a condition on indices, and data that choose between a term and nothing."""
    known = truth(test)
    if isinstance(known, (bool, Condition)):
        return as_condition(known), None
    if kind not in _NEUTRAL:
        raise trace_error(
            "CYC104",
            f"data decide which terms the {kind} takes",
            help="choose a term that does not matter for the others: `... if condition else ...`",
        )
    if isinstance(known, Parted) and not known.elsewhere:
        return known.condition, known.then
    return Condition(EVERYWHERE), known


def _counted(body: Body) -> Body:
    """Terms of a sum or product; truth values are whole numbers there, as in Python."""

    def term(at: Affine) -> object:
        value = body(at)
        if isinstance(value, Array):
            return _counts(operand(value)) if value.dtype_name == "bool" else value
        one = element(value)
        if one.dtype != "bool":
            return one
        counted = as_python(one, "int64") if one.type.weak else operations.cast(one, "int64")
        counted.counts = True
        return counted

    return term


def _counts(truths: SymbolicArray) -> SymbolicArray:
    """Truth values as whole numbers; added one by one to others they are truth values still."""
    counted = truths.astype("int64")
    assert isinstance(counted, LazyArray)
    counted.term_type = truths.type
    return counted


def _tested(body: Body) -> Body:
    """Terms of `any` and `all`: what numbers make is a truth value there, as in Python."""

    def term(at: Affine) -> object:
        value = body(at)
        if isinstance(value, Array) or not element(value).type.weak:
            return value
        return as_element(truth(value))

    return term


def _of_arrays(kind: str, index: Index, region: Region, term: Any, span: Span, *, by_data: bool) -> LazyArray:
    """A reduction of arrays: of each element; whether data choose its terms."""

    def folded(term: Any) -> LazyArray:
        return LazyArray(
            term.shape,
            term.dtype_name,
            lambda at: Reduce(kind, index, region, term.at(at), span),
            (term,),
            costly=True,
            label="sum",
        )

    result = folded(term)
    result.summed = lambda dtype: folded(term.astype(dtype))
    result.term_type = (isinstance(term, LazyArray) and term.term_type) or term.type
    result.terms_by_data = by_data
    return result


def _not_empty(region: Region, inner: Reduce) -> Region:
    """The part of a reduction's domain where the one inside it has a term."""
    shadow = project(inner.region, inner.index)
    if shadow is None:
        raise TraceError(
            f"where the range of `{inner.index.name}` is empty depends on other indices in a way that is"
            " too difficult here",
            code="CYC112",
            span=inner.span,
            help="write two nested reductions, the outer one where the inner range has terms",
        )
    return intersection(region, shadow)


def _of_booleans(kind: str, reduction: Any) -> Any:
    """On bool elements the sum is the disjunction and the product the conjunction, in NumPy too."""
    dtype = reduction.dtype_name if isinstance(reduction, Array) else reduction.dtype
    if dtype != "bool":
        raise shape_error(
            "CYC121",
            f"`{kind}` folds {dtype} elements, and they are no truth values",
            help='convert the inputs, e.g. `A.astype("bool")`, or take a maximum or minimum',
        )
    return reduction if isinstance(reduction, Array) else as_python(reduction, "bool")

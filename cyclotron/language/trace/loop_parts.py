"""The parts in which a loop that carries numbers is recorded: all iterations, or the first and the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cyclotron.language.trace.conditions import truth
from cyclotron.language.trace.loop_carried import CarriedNumber
from cyclotron.language.trace.loops import loop, range_domain
from cyclotron.language.trace.trace import Trace, active_trace
from cyclotron.language.values.affine import Affine, Constraint, Index, affine, intersection
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.nodes import Access, Constant, Element, rebuild, transform
from cyclotron.language.values.region import is_empty
from cyclotron.language.values.source_span import here, shape_error
from cyclotron.language.values.tensor import SymbolicTensor

_NAMES = ("first", "second", "third", "fourth")


def loop_parts(
    name: str,
    *bounds: object,
    numbers: Sequence[object],
    running: SymbolicTensor | None = None,
    test: Callable[[], object] | None = None,
) -> Iterator[loop]:
    """``for part in il.parts("k", 0, n, numbers=[s_kept]):``, each of which is opened by `with part as k:`.

    Parameters
    ----------
    name, *bounds, running
        As for `il.loop`.
    numbers : sequence
        What `il.kept` gave for numbers.
    test : callable, optional
        The condition of a `while`.

    Raises
    ------
    ShapeError
        CYC120 if an iteration changes the type of a number, and it is not known whether there is one.
    """
    carried = [one for one in numbers if isinstance(one, CarriedNumber)]
    depth = max((len(one.types) for one in carried), default=0)
    if not depth:
        yield loop(name, *bounds, running=running)
        return
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    for one in carried:
        one.starts_apart()
    for number in range(depth + 1):
        begins = _begins(name, (start, stop, step)) if test is None else _known(active_trace(), truth(test()))
        if number and (begins is False or number == depth):
            for one in carried:  # which may have left the loop before what the host knows
                one.ends_apart()
        if begins is False:
            return
        if number == depth:
            yield loop(name, start, stop, step, running=running)
            return
        if begins is not True:
            first = next(one for one in carried if len(one.types) > number)
            own = first.types[number].dtype
            raise shape_error(
                "CYC120",
                f"`{first.name}` gets another type, {own}, in the {_NAMES[number]} iteration of a loop, and"
                " whether there is one is known only when the program runs",
                help=f"start with a number of that type, e.g. `{first.name} = np.{first.types[-1].dtype}(0)`",
            )
        following = start + step  # type: ignore[operator]
        yield loop(name, start, following, step, running=running, once=True)
        start = following
        for one in carried:
            one.goes_on()


def _begins(name: str, bounds: tuple[object, ...]) -> bool | None:
    """Return whether a loop has an iteration, wherever it stands; None where that depends on loops around."""
    index = Index(name, here())
    _, region = range_domain(index, bounds)
    if all(map(is_empty, region)):
        return False
    if all(term is index for part in region for c in part for term in c.form.terms):
        return True
    start, stop, step = (affine(bound) for bound in bounds)
    if start is None or stop is None or step is None or start.divisor != 1 or stop.divisor != 1:
        return None
    ahead = stop.plus(start.times(-1)).times(1 if step.constant > 0 else -1)
    around = active_trace().region()
    behind, some = Constraint(ahead.times(-1)), Constraint(ahead.plus(Affine({}, -1)))
    if all(map(is_empty, intersection(around, ((behind,),)))):
        return True
    return False if all(map(is_empty, intersection(around, ((some,),)))) else None


def known_test(test: Element | Condition | bool) -> Element | Condition | bool:
    """A test as it is, or its truth where nothing has been assigned that it reads."""
    known = _known(active_trace(), test)
    return test if known is None else known


def _known(trace: Trace, test: Element | Condition | bool) -> bool | None:
    """The truth of a test, of host values and of arrays that hold what they were filled with; else None."""
    if isinstance(test, bool):
        return test
    if isinstance(test, Condition) or not trace.once.issuperset(trace.indices()):
        return None

    def changed(part: Element, operands: list[Element]) -> Element:
        if isinstance(part, Access):
            tensor = part.tensor
            filled = tensor.initial is not None and not tensor.assigned and not tensor.is_input
            return Constant(tensor.start, part.span, part.type) if filled else part
        return rebuild(part, operands)

    value = transform(test, changed)
    return bool(value.value) if isinstance(value, Constant) else None

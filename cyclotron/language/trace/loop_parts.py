"""The parts in which a loop that carries numbers is recorded: all iterations, or the first and the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cyclotron.language.trace.conditions import truth
from cyclotron.language.trace.loop_carried import CarriedNumber
from cyclotron.language.trace.loops import loop, range_domain
from cyclotron.language.trace.trace import Trace, active_trace
from cyclotron.language.values.affine import Index
from cyclotron.language.values.condition import Condition
from cyclotron.language.values.nodes import Access, Constant, Element, rebuild, transform
from cyclotron.language.values.region import is_empty
from cyclotron.language.values.source_span import here, shape_error
from cyclotron.language.values.tensor import SymbolicTensor


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
    apart = [one for one in carried if one.is_apart]
    if not apart:
        yield loop(name, *bounds, running=running)
        return
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    begins = _begins(name, bounds) if test is None else _known(active_trace(), truth(test()))
    if begins is False:
        return
    if begins is not True:
        first = apart[0]
        raise shape_error(
            "CYC120",
            f"`{first.name}` gets another type, {first.type.dtype}, in the first iteration of a loop, and"
            " whether there is one is known only when the program runs",
            help=f"start with a number of that type, e.g. `{first.name} = np.{first.type.dtype}(0)`",
        )
    second = start + step  # type: ignore[operator]
    for one in carried:
        one.has_started = not (one.is_apart or one.is_of_host)  # which the tests of the first one know
    yield loop(name, start, second, step, running=running, once=True)
    for one in carried:
        one.has_started = True
    yield loop(name, second, stop, step, running=running)


def _begins(name: str, bounds: tuple[object, ...]) -> bool | None:
    """Return whether a loop has an iteration, wherever it stands; None where that depends on loops around."""
    index = Index(name, here())
    _, region = range_domain(index, bounds)
    if all(map(is_empty, region)):
        return False
    alone = all(one is index for part in region for c in part for one in c.form.terms)
    return True if alone else None


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

"""Faults that the compiler once had, each put back on purpose: how many random programs it takes to find it.

    python tests/properties/faults_put_back.py --seed 7 [--programs 2000] [--faults NAME ...]

prints a line for each fault. Programs whose text cannot show a fault are passed over, and count.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import inspect
import random
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy_programs
import numpy_search

from cyclotron.compiler import cache
from cyclotron.language import kernel
from cyclotron.language.functions import compositions, einsum, elementwise, rearrangement
from cyclotron.language.trace import accumulate
from cyclotron.language.trace import values as trace_values
from cyclotron.language.values import array, blocked, scalar_type
from cyclotron.support import arguments

PROGRAMS = 2000


@dataclasses.dataclass(frozen=True)
class Fault:
    """A change of one function's text, and what a program that shows it has in its own, or its arguments.

    A fault that `refuses` shows in programs that are refused with it alone.
    """

    name: str
    function: Callable[..., Any]
    right: str
    wrong: str
    shows_in: str
    refuses: bool = False


FAULTS = (
    Fault(
        "numbers of NumPy lose their dtype",
        scalar_type.literal,
        "ScalarType(value.dtype.name)) if is_number",
        "ScalarType(value.dtype.name, True)) if is_number",
        r"np\.(int|float|bool_|complex)\w*\(",
    ),
    Fault(
        "the real part of a real array is a copy",
        array.SymbolicArray.real.fget,  # type: ignore[attr-defined]
        "else self",
        "else self.copy()",
        r"\.real\b|cy\.real\(",
    ),
    Fault(
        "the conjugate of a real array is a copy",
        array.SymbolicArray.conj,
        "else self",
        "else self.copy()",
        r"\.conj\(",
    ),
    Fault(
        "a transposed array is a copy",
        array.SymbolicArray.transpose,
        "return self.taken(picks, tuple(self.shape[axis] for axis in axes))",
        "return self.taken(picks, tuple(self.shape[axis] for axis in axes)).copy()",
        r"\.T\b|swapaxes",
    ),
    Fault(
        "a diagonal is a copy",
        rearrangement.diagonal,
        'return a.taken(picks, (size,), "the diagonal of an array")',
        'return a.taken(picks, (size,), "").copy()',
        r"diagonal\(",
    ),
    Fault(
        "clip without bounds is the array itself",
        compositions.clip,
        "return +a  # a new array",
        "return a",
        r"clip\(\w+, None, None",
    ),
    Fault(
        "a condition of Python's is one of NumPy's, whose sum is `or`",
        trace_values._of_booleans,
        'as_python(reduction, "bool")',
        "reduction",
        r"\b(any|all|not)\b|True|False",
    ),
    Fault(
        "0.0 and -0.0 are one argument",
        cache.identity,
        "return np.asarray(value).tobytes() if isinstance(value, (float, complex, np.generic)) else value",
        "return value",
        r"0\.0",
    ),
    Fault(
        "a rounded truth value is double",
        compositions.round,
        'a.astype("float16")',
        'a.astype("float64")',
        r"round\(",
    ),
    Fault(
        "a reciprocal of whole numbers is a quotient",
        elementwise.reciprocal,
        "if not is_whole(x.dtype):",
        "if True:",
        r"reciprocal\(",
    ),
    Fault(
        "a square has the sign of its number",
        elementwise.square,
        "_as_number(x) ** 2",
        "x * abs(x)",
        r"square\(",
    ),
    Fault(
        "sizes are NumPy's numbers",
        blocked.extents,
        "tuple(map(int, scalars))",
        "tuple(map(np.int64, scalars))",
        r"\.shape\[",
    ),
    Fault(
        "einsum that names axes is a copy",
        einsum._trace,
        "not parts.summed and not in_tiles",
        "parts.summed and not in_tiles",
        r"einsum\(\"(ij->ji|ii->i)\"",
    ),
    Fault(
        "Python's max and min are NumPy's",
        trace_values._of_python,
        'return kind if number or value.type.kind in "biu" else f"first_{kind}"',
        "return kind",
        r"(?<![.\w])(max|min)\(",
    ),
    Fault(
        "what is taken from 0 is the negative",
        accumulate._grow,
        'apply("subtract", first, term) if negative',
        'apply("negative", term) if negative and getattr(first, "value", 1) == 0'
        ' else apply("subtract", first, term) if negative',
        r"-=",
    ),
    Fault(
        "masked arrays lose their mask",
        arguments.as_array,
        "if isinstance(value, np.ma.MaskedArray):",
        "if False:",
        r"np\.ma\.",
    ),
    Fault(
        "interleaved writes are refused",
        kernel.Kernel.verified,
        "system.split_strides()",
        "pass",
        r"\[::-?2\]",
        refuses=True,
    ),
    Fault("halves are rounded up", compositions.round, "down + down % 2", "down + 1", r"round\("),
)


@contextlib.contextmanager
def put_back(fault: Fault) -> Iterator[None]:
    """Let the package have a fault."""
    function = inspect.unwrap(fault.function)
    assert isinstance(function, FunctionType), fault.name
    lines = textwrap.dedent(inspect.getsource(function)).splitlines(keepends=True)
    text = "".join(lines[next(n for n, line in enumerate(lines) if line.startswith("def ")) :])
    assert text.count(fault.right) == 1, f"{fault.name}: the text is another now"
    whole = compile(
        "from __future__ import annotations\n" + text.replace(fault.right, fault.wrong), __file__, "exec"
    )
    right = function.__code__
    function.__code__ = next(one for one in whole.co_consts if isinstance(one, CodeType))
    try:
        yield
    finally:
        function.__code__ = right


def programs_to_find(fault: Fault, seed: int, most: int = PROGRAMS) -> int | None:
    """The number of programs until one fails that holds without the fault; None where none does."""
    judge = numpy_search.Judge()
    for number in range(most):
        program = numpy_programs.draw(f"{seed}/{number}")
        if not re.search(fault.shows_in, f"{program.text}{program.arguments}{program.others}"):
            continue
        with put_back(fault):
            found = judge.judge(program, number)
        shows = found.outcome == "refused" if fault.refuses else found.fails
        if shows:
            right = judge.judge(program, number)
            if right.outcome == "ok" or not (fault.refuses or right.fails):
                return number + 1
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--programs", type=int, default=PROGRAMS, help="at most, for each fault")
    parser.add_argument("--seed", type=int, default=0, help="0 draws a fresh one")
    parser.add_argument("--faults", nargs="*", default=[one.name for one in FAULTS])
    given = parser.parse_args()
    seed = given.seed or random.SystemRandom().randrange(1, 1 << 31)
    print(f"seed {seed}")
    missed = 0
    for fault in FAULTS:
        if fault.name not in given.faults:
            continue
        found = programs_to_find(fault, seed, given.programs)
        missed += found is None
        print(f"{found or 'none of ' + str(given.programs):>12}  {fault.name}", flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()

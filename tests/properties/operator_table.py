"""Every operator and function of elements on every dtype, and pairs of those, beside NumPy.

A cell is an operator's text with `x`, and `y` for two operands, and the arguments that take their places.
All cells of the same arguments are one program; where that is refused each is one. DEVIATIONS is the one
place that says where kernels differ from NumPy on purpose.
"""

from __future__ import annotations

import functools
import itertools
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy_shim
from numpy_search import Judge
from numpy_values import DTYPES, WIDE

import cyclotron as cy

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

ADDED = ("bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2") if ml_dtypes else ()
HAD = (*DTYPES, *ADDED)
_WIDENS = bool(ml_dtypes) and (np.ones(1, "bfloat16") + 1.5).dtype != "bfloat16"
"""True where NumPy has numbers of Python as float32 beside added floats, with `ml_dtypes` before 0.7."""
CORNERS: dict[str, list[Any]] = {
    "b": [False, True],
    "i": [0, 1, -1, 2, -3, 7, "max", "min"],
    "u": [0, 1, 2, 3, 7, "max"],
    "f": [0.0, -0.0, 1.0, -1.5, 2.0, np.inf, -np.inf, np.nan, "max", "smallest_subnormal"],
    "c": [
        0j,
        complex(-0.0, -0.0),
        1j,
        2 - 1j,
        -1.5 + 0.5j,
        complex(np.inf, 1),
        complex(0, np.nan),
        complex(np.nan, np.inf),
        complex(-np.inf, np.nan),
    ],
}
ARITHMETIC = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">="]
# Whole numbers have no negative powers.
BINARY = [*(f"x {operator} y" for operator in ARITHMETIC), "x ** abs(y)"]
SWAPPED = [*(f"y {operator} x" for operator in ARITHMETIC), "y ** abs(x)"]
OF_PAIRS = ["maximum", "minimum", "logical_and", "logical_or", "logical_xor", "arctan2", "hypot", "isclose"]
BINARY += [*(f"cy.{name}(x, y)" for name in OF_PAIRS), "cy.where(x != 0, x, y)", "cy.clip(x, y, None)"]
ELEMENTARY = ["sqrt", "exp", "log", "log1p", "expm1", "cbrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"]
ELEMENTARY += ["log2", "log10", "abs", "sign", "floor", "ceil", "round", "square", "reciprocal"]
ELEMENTARY += ["isnan", "isinf", "isfinite", "logical_not"]
FOLDS = ["sum", "prod", "max", "min", "any", "all", "mean", "argmax", "argmin"]
UNARY = [
    "-x",
    "+x",
    "~x",
    "abs(x)",
    "x ** 2",
    "x ** 0.5",
    "x.real.copy()",
    "x.imag",
    "x.conj().copy()",
    "x.copy()",
]
UNARY += [f"cy.{name}(x)" for name in ELEMENTARY]
UNARY += [
    "cy.real(x).copy()",
    "cy.imag(x)",
    "cy.conj(x).copy()",
    "np.negative(x)",
    "np.rint(x)",
    "np.fabs(x)",
]
UNARY += [f"cy.{name}(x[1:6])" for name in FOLDS]
UNARY += [f"cy.where(cy.abs(x) < 100, x, 0).astype({dtype!r})" for dtype in DTYPES]
# Numbers in the text of a kernel or given as an argument, of Python and of NumPy, and arrays without axes.
NUMBERS: list[Any] = [True, 2, -3, 0, 2.5, -0.0, 1j]
NUMBERS_OF_NARROW = [*NUMBERS, np.int8(-2), np.uint8(3), np.int32(2), np.uint64(5), np.float32(2)]
NUMBERS += [np.dtype(name).type(2) for name in WIDE]
NUMBERS += [np.array(1, name) for name in WIDE]


@dataclass(frozen=True)
class Deviation:
    """Cells that kernels refuse though NumPy computes them, or that differ, and why."""

    operators: str  # a pattern of the whole text
    dtypes: str  # a pattern of the dtypes of the operands, as "int32 float64"
    reason: str
    refused: bool = True
    only_warnings: bool = False


# Besides these, what NumPy gives in a dtype that kernels do not have (longdouble) is refused;
# elements warn as arrays without axes do ("in divide", where NumPy may have "in scalar divide"); whole
# numbers that wrap, and casts of numbers that whole ones do not hold, give no warnings; a sum of nothing but
# -0.0 is -0.0; and numpy_shim says which last bits, parts of complex powers of zeros and infinities, and
# signs of the larger of two zeros are NumPy's own.
DEVIATIONS = [
    Deviation(
        r"cy\.(max|min|argmax|argmin|sign|round)\(.*|np\.rint\(x\)",
        "complex.*",
        "complex numbers have no order; NumPy's is that of their parts, and is asked for by those",
    ),
    Deviation(r"cy\.(log1p|expm1)\(x\)", "complex.*", "there is no complex kernel that is exact near 0"),
    Deviation(
        r"[xy] (==|!=|<|<=|>|>=) [xy]|cy\.(logical_\w+|where|clip)\(.*",
        r"uint\d+ int",
        "a number that the array's dtype does not hold is a slip",
    ),
    Deviation(
        r"y [<>]=? x",
        ".*complex.*",
        "Python asks the array first, so NumPy warns of `x > y` where the text has `y < x`",
        refused=False,
        only_warnings=True,
    ),
    Deviation(
        r"cy\.(maximum|minimum|clip|sign)\(.*",
        ".*(float8|bfloat16).*",
        "of 0.0 and -0.0 `ml_dtypes` takes the first as the larger, and keeps the zero of `sign`",
        refused=False,
    ),
    Deviation(r"cy\.tan\(x\)", "bfloat16|float8_.*", "the last bit is the C library's", refused=False),
]
if _WIDENS:
    DEVIATIONS.append(
        Deviation(
            r"y [<>]=? x",
            "(float8_.*|bfloat16) (np\\.)?(int8|uint8)",
            "Python asks the array first, so NumPy warns of `x > y` where the text has `y < x`",
            refused=False,
            only_warnings=True,
        )
    )
# Faults that are known; an entry goes with its fault.
OPEN: list[Deviation] = []


def shown(value: Any) -> str:
    """A dtype, or the type of a number of Python."""
    return value.dtype.name if isinstance(value, np.ndarray | np.generic) else type(value).__name__


def corners(dtype: str) -> np.ndarray:
    """The corner values of a dtype."""
    kind = "f" if dtype in ADDED else np.dtype(dtype).kind
    floats = ml_dtypes if dtype in ADDED else np
    limits: Any = np.iinfo(dtype) if kind in "iu" else floats.finfo(dtype) if kind == "f" else None
    return np.array([getattr(limits, one) if isinstance(one, str) else one for one in CORNERS[kind]], dtype)


def operands(dtypes: tuple[str, ...]) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """The operators and the arguments of each program; of narrow types with themselves and a few others."""
    narrow = dtypes != WIDE
    others = ("bool", "int32", "int64", "float32") if narrow else ()
    for dtype in dtypes:
        yield UNARY, {"x": corners(dtype)}
    alike = [(one, one) for one in dtypes] if dtypes == ADDED else itertools.product(dtypes, dtypes)
    for one, other in (*alike, *itertools.product(dtypes, others)):
        x, y = (a.ravel() for a in np.meshgrid(corners(one), corners(other), indexing="ij"))
        yield BINARY, {"x": x, "y": y}
    for dtype, number in itertools.product(dtypes, NUMBERS_OF_NARROW if narrow else NUMBERS):
        yield [*BINARY, *SWAPPED], {"x": corners(dtype), "y": number}


@dataclass
class Cell:
    """The results of an operator by NumPy and by the package."""

    operator: str
    dtypes: str
    differs: str = ""
    refused: bool = False
    only_warnings: bool = False

    @property
    def deviation(self) -> Deviation | None:
        """The deviation that says that it is refused."""
        for one in [*DEVIATIONS, *OPEN]:
            if re.fullmatch(one.operators, self.operator) and re.fullmatch(one.dtypes, self.dtypes):
                return one
        return None

    @property
    def is_on_purpose(self) -> bool:
        """Tell whether a deviation says that it differs, and so: by a refusal, or by its numbers."""
        deviation = self.deviation
        return (
            deviation is not None
            and deviation.refused == self.refused
            and deviation.only_warnings == self.only_warnings
        )


class Table:
    """Judges the cells."""

    def __init__(self) -> None:
        # Texts are the same for most dtypes: each is read once.
        self.kernel_of = functools.cache(Judge().kernel)
        self.cells: list[Cell] = []

    def fill(self, texts: list[str], arguments: dict[str, Any]) -> None:
        dtypes = " ".join(map(shown, arguments.values()))
        by_numpy: dict[str, Any] = {}
        for text in texts:
            try:
                by_numpy[text] = numpy_shim.expected(
                    self.kernel([text], arguments), list(arguments.values()), 0
                )
            except numpy_shim.Undefined:
                continue
            except Exception as error:
                by_numpy[text] = error
        together, alone = [], []
        for text, right in by_numpy.items():
            refuses = isinstance(right, Exception) or right.arrays[0].dtype.name not in HAD
            deviation = Cell(text, dtypes).deviation
            (alone if refuses or (deviation and deviation.refused) else together).append(text)
        found = self.run(together, arguments)
        if isinstance(found, Exception):
            alone, together, found = [*together, *alone], [], []
        pairs = [
            *zip(together, found, strict=True),
            *(
                (text, one if isinstance(one, Exception) else one[0])
                for text in alone
                for one in [self.run([text], arguments)]
            ),
        ]
        for text, one in pairs:
            self.cells.append(self.compared(Cell(text, dtypes), by_numpy[text], one))

    @staticmethod
    def kernel(texts: list[str], arguments: dict[str, Any]) -> str:
        """A result a line, so that warnings say of which they are."""
        results = "".join(f"\n        ({text})," for text in texts)
        return f"@cy.kernel\ndef kernel({', '.join(arguments)}):\n    return ({results}\n    )\n"

    def run(self, texts: list[str], arguments: dict[str, Any]) -> Any:
        """The results, each with what was warned of, or what is raised."""
        if not texts:
            return []
        kernel = self.kernel_of(self.kernel(texts, arguments))
        try:
            program = kernel.compile(*map(numpy_shim.copied, arguments.values()))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                results = cy.run(program, backend="local", threads=1).outputs.values()
            first = numpy_shim.HEAD.count("\n") + 4
            lines = [[one for one in caught if one.lineno == first + n] for n in range(len(texts))]
            assert sum(map(len, lines)) == len(caught)
            return list(zip(results, map(numpy_shim.warned, lines), strict=True))
        except Exception as error:
            return error

    @staticmethod
    def compared(cell: Cell, right: Any, found: Any) -> Cell:
        cell.refused = isinstance(found, cy.CyclotronError) and not isinstance(found, cy.InternalError)
        if isinstance(found, Exception) and not cell.refused:
            cell.differs = f"{type(found).__name__}: {found}"
        elif isinstance(right, Exception) or right.arrays[0].dtype.name not in HAD:
            why = type(right).__name__ if isinstance(right, Exception) else right.arrays[0].dtype
            cell.differs = "" if cell.refused else f"NumPy: {why}, and it gives {found!r}"
            cell.refused = False
        elif cell.refused:
            cell.differs = str(found).splitlines()[0]
        else:
            value, warns = found
            cell.differs = (right.difference([value]) or ("", ""))[1]
            if not cell.differs and warns != right.warnings:
                cell.differs = f"warns of {sorted(warns)}, not {sorted(right.warnings)}"
                cell.only_warnings = True
        return cell


@functools.cache
def table(dtypes: tuple[str, ...] = WIDE) -> list[Cell]:
    """All cells of some dtypes, found once."""
    filled = Table()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for texts, arguments in operands(dtypes):
            filled.fill(texts, arguments)
    return filled.cells

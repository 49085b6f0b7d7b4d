"""Random kernels whose meaning is NumPy's: each is grown by running it, so that shapes and dtypes are known.

A program is text only: the kernel, and its arguments as expressions of NumPy. Each draws which of FEATURES its
text may have: programs of few features show the faults that those of many hide.
"""

from __future__ import annotations

import math
import random
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy_shim import Namespace, Tiles, copied

DTYPES = ("bool", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
WEIGHTS = (2, 3, 4, 1, 4, 6, 1, 2)
FEATURES = (
    "shape numbers",  # u.shape[k], len(u), u.size, u.ndim as numbers
    "numpy scalars",  # np.int64(3), np.float32(0.5) as arguments and in the text
    "arrays without axes",  # 0-d arrays as arguments
    "odd scalars",  # np.uint8, np.longdouble as arguments
    "masked arrays",
    "views",  # slices, .T, reversed, that keep a name; written, or their base
    "views by functions",  # .real, .imag, .conj(), cy.real, diagonal, einsum, clip(None, None), swapaxes
    "aliases",  # a second name of an array
    "interleaved",  # u[::2] = v; y = u + 1
    "sums of tests",  # any(...) + any(...), (not a) + (not b)
    "generators",  # sum, min, max, any, all, math.prod over indices
    "python extrema",  # min(a, b), max(a, b) of numbers
    "conditions",  # if and a if c else b, on data
    "index tests",  # if on indices; names that hold them
    "functions",  # exp, square, ...
    "rounding",  # floor, ceil, round, sign, //, %
    "where",
    "reductions",
    "along axes",  # argmax, take_along_axis, diff, pad, concatenate, tril, ...
    "shifts",  # roll, shift, flip
    "products",  # @, dot, outer, einsum, trace
    "casts",
    "new arrays",  # zeros, full, arange, eye
    "time loops",
    "negative steps",
    "breaks",
    "whiles",
    "accumulators",  # s = 0.0 before a loop
    "nests",  # loops over elements
    "corner values",
    "powers",
    "tiles",  # loops over the tiles of matrices
)
UNARY = ["abs", "sqrt", "exp", "log", "log1p", "expm1", "cbrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "log2", "log10"]
UNARY += ["sqrt", "square", "reciprocal", "square", "reciprocal"]
ROUNDING = ["floor", "ceil", "sign", "round"]
TESTS = ["isnan", "isinf", "isfinite", "logical_not"]
SIZES = (0, 1, 2, 3, 3, 4, 4, 5)
LARGEST = 60  # elements of a value


@dataclass(frozen=True)
class Program:
    """A kernel's text, its arguments as texts, and a second set of those."""

    text: str
    arguments: tuple[str, ...]
    others: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    def values(self, second: bool = False) -> list[Any]:
        names = {"np": np, "Tiles": Tiles, "inf": math.inf, "nan": math.nan}
        with np.errstate(all="ignore"):
            return [eval(text, dict(names)) for text in (self.others if second else self.arguments)]

    @property
    def tiled(self) -> bool:
        return any(text.startswith("Tiles(") for text in self.arguments)


def draw(seed: str, without: frozenset[str] = frozenset()) -> Program:
    """The program of a seed, which NumPy may refuse at times."""
    rng = random.Random(seed)
    if rng.random() < 0.06 and "tiles" not in without:
        return tiled(rng)
    while True:
        writer = Writer(rng, without)
        program = writer.program()
        if program is not None:
            return program


def number(rng: random.Random, dtype: str, corners: bool) -> str:
    """A number of a dtype, as text that keeps the sign of zero."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.choice(["True", "False"])
    if kind == "i":
        if corners and rng.random() < 0.25:
            info = np.iinfo(dtype)
            return str(rng.choice([info.max, info.min, info.max - 1, info.min + 1, 1 << 16, -(1 << 15)]))
        return str(rng.randint(-3, 4))
    if kind == "c":
        inner = "float32" if dtype == "complex64" else "float64"
        return f"complex({number(rng, inner, corners)}, {number(rng, inner, corners)})"
    if corners and rng.random() < 0.3:
        info = np.finfo(dtype)
        extreme = [
            float(info.max),
            float(info.smallest_normal),
            float(info.smallest_subnormal),
            float(info.eps),
        ]
        return repr(rng.choice([math.nan, math.inf, -math.inf, -0.0, 0.0, -0.0, *extreme, -extreme[0]]))
    return repr(rng.choice([0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, 0.1, -0.75, 1.5, -3.0, 0.3]))


def array_text(rng: random.Random, shape: tuple[int, ...], dtype: str, corners: bool) -> str:
    values = [number(rng, dtype, corners) for _ in range(math.prod(shape))]
    text = f"np.array([{', '.join(values)}], {dtype!r})"
    return text if len(shape) == 1 else f"{text}.reshape({shape})"


class Writer:
    """Writes one program line by line, and runs what it has written."""

    def __init__(self, rng: random.Random, without: frozenset[str]) -> None:
        self.rng = rng
        share = rng.choice([0.2, 0.35, 0.5])
        self.features = {name for name in FEATURES if rng.random() < share and name not in without}
        if not self.features & {"nests", "time loops"}:
            self.features |= {"nests"} - without if rng.random() < 0.3 else set()
        self.lines: list[str] = []
        self.arguments: dict[str, str] = {}
        self.others: dict[str, str] = {}
        self.names = 0
        self.env: dict[str, Any] = {}
        self.globals = {"cy": Namespace(), "np": np, "math": math}
        self.assigned: set[str] = set()
        self.pad = "    "
        self.loops: list[str] = []
        self.returned: set[int] = set()
        self.hidden: set[str] = set()  # names that end with their loop

    def on(self, feature: str, probability: float = 1.0) -> bool:
        return feature in self.features and self.rng.random() < probability

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    # Arguments.

    def draw_arguments(self) -> None:
        rng = self.rng
        corners = "corner values" in self.features
        base = rng.choices(DTYPES, WEIGHTS)[0]
        mixed = rng.random() < 0.3
        for name in ("u", "v", "w")[: rng.choice([1, 2, 2, 2, 3])]:
            dtype = rng.choices(DTYPES, WEIGHTS)[0] if mixed else base
            ranks = [1, 1, 1, 2, 2] if name != "w" else [1, 2, 3]
            shape = tuple(rng.choice(SIZES) for _ in range(rng.choice(ranks)))
            if name != "u" and rng.random() < 0.6:
                shape = np.shape(eval(self.arguments["u"], {"np": np, "nan": math.nan, "inf": math.inf}))
            self.arguments[name] = array_text(rng, shape, dtype, corners)
            self.others[name] = array_text(rng, shape, dtype, corners)
        if self.on("masked arrays", 0.06):
            self.arguments["u"] = f"np.ma.masked_less({self.arguments['u']}, 0)"
            self.others["u"] = f"np.ma.masked_less({self.others['u']}, 0)"
        for name in ("a", "b")[: rng.choice([0, 1, 1, 2])]:
            self.arguments[name], self.others[name] = self.scalar_argument(corners)

    def scalar_argument(self, corners: bool) -> tuple[str, str]:
        """Two numbers of one kind: of Python, of NumPy, or arrays without axes."""
        rng = self.rng
        dtype = rng.choices(DTYPES, WEIGHTS)[0]
        first, second = (number(rng, dtype, corners) for _ in range(2))
        if np.dtype(dtype).kind == "f" and rng.random() < 0.3:
            first, second = rng.sample(["0.0", "-0.0"], 2)
        if self.on("odd scalars", 0.3):
            odd = rng.choice(["np.uint8", "np.longdouble", "np.int16"])
            return f"{odd}({rng.randint(0, 3)})", f"{odd}({rng.randint(0, 3)})"
        if self.on("numpy scalars", 0.6):
            wrapped = [f"np.{'bool_' if dtype == 'bool' else dtype}({one})" for one in (first, second)]
            return wrapped[0], wrapped[1]
        if self.on("arrays without axes", 0.6):
            return f"np.array({first}, {dtype!r})", f"np.array({second}, {dtype!r})"
        if rng.random() < 0.2:  # another type, and yet equal
            return rng.choice([("1", "True"), ("0", "0.0"), ("1.0", "1"), ("0", "-0.0"), ("2", "2.0")])
        return first, second

    # Running what there is.

    def run(self, extra: str = "return dict(locals())") -> Any:
        text = "\n".join([f"def kernel({', '.join(self.arguments)}):", *self.lines, self.pad + extra])
        names = dict(self.globals)
        exec(compile(text, "<draft>", "exec"), names)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return names["kernel"](*(copied(value) for value in self.given))

    def add(self, *lines: str) -> bool:
        """Add lines where NumPy runs them."""
        before = list(self.lines)
        self.lines += [self.pad + line for line in lines]
        try:
            env = self.run()
            if any(getattr(one, "size", 0) > LARGEST for one in env.values()):
                raise ValueError("it grows")
        except RecursionError:
            raise
        except Exception:
            self.lines = before
            return False
        if isinstance(env, dict):
            self.env = {name: one for name, one in env.items() if name not in self.hidden}
        return True

    def value(self, text: str) -> Any:
        """What an expression is, or None where NumPy refuses it."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                # Bound copies: expressions do not change what there is.
                found = eval(text, self.globals | self.env)
        except Exception:
            return None
        if isinstance(found, np.ndarray) and (
            found.size > LARGEST or found.ndim > 3 or found.dtype == object
        ):
            return None
        if isinstance(found, np.ndarray | np.generic) and found.dtype.name not in DTYPES:
            return None if "odd scalars" not in self.features else found
        return found

    def arrays(self, least: int = 1) -> list[str]:
        return [name for name, one in self.env.items() if isinstance(one, np.ndarray) and one.ndim >= least]

    def scalars(self) -> list[str]:
        return [
            name
            for name, one in self.env.items()
            if name not in self.loops and (np.ndim(one) == 0) and not isinstance(one, dict)
        ]

    def fresh(self) -> str:
        self.names += 1
        return f"y{self.names}"

    # Expressions of whole arrays.

    def literal(self) -> str:
        rng = self.rng
        if self.on("numpy scalars", 0.4):
            dtype = rng.choice(["int32", "int64", "float32", "float64", "bool_"])
            return f"np.{dtype}({rng.choice(['1', '2', '3', '0'])})"
        return rng.choice(["1", "2", "3", "-1", "0.5", "2.0", "-1.5", "True", "0", "6"])

    def scalar(self) -> str:
        rng = self.rng
        if self.on("shape numbers", 0.4) and self.arrays():
            name = rng.choice(self.arrays())
            axis = rng.randrange(self.env[name].ndim)
            return rng.choice([f"{name}.shape[{axis}]", f"len({name})", f"{name}.size", f"{name}.ndim"])
        if self.on("sums of tests", 0.4) and self.arrays():
            return self.sum_of_tests()
        if self.loops and self.chance(0.2):
            return rng.choice(self.loops)
        if self.on("reductions", 0.3) and self.arrays():
            return f"cy.{rng.choice(['sum', 'prod', 'any'])}({rng.choice(self.arrays())})"
        if self.on("generators", 0.3) and self.vectors():
            return self.fold_of(rng.choice(self.vectors()))
        if self.scalars() and self.chance(0.5):
            return rng.choice(self.scalars())
        elements = [name for name in self.arrays() if self.env[name].size]
        if elements and self.chance(0.2):
            name = rng.choice(elements)
            return f"{name}[{', '.join(str(rng.randrange(n)) for n in self.env[name].shape)}]"
        return self.literal()

    def vectors(self) -> list[str]:
        return [name for name in self.arrays() if self.env[name].ndim == 1]

    def fold_of(self, name: str) -> str:
        """A fold of Python over a vector's elements."""
        kind = self.rng.choice(["sum", "max", "min", "any", "all", "math.prod", "sum"])
        size = self.env[name].shape[0]
        test = f"{name}[k] {self.rng.choice(['>', '<', '!=', '<='])} {self.rng.choice(['0', '1', '0.5'])}"
        term = test if kind in ("any", "all") or self.chance(0.15) else f"{name}[k]"
        if term != test and self.chance(0.3):
            term = self.rng.choice([f"{name}[k] * k", f"abs({name}[k])", f"{name}[k] + 1"])
        where = f" if {self.rng.choice([test, 'k > 0', 'k != 1'])}" if self.chance(0.25) else ""
        return f"{kind}({term} for k in range({self.rng.choice([str(size), f'len({name})'])}){where})"

    def sum_of_tests(self) -> str:
        def test() -> str:
            vectors = self.vectors()
            if vectors and self.chance(0.6):
                name = self.rng.choice(vectors)
                fold = self.rng.choice(["any", "all"])
                return (
                    f"{fold}({name}[k] {self.rng.choice(['>', '<'])} 0 for k in range({self.env[name].size}))"
                )
            name = self.rng.choice(self.arrays())
            index = ", ".join("0" * self.env[name].ndim)
            return self.rng.choice([f"(not {name}[{index}])", f"({name}[{index}] > 0)"])

        form = self.rng.randrange(6)
        if form == 0:
            return f"(-{test()})"
        if form == 1:
            return f"({test()} + True)"
        return f"({test()} {self.rng.choice(['+', '+', '+', '*', '-'])} {test()})"

    def leaf(self) -> str:
        names = self.arrays()
        if not names or self.chance(0.08):
            return self.scalar()
        name = self.rng.choice(names)
        return name if self.chance(0.6) else self.part_of(name)

    def part_of(self, name: str) -> str:
        shape = self.env[name].shape
        keys = [self.key(n) for n in shape]
        if self.chance(0.1):
            keys.insert(self.rng.randint(0, len(keys)), "None")
        text = f"{name}[{', '.join(keys)}]"
        return f"{name}.T" if len(shape) > 1 and self.chance(0.2) else text

    def key(self, n: int) -> str:
        if n and self.chance(0.12):
            return str(self.rng.randrange(-n, n))
        bounds = ["", "", "", *map(str, range(-1, n + 1))]
        while True:
            step = self.rng.choice(["", "", "", ":2", ":-1", ":-2"])
            key = f"{self.rng.choice(bounds)}:{self.rng.choice(bounds)}{step}"
            if eval(f"np.empty({n})[{key}].size", {"np": np}) or self.chance(0.1 if n else 1):
                return key

    def fitted(self, shape: tuple[int, ...]) -> str:
        """A value that broadcasts to a shape."""
        for _ in range(8):
            text = self.leaf()
            found = self.value(text)
            if found is not None and fits(np.shape(found), shape):
                return text
            if isinstance(found, np.ndarray) and found.ndim >= len(shape):
                cut = self.cut(text, found.shape, shape)
                if cut:
                    return cut
        return self.scalar()

    def cut(self, text: str, own: tuple[int, ...], shape: tuple[int, ...]) -> str | None:
        extra = len(own) - len(shape)
        if any(not n for n in own[:extra]):
            return None
        keys = [str(self.rng.randrange(n)) for n in own[:extra]]
        for n, wanted in zip(own[extra:], shape, strict=True):
            ways = [
                (a, s)
                for s in (1, 1, 2, -1)
                for a in range(n)
                if 0 <= a + s * (wanted - 1) < n and wanted > 0
            ]
            if not ways:
                return None
            start, step = self.rng.choice(ways)
            stop = start + step * wanted
            keys.append(f"{start}:{stop if stop >= 0 else ''}" + (f":{step}" if step != 1 else ""))
        return f"{text}[{', '.join(keys)}]"

    def whole(self, depth: int) -> str:
        """An expression of whole arrays that NumPy computes."""
        for _ in range(12):
            text = self.leaf() if depth == 0 else self.drawn(depth)
            if self.value(text) is not None:
                return text
        return self.leaf()

    def drawn(self, depth: int) -> str:
        rng = self.rng
        a = self.whole(depth - 1)
        found = self.value(a)
        shape = np.shape(found)
        makers = [self.arithmetic, self.arithmetic, self.arithmetic, self.comparison]
        kind = getattr(found, "dtype", np.dtype(type(found) if found is not None else float)).kind
        by_feature = {
            "functions": self.function,
            "rounding": self.rounded,
            "where": self.where,
            "conditions": self.conditional,
            "reductions": self.reduction,
            "along axes": self.along_axis,
            "shifts": self.shifted,
            "products": self.product,
            "casts": self.cast,
            "new arrays": self.new_array,
            "powers": self.power,
            "views by functions": self.view_by_function,
            "python extrema": self.extremum,
        }
        out = {"rounding"} if kind == "c" else set()
        out |= set() if shape else {"reductions", "along axes", "shifts", "products", "new arrays"}
        makers += [
            maker for name, maker in by_feature.items() if name in self.features - out for _ in range(2)
        ]
        return rng.choice(makers)(a, shape)

    def arithmetic(self, a: str, shape: tuple[int, ...]) -> str:
        b = self.scalar() if self.chance(0.35) else self.fitted(shape)
        if self.chance(0.35):
            a, b = b, a
        boolean = all(
            getattr(self.value(x), "dtype", type(self.value(x))) in (np.bool_, bool) for x in (a, b)
        )
        operators = "&|^+*" if boolean else "+-*+-*/"
        if self.chance(0.1):
            return self.rng.choice([f"(-{a})", f"(+{a})", f"(~{a})", f"abs({a})"])
        return f"({a} {self.rng.choice(operators)} {b})"

    def comparison(self, a: str, shape: tuple[int, ...]) -> str:
        b = self.fitted(shape)
        operator = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        if self.chance(0.25):
            name = self.rng.choice(["logical_and", "logical_or", "logical_xor"])
            return f"cy.{name}({a}, {b})"
        if self.chance(0.15):
            return f"cy.{self.rng.choice(TESTS)}({a})"
        return f"({a} {operator} {b})"

    def function(self, a: str, shape: tuple[int, ...]) -> str:
        if self.chance(0.15):
            return f"cy.{self.rng.choice(['hypot', 'arctan2'])}({a}, {self.fitted(shape)})"
        return f"cy.{self.rng.choice(UNARY)}({a})"

    def rounded(self, a: str, shape: tuple[int, ...]) -> str:
        if self.chance(0.2):
            return f"(6 // {a})"
        if self.chance(0.5):
            b = self.scalar() if self.chance(0.4) else self.fitted(shape)
            if self.chance(0.4):
                a, b = b, a
            return f"({a} {self.rng.choice(['//', '%'])} {b})"
        kind = getattr(self.value(a), "dtype", np.dtype(float)).kind
        return f"cy.{self.rng.choice(ROUNDING if kind == 'f' else ['round', 'sign'])}({a})"

    def power(self, a: str, shape: tuple[int, ...]) -> str:
        return f"({a}) ** {self.rng.choice(['2', '3', '0.5', '0', '1', '2.0', self.fitted(shape)])}"

    def where(self, a: str, shape: tuple[int, ...]) -> str:
        test = f"{self.fitted(shape)} {self.rng.choice(['>', '<', '=='])} {self.scalar()}"
        pair = [a, self.scalar() if self.chance(0.3) else self.fitted(shape)]
        self.rng.shuffle(pair)
        return f"cy.where({test}, {pair[0]}, {pair[1]})"

    def conditional(self, a: str, shape: tuple[int, ...]) -> str:
        found = self.value(a)
        same = [
            name for name, one in self.env.items() if np.shape(one) == shape and self.same_kind(one, found)
        ]
        return f"({a} if {self.test()} else {self.rng.choice(same or [f'(-{a})'])})"

    def extremum(self, a: str, shape: tuple[int, ...]) -> str:
        return f"cy.{self.rng.choice(['maximum', 'minimum'])}({a}, {self.fitted(shape)})"

    def axis(self, shape: tuple[int, ...]) -> str:
        if not shape or self.chance(0.3):
            return ""
        return f", axis={self.rng.randrange(-len(shape), len(shape))}"

    def reduction(self, a: str, shape: tuple[int, ...]) -> str:
        kinds = ["sum", "sum", "prod", "any", "all", "mean", "std", "var"]
        if getattr(self.value(a), "dtype", np.dtype(float)).kind != "c":
            kinds += ["max", "min", "argmax", "argmin"]
        kind = self.rng.choice(kinds)
        options = self.axis(shape)
        if options and kind not in ("argmax", "argmin") and self.chance(0.25):
            options += ", keepdims=True"
        return f"({a}).{kind}({options[2:]})" if self.chance(0.3) else f"cy.{kind}({a}{options})"

    def along_axis(self, a: str, shape: tuple[int, ...]) -> str:
        rng = self.rng
        choices = [
            f"cy.diff({a}{self.axis(shape)})",
            f"cy.pad({a}, 1)",
            f"cy.clip({a}, {self.scalar()}, None)",
        ]
        choices += [f"cy.concatenate(({a}, {self.fitted(shape)}), axis=0)", f"cy.norm({a})"]
        if len(shape) == 2:
            choices += [f"cy.tril({a})", f"cy.triu({a}, 1)", f"cy.swapaxes({a}, 0, 1)", f"cy.trace({a})"]
            choices += [f"cy.diagonal({a})"]
        if shape and shape[-1] and self.value(a).dtype.kind != "c":
            index = f"cy.argmax({a}, axis=-1, keepdims=True)"
            choices += [f"cy.take_along_axis({a}, {index}, axis=-1)"]
        return rng.choice(choices)

    def shifted(self, a: str, shape: tuple[int, ...]) -> str:
        by = self.rng.choice(["1", "-1", "2", "1"])
        axis = self.axis(shape)
        plain = axis[2:].removeprefix("axis=") or "0"
        boundaries = ["zero", "periodic", "edge", *["reflect"] * (shape[int(plain)] > 2)]
        boundary = self.rng.choice(boundaries)
        return self.rng.choice(
            [
                f"cy.roll({a}, {by}{axis})",
                f"cy.flip({a}{axis})",
                f"cy.shift({a}, {by}, {plain}, {boundary!r})",
            ]
        )

    def product(self, a: str, shape: tuple[int, ...]) -> str:
        choices = [f"({a} * {a})"]
        if len(shape) == 2:
            choices += [f"({a} @ {a}.T)", f"({a}.T @ {a})", f"({a} @ {self.fitted((shape[1],))})"]
            sums = ("ij->i", "ij->ji", "ij->")
            choices += [f'cy.einsum("{text}", {a})' for text in sums if a in self.env]
        elif len(shape) == 1:
            choices += [f"({a} @ {self.fitted(shape)})", f"cy.dot({a}, {a})", f"cy.outer({a}, {a})"]
            choices += [f'cy.einsum("i,j->ij", {a}, {a})'] * (a in self.env)
        return self.rng.choice(choices)

    def cast(self, a: str, shape: tuple[int, ...]) -> str:
        is_complex = np.iscomplexobj(self.value(a))
        dtype = self.rng.choice(["complex64", "complex128", "bool"] if is_complex else DTYPES)
        return f"cy.cast({a}, {dtype!r})" if self.chance(0.4) else f"({a}).astype({dtype!r})"

    def new_array(self, a: str, shape: tuple[int, ...]) -> str:
        dtype = self.rng.choices(DTYPES, WEIGHTS)[0]
        n = self.rng.choice([2, 3])
        choices = [
            f"cy.full({shape}, {self.rng.choice(['2', '3', '1'])}, dtype={dtype!r})",
            f"cy.ones_like({a})",
        ]
        choices += [f"cy.arange({n})", f"cy.eye({n}, dtype={dtype!r})", f"cy.zeros({shape}, dtype={dtype!r})"]
        made = self.rng.choice(choices)
        return f"({a} + {made})" if self.chance(0.7) else made

    def view_by_function(self, a: str, shape: tuple[int, ...]) -> str:
        choices = [
            f"cy.real({a})",
            f"({a}).real",
            f"({a}).imag",
            f"({a}).conj()",
            f"cy.imag({a})",
            f"cy.conj({a})",
        ]
        choices += [f"cy.clip({a}, None, None)"] if shape else []
        if len(shape) == 2:
            choices += [f"cy.diagonal({a})", f"({a}).T", f"({a}).swapaxes(0, 1)", f"({a}).diagonal()"]
            if a in self.env:
                choices += [f'cy.einsum("ij->ji", {a})'] * 3
                choices += [f'cy.einsum("ii->i", {a})'] * 3 * (shape[0] == shape[1])
        return self.rng.choice(choices)

    def test(self) -> str:
        """A condition on data, of one truth value."""
        rng = self.rng
        elements = [name for name in self.arrays() if self.env[name].size]
        if self.loops and self.on("index tests", 0.3):
            return f"{rng.choice(self.loops)} {rng.choice(['<', '>', '==', '!='])} {rng.randint(0, 2)}"
        if elements and self.chance(0.6):
            name = rng.choice(elements)
            index = ", ".join(str(rng.randrange(n)) for n in self.env[name].shape)
            left = f"{name}[{index}]"
        elif elements and self.chance(0.6):
            left = f"cy.{rng.choice(['any', 'all', 'sum'])}({rng.choice(elements)})"
        else:
            left = self.scalar()
        return f"{left} {rng.choice(['<', '>', '<=', '>='])} {rng.choice(['0', '1', '0.5', '-1', '2'])}"

    # Statements of whole arrays.

    def statement(self) -> bool:
        rng = self.rng
        arrays = self.arrays()
        kind = rng.random()
        if arrays and self.on("views", 0.35):
            return self.named_view(rng.choice(arrays), "views")
        if arrays and self.on("views by functions", 0.35):
            return self.named_view(rng.choice(arrays), "views by functions")
        if arrays and self.on("aliases", 0.15):
            return self.assign_name(rng.choice(arrays))
        vectors = [name for name in self.vectors() if self.env[name].size > 1]
        if vectors and self.on("interleaved", 0.3):
            return self.interleaved(rng.choice(vectors))
        if kind < 0.35 or not arrays:
            return self.assign_name(self.whole(rng.choice([1, 2, 2, 3])))
        name = rng.choice(arrays)
        if kind < 0.55:
            self.assigned.add(name)
            operator = rng.choice(["+=", "-=", "*=", "+=", "/=", "&=", "|="])
            target = name if self.chance(0.4) else self.target(name)
            return self.add(f"{target} {operator} {self.fitted(np.shape(self.value(target)))}")
        target = self.target(name)
        found = self.value(target)
        if not isinstance(found, np.ndarray):
            return False
        self.assigned.add(name)
        text = self.whole(2) if self.chance(0.5) else self.fitted(found.shape)
        if not fits(np.shape(self.value(text)), found.shape):
            text = self.fitted(found.shape)
        if np.iscomplexobj(self.value(text)) and not np.iscomplexobj(found):
            text = f"cy.real({text})"
        if text == name:
            text = f"{name}.copy()"
        return self.add(f"{target} = {text}")

    def target(self, name: str) -> str:
        part = self.part_of(name)
        return part if ".T" not in part and "None" not in part else f"{name}[...]"

    def assign_name(self, text: str) -> bool:
        known = [name for name in self.env if name.startswith("y")]
        name = self.rng.choice(known) if known and self.chance(0.25) else self.fresh()
        before = self.env.get(name)
        found = self.value(text)
        if (
            name in known
            and self.loops
            and (np.shape(before) != np.shape(found) or not self.same_kind(before, found))
        ):
            name = self.fresh()  # a name that a loop carries keeps its shape and dtype
        if not self.add(f"{name} = {text}"):
            return False
        self.assigned.add(name)
        return True

    @staticmethod
    def same_kind(a: Any, b: Any) -> bool:
        return getattr(a, "dtype", type(a)) == getattr(b, "dtype", type(b))

    def named_view(self, name: str, feature: str) -> bool:
        """A view that keeps a name; it or its base changes, and both are read."""
        found = self.env[name]
        text = self.part_of(name) if feature == "views" else self.view_by_function(name, found.shape)
        view = self.fresh()
        if not isinstance(self.value(text), np.ndarray) or not self.add(f"{view} = {text}"):
            return False
        self.assigned |= {view, name}
        changed = self.rng.choice([view, name])
        what = self.rng.choice([changed, f"{changed}[...]", self.target(changed)])
        operator = self.rng.choice(["+=", "*=", "="] if what != changed else ["+=", "*="])
        self.add(f"{what} {operator} {self.fitted(np.shape(self.value(what)))}")
        if self.chance(0.4):
            self.assign_name(f"({view} + 1)")
        return True

    def interleaved(self, name: str) -> bool:
        self.assigned.add(name)
        if self.chance(0.5):
            parts = [f"{name}[::2]", f"{name}[1::2]"]
            return all(self.add(f"{part} = {self.fitted(np.shape(self.value(part)))}") for part in parts)
        part = self.rng.choice([f"{name}[::2]", f"{name}[1::2]", f"{name}[::-2]"])
        if not self.add(f"{part} = {self.fitted(np.shape(self.value(part)))}"):
            return False
        return self.assign_name(f"({name} + 1)")

    def block(self) -> bool:
        """A statement, or a loop or branch of some."""
        rng = self.rng
        if self.on("nests", 0.5):
            return Nest(self).write()
        if self.on("accumulators", 0.3):
            return self.accumulator()
        if not self.loops and self.on("whiles", 0.35):
            return self.while_loop()
        if len(self.loops) < 2 and self.on("time loops", 0.4):
            steps = rng.randint(1, 3)
            head = f"for t{len(self.loops)} in range({steps}):"
            if self.on("negative steps", 0.6):
                head = f"for t{len(self.loops)} in range({steps}, 0, -1):"
            return self.inside(head, [f"t{len(self.loops)}"])
        if self.on("conditions", 0.25):
            return self.inside(f"if {self.test()}:", [], branch=True)
        return self.statement()

    def inside(self, head: str, indices: list[str], branch: bool = False) -> bool:
        kept = (list(self.lines), self.pad, list(self.loops), dict(self.env))
        self.lines.append(self.pad + head)
        self.pad += "    "
        self.loops += indices
        start = len(self.lines)
        for _ in range(self.rng.choice([1, 2, 2, 3])):
            if branch:
                self.branch_statement()
            else:
                self.block() if self.chance(0.3) else self.statement()
        if self.loops and not branch and self.on("breaks", 0.4):
            self.add(f"if {self.test()}:", "    break")
        empty = len(self.lines) == start
        lines = list(self.lines)
        _, self.pad, self.loops, env = kept
        self.lines = kept[0] if empty else lines
        if not self.add():  # a second iteration is refused
            self.lines, self.env = kept[0], env
            return False
        if empty:
            return False
        self.hide(env)
        return True

    def hide(self, known: Any) -> None:
        """Names that only a loop has end with it."""
        self.hidden |= set(self.env) - set(known)
        self.env = {name: one for name, one in self.env.items() if name not in self.hidden}

    def branch_statement(self) -> None:
        """An assignment to an array that there is."""
        arrays = self.arrays()
        if not arrays:
            return
        name = self.rng.choice(arrays)
        target = self.target(name)
        found = self.value(target)
        if isinstance(found, np.ndarray):
            operator = self.rng.choice(["=", "+=", "-=", "*="])
            if self.add(f"{target} {operator} {self.fitted(found.shape)}"):
                self.assigned.add(name)

    def while_loop(self) -> bool:
        """At most some steps, counted; the condition is of data, or of an accumulator that starts as a number."""
        rng = self.rng
        arrays = [name for name in self.arrays() if self.env[name].size and self.env[name].dtype.kind in "if"]
        if not arrays:
            return False
        name, change = rng.choice(arrays), self.fresh()
        before = (list(self.lines), dict(self.env))
        started = rng.choice(["1.0", *[f"cy.max(cy.abs({name}))"] * 3])
        halved = rng.choice([f"{name}[...] = {name} / 2", f"{name} -= 1", f"{name}[...] = {name} * 0.5"])
        self.assigned |= {name, change}
        steps = self.fresh()
        ok = self.add(f"{change} = {started}", f"{steps} = cy.zeros((1,), dtype='int64')")
        if not ok:
            return False
        body = [f"while {change} > {rng.choice(['0.5', '1', '0'])} and {steps}[0] < 4:", f"    {halved}"]
        body += [f"    {change} = cy.max(cy.abs({name}))", f"    {steps} += 1"]
        if not self.add(*body):
            self.lines, self.env = before
            return False
        return True

    def accumulator(self) -> bool:
        """A number that a loop adds to, of another dtype at the start perhaps."""
        vectors = self.vectors()
        if not vectors:
            return False
        rng = self.rng
        name, total, index = rng.choice(vectors), self.fresh(), "k"
        size = self.env[name].shape[0]
        start = rng.choice(["0", "0.0", "1.0", "1", "-0.0", f"{name}[0]" if size else "0", "False"])
        update = rng.choice([f"+= {name}[k]", f"-= {name}[k]", f"+= {name}[k] * k", "+= 1"])
        if self.on("python extrema", 0.4):
            start = f"cy.full((1,), {rng.choice(['0', '2.0', '-1'])}, dtype={self.env[name].dtype.name!r})"
            update = f"[0] {rng.choice(['*=', '-='])} {rng.choice(['max', 'min'])}({total}[0], {name}[k])"
        elif self.on("sums of tests", 0.4):
            update = f"+= {name}[k] > 0"
        update = total + (update if update[0] == "[" else f" {update}")
        body = [f"    {update}"]
        if self.on("conditions", 0.4):
            body = [f"    if {name}[k] > 0:", f"        {update}"]
        heads = [f"range({size})", f"range({size - 1}, -1, -1)"]
        head = heads[self.on("negative steps", 0.6)]
        self.assigned.add(total)
        self.hidden.add(index)
        return self.add(f"{total} = {start}", f"for {index} in {head}:", *body)

    def program(self) -> Program | None:
        self.draw_arguments()
        features = tuple(sorted(self.features))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.given = Program("", tuple(self.arguments.values())).values()
        if not self.add():
            return None
        wanted = self.rng.randint(1, 5)
        for _ in range(3 * wanted):
            wanted -= self.block()
            if wanted <= 0:
                break
        # Numbers of Python are no results.
        outputs = [
            name
            for name, one in self.env.items()
            if name in self.assigned and isinstance(one, np.ndarray | np.generic)
        ]
        results = [self.result(name) for name in self.rng.sample(outputs, min(len(outputs), 4))]
        last = self.whole(2)
        if isinstance(self.value(last), np.ndarray | np.generic) and (not results or self.chance(0.4)):
            results += [] if last in self.env else [last]
        if not results:
            return None
        self.lines.append(f"    return {', '.join(results)}")
        head = ["@cy.kernel(max_steps=8)", f"def kernel({', '.join(self.arguments)}):"]
        text = "\n".join([*head, *self.lines, ""])
        return Program(text, tuple(self.arguments.values()), tuple(self.others.values()), features)

    def result(self, name: str) -> str:
        """What tells a name's value: each array is one result, and inputs are where they are assigned."""
        if not isinstance(self.env[name], np.ndarray):
            return name if name not in self.arguments else f"{name} + 0"
        own = id(base(self.env[name]))
        inputs = {id(base(one)) for one in map(self.env.get, self.arguments)}
        changed = any(re.match(rf"    {name}(\[.*\])? \S?= ", line) for line in self.lines)
        if own in self.returned or (own in inputs and not (changed and name in self.arguments)):
            return f"{name}.copy()"
        self.returned.add(own)
        return name


def base(array: Any) -> Any:
    """The array that a view is of."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Does a shape broadcast to another?"""
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False


class Nest:
    """Loops over elements with assignments, conditions and folds; subscripts stay inside at every point."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.rng = writer.rng
        self.points: list[dict[str, int]] = [{}]
        self.indices: list[str] = []
        self.tests: list[str] = []

    def write(self) -> bool:
        w, rng = self.writer, self.rng
        before = (list(w.lines), dict(w.env), set(w.assigned))
        self.target()
        heads: list[str] = []
        if w.chance(0.35):  # in place, again and again
            w.features and heads.append(self.head("s", self.range("s", [])))
        for name in ("i", "j")[: rng.choice([1, 1, 2])]:
            heads.append(self.head(name, self.range(name, self.indices)))
        lines = ["    " * depth + head for depth, head in enumerate(heads)]
        pad = "    " * len(heads)
        if w.on("index tests", 0.6):
            lines.append(pad + f"up = {self.index_test()}")
            self.tests.append("up")
        if w.on("accumulators", 0.4):
            kind = rng.choice(["0", "0.0", "1", "1.0"])
            lines += [pad + f"s0 = {kind}", pad + self.head("k", self.range("k", self.indices))]
            lines.append(pad + f"    s0 {rng.choice(['+=', '-='])} {self.element(1)}")
            self.leave("k")
            self.tests.append("s0 > 0")
        for _ in range(rng.choice([1, 1, 2])):
            lines += [pad + line for line in self.assignment()]
        if len(heads) and w.on("breaks", 0.15):
            lines += [pad + f"if {self.data_test()}:", pad + "    break"]
        if not w.add(*lines):
            w.lines, w.env, w.assigned = before
            return False
        w.hide({*before[1], self.assigned})
        return True

    def target(self) -> None:
        """Declare an array to assign, or take one."""
        w, rng = self.writer, self.rng
        known = [name for name in w.arrays() if w.env[name].size]
        if known and w.chance(0.45):
            self.assigned = rng.choice(known)
        else:
            like = rng.choice(w.arrays()) if w.arrays() else None
            self.assigned = w.fresh()
            dtype = rng.choices(DTYPES, WEIGHTS)[0]
            shape = (
                w.env[like].shape
                if like and w.chance(0.5)
                else (rng.choice([1, 2, 3]),) * rng.choice([1, 1, 2])
            )
            same = rng.choice(
                ["float64", dtype, getattr(w.env.get(like or ""), "dtype", np.dtype(float)).name]
            )
            made = [f"cy.zeros({shape}, dtype={same!r})", f"cy.full({shape}, 1, dtype={same!r})"]
            if like is not None and w.env[like].size:
                made += [f"cy.zeros_like({like})", f"{like}.copy()", f"cy.zeros_like({like})"]
            w.add(f"{self.assigned} = {rng.choice(made)}")
        w.assigned.add(self.assigned)

    def head(self, index: str, text: str) -> str:
        points = []
        for point in self.points:
            points += [point | {index: n} for n in eval(text, {"range": range}, dict(point))]
        self.points = points
        self.indices.append(index)
        return f"for {index} in {text}:"

    def leave(self, index: str) -> None:
        self.indices.remove(index)
        for point in self.points:
            point.pop(index)
        self.points = [dict(one) for one in {tuple(point.items()) for point in self.points}]

    def range(self, index: str, outer: list[str]) -> str:
        rng, w = self.rng, self.writer
        n = rng.choice([1, 2, 2, 3, 3, 4])
        down = w.on("negative steps", 0.6)
        choices = (
            [f"range({n - 1}, -1, -1)", f"range({n}, 0, -1)"] if down else [f"range({n})", f"range(1, {n})"]
        )
        if down and n > 2:
            choices.append(f"range({n}, -1, -2)")
        if outer and w.chance(0.6 if index == "k" else 0.3):
            first = rng.choice(outer)
            choices += [] if index != "k" else [f"range(1, {first})", f"range(1, {first})", f"range({first})"]
            choices += [
                f"range({first})",
                f"range({first}, {n})",
                f"range({first}, -1, -1)",
                f"range(1, {first})",
            ]
        shaped = [name for name in w.vectors() if 0 < w.env[name].size < 5]
        if shaped and not down and w.chance(0.3):
            size = w.env[rng.choice(shaped)].size
            return f"range({size})"
        return rng.choice(choices)

    def affine(self) -> str:
        rng = self.rng
        if not self.indices or self.writer.chance(0.12):
            return str(rng.randint(0, 2))
        index = rng.choice(self.indices)
        forms = [
            index,
            index,
            index,
            f"{index} + 1",
            f"{index} - 1",
            f"2 - {index}",
            f"2 * {index}",
            f"3 - {index}",
        ]
        return rng.choice(forms)

    def access(self, name: str) -> str | None:
        shape = np.shape(self.writer.env[name])
        for _ in range(10):
            keys = [self.affine() for _ in shape]
            inside = all(
                0 <= eval(key, {}, dict(point)) < n
                for point in self.points
                for key, n in zip(keys, shape, strict=True)
            )
            if inside:
                return f"{name}[{', '.join(keys)}]"
        return None

    def read(self) -> str:
        names = self.writer.arrays()
        for _ in range(4):
            text = self.access(self.rng.choice(names)) if names else None
            if text:
                return text
        return self.number()

    def number(self) -> str:
        w, rng = self.writer, self.rng
        if w.on("shape numbers", 0.4) and w.arrays():
            name = rng.choice(w.arrays())
            return rng.choice([f"{name}.shape[0]", f"len({name})", f"{name}.size"])
        if self.indices and w.chance(0.4):
            return rng.choice(self.indices)
        scalars = [name for name in w.scalars() if name in w.arguments]
        if scalars and w.chance(0.5):
            return rng.choice(scalars)
        return w.literal()

    def index_test(self) -> str:
        rng = self.rng
        if not self.indices:
            return "1 > 0"
        index = rng.choice(self.indices)
        other = rng.choice([*self.indices, "1", "0", "2"])
        forms = [
            f"{index} > {other}",
            f"({index} // 2) % 2 == 0",
            f"{index} % 2 == 0",
            f"2 * {index} > 2 * {other}",
        ]
        forms += [f"{index} != {other}", f"{index} <= {other}"]
        return rng.choice(forms)

    def data_test(self) -> str:
        operator = self.rng.choice(["<", ">", "<=", ">=", "!=", "=="])
        return f"{self.read()} {operator} {self.rng.choice(['0', '1', '0.5', self.number()])}"

    def condition(self) -> str:
        w, rng = self.writer, self.rng
        tests = [self.index_test] if "index tests" in w.features else []
        tests += [self.data_test] if "conditions" in w.features else []
        if self.tests and w.chance(0.5):
            return rng.choice(self.tests)
        one = rng.choice(tests or [self.index_test])()
        if w.chance(0.2):
            one = f"{one} {rng.choice(['and', 'or'])} {rng.choice(tests or [self.index_test])()}"
        return f"not ({one})" if w.chance(0.1) else one

    def fold(self) -> str:
        """sum, min, max, any, all or math.prod over one more index, which may be empty at some points."""
        w, rng = self.writer, self.rng
        if "k" in self.indices:
            return self.read()
        kind = rng.choice(["sum", "sum", "min", "max", "any", "all", "math.prod"])
        kept = [dict(point) for point in self.points]
        head = self.range("k", self.indices)
        self.head("k", head)
        if kind in ("any", "all"):
            term = rng.choice([self.index_test(), "k > 0", self.data_test()])
        else:
            term = rng.choice(
                [self.read(), self.read(), self.number(), f"{self.read()} * {self.read()}", "k"]
            )
        where = f" if {self.index_test() if w.chance(0.6) else self.data_test()}" if w.chance(0.3) else ""
        self.indices.remove("k")
        self.points = kept
        return f"{kind}({term} for k in {head}{where})"

    def element(self, depth: int) -> str:
        """A number at each point."""
        w, rng = self.writer, self.rng
        if depth == 0:
            return self.read() if w.chance(0.75) else self.number()
        kinds = ["binary", "binary", "binary", "leaf"]
        kinds += [
            name
            for name in ("generators", "python extrema", "conditions", "index tests")
            if name in w.features
        ]
        kinds += [
            name
            for name in ("functions", "rounding", "where", "sums of tests", "powers", "casts")
            if name in w.features
        ]
        kind = rng.choice(kinds)
        a = self.element(depth - 1)
        if kind == "binary":
            return f"({a} {rng.choice('+-*+-*/')} {self.element(depth - 1)})"
        if kind == "generators":
            fold = self.fold()
            forms = [fold, f"{a} + {fold}", f"5 * {fold}", f"5 * {fold}", f"-{fold}"]
            return rng.choice([*forms, f"cy.minimum({a}, {fold})", f"cy.minimum({a}, {fold})"])
        if kind == "python extrema":
            call = rng.choice(["min", "max", "cy.maximum", "cy.minimum"])
            return f"{call}({a}, {self.element(depth - 1)})"
        if kind in ("conditions", "index tests"):
            return f"({a} if {self.condition()} else {self.element(0)})"
        if kind == "functions":
            return rng.choice([f"cy.{rng.choice(UNARY)}({a})", f"abs({a})", f"(-{a})"])
        if kind == "rounding":
            return rng.choice(
                [f"cy.round({a})", f"cy.sign({a})", f"({a} // {self.element(0)})", f"({a} % 3)"]
            )
        if kind == "where":
            return f"cy.where({self.data_test()}, {a}, {self.element(0)})"
        if kind == "powers":
            return f"({a}) ** {rng.choice(['2', '3', '2.0', '0.5'])}"
        if kind == "casts":
            return f"cy.cast({a}, {rng.choice(DTYPES)!r})"
        if kind == "sums of tests":
            tests = [f"({self.data_test()})", f"(not {self.read()})"]
            if "generators" in w.features:
                tests += [f"any({self.data_test()} for k in range(2))"]
            return f"({rng.choice(tests)} + {rng.choice([*tests, 'True'])})"
        return a

    def assignment(self) -> list[str]:
        w, rng = self.writer, self.rng
        place = self.access(self.assigned)
        if place is None:
            place = self.assigned + "[" + ", ".join("0" * w.env[self.assigned].ndim) + "]"
        operator = rng.choice(["=", "=", "+=", "-=", "+=", "*="])
        lines = [f"{place} {operator} {self.element(rng.choice([0, 1, 1, 1, 2]))}"]
        if w.features & {"conditions", "index tests"} and w.chance(0.35):
            lines = [f"if {self.condition()}:", *("    " + line for line in lines)]
            if w.chance(0.35):
                lines += ["else:", f"    {place} = {self.element(1)}"]
        return lines


def tiled(rng: random.Random) -> Program:
    """Loops over tiles, elementwise on ragged ones too, products of square ones."""
    dtype = rng.choice(["float64", "float32", "int64", "complex128"])
    products = rng.random() < 0.5
    tile = rng.choice([(1, 1), (2, 2)]) if products else (rng.randint(1, 3), rng.randint(1, 3))
    count = rng.randint(1, 3)
    shape = (tile[0] * count, tile[1] * count) if products else (rng.randint(1, 5), rng.randint(1, 5))
    matrices = [f"Tiles({array_text(rng, shape, dtype, rng.random() < 0.2)}, {tile})" for _ in range(4)]

    def value(depth: int) -> str:
        if depth == 0:
            choices = ["A[i, j]", "B[i, j]", "a", "2"]
            return rng.choice(choices + ["A[j, i].T", "B[j, i]"] * products)
        a, b = value(depth - 1), value(depth - 1)
        choices = [f"({a} {rng.choice('+-*')} {b})", f"cy.maximum({a}, {b})"] * (dtype != "complex128")
        choices += [f"({a} {rng.choice('+-')} B[i, j])", f"cy.where(A[i, j] == {b}, {a}, B[i, j])"]
        choices += [f"cy.sqrt(cy.abs({a}))"] * (dtype == "float64")
        choices += ["sum(A[i, k] @ B[k, j] for k in range(A.shape[1]))", "A[i, j] @ B[i, j].T"] * products
        return rng.choice(choices)

    operator = rng.choice(["=", "=", "+=", "-="])
    lines = ["@cy.kernel", "def kernel(A, B, a):", "    C = cy.zeros_like(A)"]
    lines += ["    for i in range(A.shape[0]):", "        for j in range(A.shape[1]):"]
    lines += [f"            C[i, j] {operator} {value(rng.choice([1, 2, 2]))}"]
    if rng.random() < 0.3:
        lines += [f"            C[i, j] += {value(1)}"]
    numbers = [number(rng, "int64" if dtype == "int64" else "float64", False) for _ in range(2)]
    text = "\n".join([*lines, "    return C", ""])
    return Program(text, (*matrices[:2], numbers[0]), (*matrices[2:], numbers[1]), ("tiles",))

"""The arguments, and the expressions of whole arrays, of random kernels: drawn by their values in NumPy."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy_shim import Namespace, Tiles, copied

WIDE = ("bool", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
NARROW = ("int8", "int16", "uint8", "uint16", "uint32", "uint64")  # and whole numbers without sign
DTYPES = (*WIDE, *NARROW)
WEIGHTS = (2, 3, 4, 1, 4, 6, 1, 2, 1, 0.5, 1, 0.5, 0.5, 0.5)
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
    "helpers",  # functions that the kernel calls
    "containers",  # of arrays: lists, dicts, sums of them
    "starts",  # sums with a start
    "exponents",  # -1, 1.5, numbers of NumPy
    "norms",
    "functions by name",  # cy.add(u, v), np.multiply(u, v), decimals
    "joined",  # r_, full of data, full_like, linspace
    "masked stores",  # u[u > 0] = 1
    "arrays of NumPy",  # y = np.zeros(3), np.zeros_like(u), np.array(u)
    "bits",  # <<, >>, &, |, ^ of integers
    "places by data",  # u[n % 3], y[n % 3] = v, np.add.at(y, n % 3, v)
    "ranges of data",  # for k in range(n[i] % 3)
    "carried numbers",  # x = 1.0; k = 0; while k < 3: x = x * a; k += 1
)
# What a program has of these is drawn last: seeds of searches without them keep their programs.
LATER = FEATURES[FEATURES.index("bits") :]
# Functions that kernels call, and their arguments: arrays like the first, or as they are written.
HELPERS = {
    "smoothed(x)": "    return (x + cy.roll(x, 1)) / 2",
    "scaled(x, by=2)": "    return x * by",
    "restored(x, y)": "    total = x + y\n    return total - x",
    "positive(x)": "    return cy.where(x > 0, x, 0)",
    "doubled(x)": "    x = x.copy()\n    x *= 2\n    return x",
    "filled(x)": "    y = np.zeros_like(x)\n    y[...] = x + 1\n    return y",
    "changed(x)": "    x[...] = x + 1\n    return x",
    "counted(x)": "    x = x.copy()\n    for i in range(x.shape[0]):\n        x[i] = x[i] + i\n    return x",
    "repeated(x, n)": "    for _ in range(n):\n        x = x + x\n    return x",
    "either(x, y, first=True)": "    if first:\n        return x + y\n    return y",
    "both(x, y)": "    return x + y, x * y",
    "larger(x, y)": "    return [cy.maximum(x, y), y]",
    "twice(x)": "    def once(y):\n        return y + x\n\n    return once(once(x))",
    "fourfold(x)": "    return scaled(scaled(x), by=2)",
    "parts(x)": "    return {'low': x - 1, 'high': x + 1}",
}
UNARY = [
    "abs",
    "sqrt",
    "exp",
    "log",
    "log1p",
    "expm1",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "log2",
    "log10",
]
UNARY += ["sqrt", "square", "reciprocal", "square", "reciprocal"]
ROUNDING = ["floor", "ceil", "sign", "round", "round"]
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


def number(rng: random.Random, dtype: str, corners: bool) -> str:
    """A number of a dtype, as text that keeps the sign of zero."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.choice(["True", "False"])
    if kind == "u":
        info = np.iinfo(dtype)
        return str(
            rng.choice([info.max, info.max - 1, info.max // 2 + 1])
            if corners and rng.random() < 0.25
            else rng.randint(0, 5)
        )
    if kind == "i":
        if corners and rng.random() < 0.25:
            info = np.iinfo(dtype)
            wide = [1 << 16, -(1 << 15)] if info.bits > 16 else []
            return str(rng.choice([info.max, info.min, info.max - 1, info.min + 1, *wide]))
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
        return repr(
            rng.choice(
                [math.nan, math.nan, math.nan, math.inf, -math.inf, -0.0, 0.0, -0.0, *extreme, -extreme[0]]
            )
        )
    return repr(rng.choice([0.0, 0.0, 0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, 0.1, -0.75, 1.5, -3.0, 0.3]))


def array_text(rng: random.Random, shape: tuple[int, ...], dtype: str, corners: bool) -> str:
    values = [number(rng, dtype, corners) for _ in range(math.prod(shape))]
    text = f"np.array([{', '.join(values)}], {dtype!r})"
    return text if len(shape) == 1 else f"{text}.reshape({shape})"


class Expressions:
    """Writes one program line by line, and runs what it has written."""

    def __init__(self, rng: random.Random, without: frozenset[str]) -> None:
        self.rng = rng
        share = rng.choice([0.2, 0.35, 0.5])
        early = [name for name in FEATURES if name not in LATER]
        self.features = {name for name in early if rng.random() < share and name not in without}
        self.features |= {name for name in LATER if name not in without and rng.random() < share}
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
        for head, body in HELPERS.items():
            exec(f"def {head}:\n{body}\n", self.globals)

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
        if self.chance(0.5) and {"a", "b"} <= set(self.others):
            self.others["b"] = self.arguments["b"]

    def scalar_argument(self, corners: bool) -> tuple[str, str]:
        """Two numbers of one kind: of Python, of NumPy, or arrays without axes."""
        rng = self.rng
        dtype = rng.choices(DTYPES, WEIGHTS)[0]
        first, second = (number(rng, dtype, corners) for _ in range(2))
        if np.dtype(dtype).kind == "f" and rng.random() < 0.3:
            first, second = rng.sample(["0.0", "-0.0"], 2)
        if self.on("odd scalars", 0.3):
            odd = rng.choice(["np.longdouble", "np.longdouble", "np.int16"])
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
        """The value of an expression, or None where NumPy refuses it."""
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
        terms = f"{term} for k in range({self.rng.choice([str(size), f'len({name})'])}){where}"
        if kind == "sum" and self.on("starts", 0.6):
            start = self.rng.choice([f"start={self.literal()}", self.literal(), self.scalar()])
            return f"sum(({terms}), {start})"
        return f"{kind}({terms})"

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
        out = {"rounding"} if kind == "c" else set()
        out |= set() if shape else {"reductions", "along axes", "shifts", "products", "new arrays"}
        out |= set() if shape else {"helpers", "norms", "joined", "places by data"}
        out |= set() if kind in "biu" else {"bits"}
        makers += [
            maker for name, maker in self.makers().items() if name in self.features - out for _ in range(2)
        ]
        return rng.choice(makers)(a, shape)

    def makers(self) -> dict[str, Callable[[str, tuple[int, ...]], str]]:
        """By feature, the function that writes an expression with an array."""
        return {
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
            "helpers": self.helped,
            "containers": self.contained,
            "exponents": self.exponent,
            "norms": self.norm,
            "functions by name": self.by_name,
            "joined": self.joined,
            "bits": self.bits,
            "places by data": self.gathered,
        }

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
        kind = getattr(self.value(a), "dtype", np.dtype(float)).kind
        if kind == "b" or self.chance(0.1):
            return f"cy.round({a})" if kind == "b" else f"cy.round({a} != 0)"
        if self.chance(0.2):
            return f"(6 // {a})"
        if self.chance(0.5):
            b = self.scalar() if self.chance(0.4) else self.fitted(shape)
            if self.chance(0.4):
                a, b = b, a
            return f"({a} {self.rng.choice(['//', '%'])} {b})"
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
        if "arrays of NumPy" in self.features:
            choices += [f"np.zeros_like({a})", f"np.array({a})", f"np.asarray({a}, dtype={dtype!r})"]
            choices += [f"np.array([{a}, {self.fitted(shape)}])", f"np.ones({shape}, dtype={dtype!r})"]
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

    def helped(self, a: str, shape: tuple[int, ...]) -> str:
        """A call of a function of the text."""
        head = self.rng.choice([*HELPERS])
        name, _ = head.split("(")
        given = [a]
        if "y" in head:
            given.append(self.fitted(shape))
        if name == "repeated":
            given.append(self.rng.choice(["2", "0", "3"]))
        if "=" in head and self.chance(0.5):
            given.append("first=False" if name == "either" else f"by={self.scalar()}")
        if name == "changed":
            given = [f"({a}).copy()"]
        after = {"both": ["[0]", "[1]"], "larger": ["[0]", "[-1]"], "parts": ["['low']", "['high']"]}
        return f"{name}({', '.join(given)}){self.rng.choice(after.get(name, ['']))}"

    def contained(self, a: str, shape: tuple[int, ...]) -> str:
        """An array that a list, tuple or dict of some has, or their sum."""
        b, n = self.fitted(shape), self.rng.choice(["0", "1", "-1"])
        return self.rng.choice(
            [
                f"[{a}, {b}][{n}]",
                f"({a}, {b})[{n}]",
                f"{{'p': {a}, 'q': {b}}}['{self.rng.choice('pq')}']",
                f"{{n: {a} * n for n in range(3)}}[{self.rng.choice('012')}]",
                f"[one * 2 for one in ({a}, {b})][{n}]",
                f"sum([{a}, {b}])",
                f"sum([{a}, {b}], {self.scalar()})",
                f"sum(one * 2 for one in ({a}, {b}))",
                f"sum(one * other for one, other in zip(({a}, {b}), ({b}, 2)))",
            ]
        )

    def exponent(self, a: str, shape: tuple[int, ...]) -> str:
        by = self.rng.choice(["-1", "-1.0", "1.5", "-2", "4", "5", "np.float32(0.5)", "np.int8(2)", "-0.5"])
        if self.chance(0.3):
            return f"cy.power({a}, {by})"
        return f"({a}) ** {by}" if self.chance(0.8) else f"{self.rng.choice(['2', '2.0', '-1'])} ** ({a})"

    def norm(self, a: str, shape: tuple[int, ...]) -> str:
        if len(shape) == 1:
            return f"cy.norm({a}, {self.rng.choice(['1', '2', 'cy.inf', '-cy.inf', '0', '3'])})"
        axis = f"axis={self.rng.randrange(len(shape))}"
        options = ["'fro'", axis, f"1, {axis}", f"cy.inf, {axis}", f"{axis}, keepdims=True"]
        return f"cy.norm({a}, {self.rng.choice(options)})" if len(shape) == 2 else f"cy.norm({a})"

    def by_name(self, a: str, shape: tuple[int, ...]) -> str:
        names = ["add", "subtract", "multiply", "true_divide", "floor_divide", "remainder", "fmax", "fmin"]
        names += ["greater", "less_equal", "equal", "not_equal", "copysign", "heaviside", "float_power"]
        if self.chance(0.2):
            decimals = self.rng.choice(["0", "1", "2", "-1"])
            return f"cy.round({a}, {decimals})" if self.chance(0.5) else f"({a}).round({decimals})"
        if self.chance(0.2):
            return f"np.{self.rng.choice(['cumsum', 'cumprod'])}({a}{self.axis(shape)})"
        if self.chance(0.2):
            one = self.rng.choice(["negative", "positive", "fabs", "trunc", "rint", "deg2rad", "signbit"])
            return f"np.{one}({a})"
        return f"np.{self.rng.choice(names)}({a}, {self.fitted(shape)})"

    def joined(self, a: str, shape: tuple[int, ...]) -> str:
        n = self.rng.choice(["2", "3"])
        dtype = self.rng.choices(DTYPES, WEIGHTS)[0]  # without one, numbers have that of the kernel's inputs
        choices = [
            f"cy.full({n}, {self.scalar()}, dtype={dtype!r})",
            f"cy.full_like({a}, {self.scalar()})",
            f"cy.linspace(0, 1, {n})",
        ]
        choices += [f"np.broadcast_to({a}, {(2, *shape)})"]
        choices += [f"cy.stack(({a}, {self.fitted(shape)}))", f"np.expand_dims({a}, 0)", f"np.ravel({a})"]
        choices += [f"cy.repeat({a}, 2{self.axis(shape)})", f"np.tile({a}, 2)", f"({a}).reshape(-1)"]
        if len(shape) == 1:
            choices += [f"np.r_[{a}, {self.scalar()}]", f"np.r_[{self.scalar()}, {a}, {a}]"] * 2
        return self.rng.choice(choices)

    def bits(self, a: str, shape: tuple[int, ...]) -> str:
        b = self.rng.choice(["1", "2", "3", self.fitted(shape)])
        if self.chance(0.25):
            names = ["left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor"]
            return f"np.{self.rng.choice(names)}({a}, {b})"
        if self.chance(0.15):
            return f"({self.rng.choice(['1', '2'])} << ({a} % 8))"
        return f"({a} {self.rng.choice(['<<', '>>', '&', '|', '^'])} {b})"

    def places(self, size: int) -> str | None:
        """Places of an axis that data tell, each inside it, negative ones at times."""
        whole = [name for name in self.vectors() if self.env[name].dtype.kind in "iu" and self.env[name].size]
        if not whole or not size:
            return None
        name = self.rng.choice(whole)
        low = f" - {self.rng.randint(1, size)}" if self.chance(0.2) else ""
        return f"{name} % {size}{low}"

    def gathered(self, a: str, shape: tuple[int, ...]) -> str:
        """Elements of an array, or rows, at the places that data tell."""
        axis = self.rng.randrange(len(shape))
        places = self.places(shape[axis])
        if places is None:
            return f"({a} + {self.fitted(shape)})"
        keys = [":" if self.chance(0.5) or not n else str(self.rng.randrange(n)) for n in shape]
        keys[axis] = places
        text = f"{a}[{', '.join(keys[: axis + 1] if self.chance(0.5) else keys)}]"
        return self.rng.choice([text, text, f"({text} * 2)", f"cy.sum({text})"])

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


def base(array: Any) -> Any:
    """The array that a view is of."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Tell if a shape broadcasts to another."""
    try:
        return np.broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        return False

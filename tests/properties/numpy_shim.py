"""The oracle of random programs: a kernel's text run by NumPy, with a thin namespace in the place of `cy`.

Nothing here is the package's. `expected` runs the very text. What NumPy may compute in another order or to
other last bits than the package (sums of many, products of matrices, functions like `exp`, complex products)
is found by runs of the same text with noise, of which each such operation gets its bound: 4 units in the last
place of a function's result, n units of the sum of the absolute values for a sum of n terms. Numbers that
conditions choose have in these runs the dtype of NumPy's `where`, as docs/python-and-numpy.md says. A result
may differ from NumPy's by SPREAD times as much as these runs do, and not by a bit where they do not.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import itertools
import math
import random
import re
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

RUNS = 8  # with noise
SPREAD = 4.0
ULPS = 4.0
FUNCTIONS = [
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
    "arctan2",
    "hypot",
    "log2",
    "log10",
    "power",
    "arcsin",
    "arctan",
    "std",
    "var",
    "norm",
]
SUMS = ["sum", "mean", "prod", "dot", "trace", "einsum", "matmul"]
CHOICES = ["maximum", "minimum", "clip", "max", "min"]
HEAD = "import math\nimport numpy as np\nimport cyclotron as cy\n\n"


class Undefined(Exception):  # noqa: N818 (an outcome)
    """NumPy leaves the result to the machine: numbers as integers that do not hold them; parts dropped."""


@dataclass
class Tiles:
    """A matrix or vector whose elements are tiles."""

    array: np.ndarray
    tile: tuple[int, ...]
    stored: Callable[[Any], Any] = lambda value: value

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(-(-n // t) for n, t in zip(self.array.shape, self.tile, strict=True))

    def _part(self, index: Any) -> tuple[slice, ...]:
        index = index if isinstance(index, tuple) else (index,)
        return tuple(slice(i * t, (i + 1) * t) for i, t in zip(index, self.tile, strict=True))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> np.ndarray:
        return self.array[self._part(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[self._part(index)] = self.stored(value)


class EmptySum(int):
    """The sum of no terms, of which minus is a zero of either sign: terms that are floats make it one."""

    sign: float

    def __neg__(self) -> float:  # type: ignore[override]
        return self.sign * 0.0


def _signs(run: int) -> Iterator[float]:
    """All positive, all negative, or as they come: in any other pattern some go together."""
    if run < 2:
        return itertools.repeat((1.0, -1.0)[run])
    coins = random.Random(run)
    return iter(lambda: coins.choice((1.0, -1.0)), None)


class Namespace:
    """`cy` for NumPy: its functions, and those few that NumPy lacks; with noise where there is a source."""

    def __init__(
        self, noise: np.random.Generator | None = None, run: int = 0, *, divides_by_zero: bool = False
    ) -> None:
        self._noise = noise
        self._unjudged = (np.nan, 1.0, -np.inf, np.inf)[run % 4]  # one differs from what it stands for
        self._unjudged_parts = complex(self._unjudged, self._unjudged)
        self._divides_by_zero = divides_by_zero  # with any result
        self._signs = _signs(run)  # of zeros that have either, in turn
        self._answers = ([False], [True], [False, True])[min(run, 2)]  # to what is either
        self.has_joined = False  # whether a number that a condition chooses got another dtype
        self.in_dtype_of_tiles = False  # whether numbers beside tiles take their dtype

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        if self._noise is None or not callable(function):
            return function
        if name in FUNCTIONS:
            return lambda *args, **options: self._function(function, args, options)
        if name in CHOICES:
            return lambda *args, **options: self._extreme(function(*args, **options), args)
        if name in SUMS:
            return functools.partial(self._summed, function)
        if name == "reciprocal":
            return lambda x: self._function(function, (x,), {}) if np.iscomplexobj(x) else function(x)
        if name in ("sqrt", "abs", "square", "outer"):
            return lambda *args: self._if_complex(function(*args), args)
        return function

    @staticmethod
    def kernel(function: Any = None, **options: Any) -> Any:
        return function if function is not None else lambda other: other

    def norm(self, x: Any, *args: Any, **options: Any) -> Any:
        whole = x if args or options else np.ravel(x)
        return self._blurred(np.linalg.norm(whole, *args, **options))

    def where(self, test: Any, then: Any, other: Any) -> Any:
        """A choice, of scalars an array without axes, of which kernels make a scalar."""
        result = np.where(test, then, other)
        if self._noise is None or result.ndim:
            return result
        self.has_joined = True
        return result[()]

    @staticmethod
    def cast(x: Any, dtype: Any) -> Any:
        return np.asarray(x).astype(dtype)[()]

    @staticmethod
    def shift(a: Any, by: int, axis: int = 0, boundary: str = "zero") -> Any:
        axis %= a.ndim
        if boundary == "periodic" or not a.shape[axis]:
            return np.roll(a, by, axis)
        mode = {"zero": "constant", "edge": "edge", "reflect": "reflect"}[boundary]
        widths = [(max(by, 0), max(-by, 0)) if n == axis else (0, 0) for n in range(a.ndim)]
        start = max(-by, 0)
        moved = np.pad(a, widths, mode)
        return np.take(moved, range(start, start + a.shape[axis]), axis)

    def zeros_like(self, a: Any, dtype: Any = None) -> Any:
        if isinstance(a, Tiles):
            return Tiles(np.zeros_like(a.array, dtype), a.tile, self._either_zero)
        return np.zeros_like(a, dtype)

    empty_like = zeros_like

    def zeros(self, shape: Any, dtype: Any = float, tile: Any = None) -> Any:
        if tile is None:
            return np.zeros(shape, dtype)
        whole = np.zeros([n * t for n, t in zip(shape, tile, strict=True)], dtype)
        return Tiles(whole, tile, self._either_zero)

    empty = zeros

    # The operators of the text, where it runs with noise.

    def _binary(self, name: str, a: Any, b: Any) -> Any:
        function: Callable[..., Any] = BINARY[name]
        if name == "MatMult":
            return self._summed(function, a, b)
        try:
            result = function(a, b)
        except (ZeroDivisionError, ValueError) as error:
            refused = isinstance(error, ZeroDivisionError) or "negative integer powers" in str(error)
            if not (refused and self._divides_by_zero and self._noise is not None):
                raise
            shape = np.broadcast_shapes(np.shape(a), np.shape(b))
            drawn = self._noise.integers(1, 1000, shape)
            return drawn.astype(np.result_type(a, b)) if shape else int(drawn)
        exact = np.ndim(b) == 0 and b in (0, 1, 2) and not np.iscomplexobj(result)
        if name == "Pow" and not exact:
            power = self._function(function, (a, b), {})
            # The root of -0.0 is -0.0 of an array without axes, else 0.0.
            return self._either_zero(power) if isinstance(b, float) and np.ndim(a) == 0 else power
        result = self._unless_infinite(self._if_complex(result, (a, b)))
        return self._unless_tiny(result, a, b) if name in ("Mult", "Div") else result

    def _unless_tiny(self, result: Any, a: Any, b: Any) -> Any:
        """Complex products with a part that is too small for its dtype: fused, it still has a sign."""
        if self._noise is None or not np.iscomplexobj(result):
            return result
        tiny = np.zeros(np.shape(result), bool)
        with np.errstate(all="ignore"):
            for one, other in itertools.product(*((np.real(c), np.imag(c)) for c in (a, b))):
                product = np.multiply(one, other, dtype=np.real(result).dtype, casting="unsafe")
                tiny = tiny | ((product == 0) & (one != 0) & (other != 0))
        return np.where(tiny, self._either_zero(result), result)[()]

    def _unless_infinite(self, result: Any) -> Any:
        """Complex products are judged where all parts are finite: NumPy's may be fused."""
        if self._noise is None or not np.iscomplexobj(result) or np.all(np.isfinite(result)):
            return result
        if isinstance(result, np.ndarray):
            result[~np.isfinite(result)] = self._unjudged_parts
            return result
        return (
            type(result)(self._unjudged_parts) if isinstance(result, complex | np.complexfloating) else result
        )

    def _product_in_place(self, result: Any) -> Any:
        """A complex product in the array's own dtype, which is rounded more than its operands are."""
        result = self._unless_infinite(result)
        if self._noise is None or not np.iscomplexobj(result):
            return result
        if isinstance(result, np.ndarray):
            result[...] = self._either_zero(self._blurred(result))
            return result
        return self._either_zero(self._blurred(result))

    def _ordered(self, name: str, a: Any, b: Any) -> Any:
        """Of complex numbers with NaN NumPy orders scalars otherwise than elements of arrays."""
        result = BINARY[name](a, b)
        if self._noise is None or not (np.iscomplexobj(a) or np.iscomplexobj(b)):
            return result
        either = self._noise.choice(self._answers, np.shape(result))
        return np.where(np.isnan(a) | np.isnan(b), either, result)[()]

    def _operand(self, name: str, value: Any) -> Any:
        return self._blurred(value) if name in ("Pow", "MatMult") else self._if_complex(value, (value,))

    def _method(self, name: str, a: Any, *args: Any, **options: Any) -> Any:
        if isinstance(a, np.ndarray | np.generic) and name in (*FUNCTIONS, *SUMS, *CHOICES):
            return getattr(self, name)(a, *args, **options)
        return getattr(a, name)(*args, **options)

    def _if_complex(self, result: Any, operands: Any) -> Any:
        return self._blurred(result) if any(np.iscomplexobj(one) for one in operands) else result

    def _extreme(self, result: Any, args: Any) -> Any:
        """A maximum or minimum; beside tiles that of Python's numbers takes their dtype in kernels."""
        result = self._either_zero(result)
        is_number = self.in_dtype_of_tiles and not any(hasattr(one, "dtype") for one in args)
        return result.item() if is_number else result

    def _function(self, function: Callable[..., Any], args: Any, options: Any) -> Any:
        """Some last places; of complex zeros and infinities the C library tells which parts are what."""
        result = function(*args, **options)
        if not np.iscomplexobj(result) or options:
            return self._blurred(result)
        with np.errstate(all="ignore"):
            plain = np.isfinite(result) & (result != 0)
            for one in args:
                plain = plain & np.isfinite(one) & (np.asarray(one) != 0)
            moved = np.where(plain, self._blurred(result), self._unjudged_parts)
            return moved.astype(np.asarray(result).dtype)[()]

    def _either_zero(self, result: Any) -> Any:
        """Of 0.0 and -0.0 NumPy's maximum is either, by how its loop is vectorized; so is a sum of -0.0."""
        array = np.asarray(result)
        if self._noise is None or array.dtype.kind not in "fc":
            return result
        if array.dtype.kind == "c":
            parts = [self._either_zero(part) for part in (array.real, array.imag)]
            whole = np.empty_like(array)
            whole.real, whole.imag = parts
            return whole[()]
        sign = np.array([*itertools.islice(self._signs, array.size)], array.dtype).reshape(array.shape)
        return np.where(array == 0, np.copysign(0, sign), array).astype(array.dtype)[()]

    def _blurred(self, result: Any, amplitude: Any = None) -> Any:
        """The result, each number moved by a share of the amplitude: by default of some last places."""
        if self._noise is None or np.asarray(result).dtype.kind not in "fc":
            return result
        kind = np.asarray(result).dtype
        if amplitude is None:
            least = ULPS * float(np.finfo(kind).smallest_subnormal)
            amplitude = np.where(result == 0, 0.0, ULPS * np.finfo(kind).eps * np.abs(result) + least)
        share = self._noise.choice([-1.0, -0.5, 0.5, 1.0], np.shape(result))
        if kind.kind == "c":
            share = share + 1j * self._noise.choice([-1.0, -0.5, 0.5, 1.0], np.shape(result))
        with np.errstate(all="ignore"):
            moved = np.asarray(result + share * amplitude)
            # Rounded away from the result, by one unit at least.
            return np.where(amplitude == 0, result, moved).astype(kind)[()]

    def _started(self, value: Any) -> Any:
        """A sum that starts with 0 in NumPy: a zero of either sign where all terms are -0.0."""
        if isinstance(value, np.ndarray):
            value[...] = self._either_zero(value)
        if isinstance(value, np.generic):
            return self._either_zero(value)
        return next(self._signs) * 0.0 if type(value) is float and not value else value

    @staticmethod
    def _for_stored(array: Any, value: Any) -> Any:
        """A value for a part of an array: tiles are changed in their own dtype."""
        narrows = isinstance(array, Tiles) and np.asarray(value).dtype.kind == array.array.dtype.kind
        return np.asarray(value).astype(array.array.dtype)[()] if narrows else value

    @staticmethod
    def _read_first(value: Any) -> Any:
        """A value apart from what it is assigned to: `u[::2] = u[:3]` reads in NumPy what it has written."""
        return value.copy() if isinstance(value, np.ndarray) else value

    def _chosen(self, function: Callable[..., Any], *args: Any) -> Any:
        """Python's min or max; as in `_ordered` those of complex NaN are not judged."""
        terms = list(args[0]) if len(args) == 1 else list(args)
        if any(np.iscomplexobj(one) and np.isnan(one) for one in terms):
            raise ValueError("complex NaN in an order")
        result = function(terms)
        for one in terms:
            result = self._in_joint_dtype(result, lambda other=one: other)
        return result

    def _in_joint_dtype(self, value: Any, other: Callable[[], Any]) -> Any:
        """A number that a condition chooses, in the dtype that the docs say it has: of `np.where`."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rest = other()
        except Exception:  # Python does not compute it either
            return value
        if not (_is_number(value) and _is_number(rest)) or isinstance(value, str):
            return value
        if hasattr(value, "dtype") or hasattr(rest, "dtype"):
            joint = np.where(True, value, rest)[()]
            if np.asarray(value).dtype == joint.dtype and hasattr(value, "dtype"):
                return value
        else:
            joint = max(type(value), type(rest), key=[bool, int, float, complex].index)(value)
        self.has_joined |= type(joint) is not type(value)
        return joint

    def _choice(self, test: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
        taken, rest = (then, other) if test else (other, then)
        return self._in_joint_dtype(taken(), rest)

    def _product(self, terms: types.GeneratorType[Any, None, None], first: Callable[[], Any]) -> Any:
        """Python's product, which starts from 1: of complex numbers that gives zeros their signs."""
        of_complex = any(map(np.iscomplexobj, terms.gi_frame.f_locals.values()))
        whole = list(terms)
        if of_complex and not whole:
            raise ValueError("a complex product of nothing")
        if not whole:
            return self._of_nothing(1, first)
        result = self._unless_infinite(math.prod(whole))
        return self._either_zero(result) if np.iscomplexobj(result) else result

    @staticmethod
    def _of_nothing(neutral: int, first: Callable[[], Any]) -> Any:
        """A fold of no terms, of their dtype as the docs say, where the first would be a whole number."""
        try:
            dtype = getattr(first(), "dtype", None)
        except Exception:  # no telling of which dtype it would be: small numbers are of all
            return neutral
        return dtype.type(neutral) if dtype is not None and dtype.kind in "iu" else neutral

    def _fold_of_some(self, fold: Callable[[Any], Any], terms: Iterable[Any]) -> Any:
        """Python's sum or product of the terms that data choose: of none it has another type."""
        whole = list(terms)
        if not whole:
            raise ValueError("data leave out all terms")
        return self._started(fold(whole)) if fold is sum else fold(whole)

    def _sum(self, terms: Iterable[Any], first: Callable[[], Any]) -> Any:
        whole = list(terms)
        if whole:
            return self._started(sum(whole))
        nothing = EmptySum()
        nothing.sign = next(self._signs)
        return self._of_nothing(nothing, first)

    def _summed(self, function: Any, *args: Any, **options: Any) -> Any:
        """A sum in another order; of complex ones that tells which parts are infinite and which NaN."""
        result = function(*args, **options)
        moved = self._in_another_order(result, function, *args, **options)
        if not np.iscomplexobj(result):
            return moved
        return np.where(np.isfinite(result), moved, self._unjudged_parts).astype(np.asarray(result).dtype)[()]

    def _in_another_order(self, result: Any, function: Any, *args: Any, **options: Any) -> Any:
        arrays = [np.asarray(a) for a in args if isinstance(a, np.ndarray | np.generic)]
        if function is np.einsum and not _is_summed(args[0]):
            return self._either_zero(self._if_complex(result, arrays))
        dtype = np.asarray(result).dtype
        few = arrays and arrays[0].ndim == 1 and arrays[0].size <= 2  # which have one order
        signed = function is np.prod and dtype.kind != "c"  # whose parts are sums
        if dtype.kind not in "fc" or (few and function in (np.sum, np.prod, np.mean)):
            return result if signed else self._either_zero(result)
        whole = [np.abs(a.astype(float) if a.dtype.kind in "iu" else a).astype(float) for a in arrays]
        replaced = iter(whole)
        given = [next(replaced) if isinstance(a, np.ndarray | np.generic) else a for a in args]
        terms = max([2, *(a.size for a in arrays)])
        with np.errstate(all="ignore"):
            most = function(*given, **{key: value for key, value in options.items() if key != "dtype"})
        one = result if signed else self._either_zero(result)
        moved = self._blurred(one, terms * np.finfo(dtype).eps * most)
        if function is not np.prod:  # in another order it may be infinite on the way
            large = np.isfinite(most) & (terms * most > np.finfo(dtype).max)
            return np.where(large, self._unjudged, moved).astype(dtype)[()]
        with np.errstate(all="ignore"):  # in another order it may be infinite, or 0, on the way
            sizes = np.abs(arrays[0]).astype(dtype)
            large = np.prod(np.where(sizes > 1, sizes, 1), *args[1:], **options)
            small = np.prod(np.where((sizes < 1) & (sizes > 0), sizes, 1), *args[1:], **options)
            plain = np.isfinite(large) & (small >= np.finfo(dtype).tiny)
        return np.where(plain, moved, self._unjudged).astype(dtype)[()]


BINARY: Mapping[str, Callable[..., Any]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mult": lambda a, b: a * b,
    "Div": lambda a, b: a / b,
    "FloorDiv": lambda a, b: a // b,
    "Mod": lambda a, b: a % b,
    "Pow": lambda a, b: a**b,
    "MatMult": lambda a, b: a @ b,
    "Lt": lambda a, b: a < b,
    "LtE": lambda a, b: a <= b,
    "Gt": lambda a, b: a > b,
    "GtE": lambda a, b: a >= b,
}


class _ReadingFirst(ast.NodeTransformer):
    """Assignments to parts of arrays that read all of their values before they write any.

    Those in place change tiles in their own dtype.
    """

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.AST]:
        self.generic_visit(node)
        if isinstance(node.target, ast.Subscript):
            array = copy.deepcopy(node.target.value)
            node.value = _call("_for_stored", array, node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        if any(isinstance(target, ast.Subscript) for target in node.targets):
            node.value = _call("_read_first", node.value)
        return node


class _WithNoise(_ReadingFirst):
    """Operators and methods that may have noise, as calls of the namespace."""

    loops = 0  # around what is visited

    def visit_For(self, node: ast.For | ast.While) -> ast.AST:
        self.loops += 1
        self.generic_visit(node)
        self.loops -= 1
        return node

    visit_While = visit_For  # noqa: N815 (the name that `ast` calls)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = type(node.op).__name__
        if name not in ("Mult", "Div", "FloorDiv", "Mod", "Pow", "MatMult"):
            return node
        return _call("_binary", ast.Constant(name), node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        name = type(node.ops[0]).__name__
        if len(node.ops) > 1 or name not in BINARY:
            return node
        return _call("_ordered", ast.Constant(name), node.left, node.comparators[0])

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.AST]:
        super().visit_AugAssign(node)
        name = type(node.op).__name__
        if name in ("Mult", "Div", "Pow", "MatMult"):
            node.value = _call("_operand", ast.Constant(name), node.value)
            return _then(node, "_product_in_place")
        of_name = isinstance(node.target, ast.Name) and name in ("Add", "Sub")
        of_element = isinstance(node.target, ast.Subscript) and name == "Add"
        return _then(node, "_started") if self.loops and (of_name or of_element) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return _call("_choice", node.test, *map(_later, (node.body, node.orelse)))

    def visit_If(self, node: ast.If) -> ast.AST:
        added = {
            one.target.id: ast.BinOp(ast.Name(one.target.id, ast.Load()), one.op, one.value)
            for one in node.body
            if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name)
        }
        self.generic_visit(node)
        for name, value in added.items():
            joint = _call("_in_joint_dtype", ast.Name(name, ast.Load()), _later(copy.deepcopy(value)))
            node.orelse.append(ast.Assign([ast.Name(name, ast.Store())], joint))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = node.func
        if isinstance(called, ast.Name) and called.id == "abs":
            return _call("_if_complex", node, ast.Tuple([node.args[0]], ast.Load()))
        if isinstance(called, ast.Name) and called.id in ("max", "min") and not node.keywords:
            return _call("_chosen", called, *node.args)
        is_sum = isinstance(called, ast.Name) and called.id == "sum"
        is_fold = len(node.args) == 1 and (is_sum or ast.unparse(called) == "math.prod")
        if is_fold and isinstance(node.args[0], ast.GeneratorExp):
            tests = node.args[0].generators[0].ifs
            if any(isinstance(one, ast.Subscript) for test in tests for one in ast.walk(test)):
                return _call("_fold_of_some", called, node.args[0])
            return _call("_sum" if is_sum else "_product", node.args[0], _first_term(node.args[0]))
        if isinstance(called, ast.Attribute) and called.attr in (*FUNCTIONS, *SUMS, *CHOICES):
            if isinstance(called.value, ast.Name) and called.value.id in ("cy", "np", "math"):
                if called.value.id == "math" and called.attr in SUMS:
                    return node  # Python's, one by one
                called.value.id = "cy"
                return node
            call = _call("_method", ast.Constant(called.attr), called.value, *node.args)
            call.keywords = node.keywords
            return call
        return node


def _then(node: ast.AugAssign, name: str) -> list[ast.stmt]:
    """An assignment in place, and after it the target as the namespace's function gives it."""
    target: ast.expr = copy.deepcopy(node.target)
    for one in ast.walk(target):
        if hasattr(one, "ctx"):
            one.ctx = ast.Load()
    return [node, ast.Assign([copy.deepcopy(node.target)], _call(name, target))]


def _is_summed(subscripts: Any) -> bool:
    """Return whether `einsum` adds: the result lacks an axis of its operands, or is not said."""
    operands, _, result = str(subscripts).partition("->")
    return not result or not set(operands) - set(", ") <= set(result)


def _is_number(value: Any) -> bool:
    """Return whether it is a scalar, or an array without axes."""
    return np.isscalar(value) or (isinstance(value, np.ndarray) and value.ndim == 0)


def _later(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


def _first_term(terms: ast.GeneratorExp) -> ast.Lambda:
    """The first term as it would be, of loops over ranges."""
    result: ast.expr = copy.deepcopy(terms.elt)
    for clause in reversed(terms.generators):
        bounds = clause.iter.args if isinstance(clause.iter, ast.Call) else []
        start = copy.deepcopy(bounds[0]) if len(bounds) > 1 else ast.Constant(0)
        target = ast.arg(clause.target.id if isinstance(clause.target, ast.Name) else "_")
        result = ast.Call(
            ast.Lambda(ast.arguments([], [target], None, [], [], None, []), result), [start], []
        )
    return _later(result)


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("cy", ast.Load()), name, ast.Load()), list(args), [])


def function_of(text: str, namespace: Namespace, *, in_turn: bool = False) -> Any:
    """The function of a kernel's text, run by NumPy; assignments read before they write, unless in turn."""
    names: dict[str, Any] = {"cy": namespace, "np": np, "math": _MATH}
    change = None if in_turn else _WithNoise if namespace._noise is not None else _ReadingFirst
    exec(_compiled(text, change), names)
    return names["kernel"]


# A program and what it is made small to runs some times with noise; an operator's text is that of all dtypes.
@functools.lru_cache(maxsize=1024)
def _compiled(text: str, change: type[ast.NodeTransformer] | None) -> types.CodeType:
    tree = ast.parse(text)
    tree = tree if change is None else ast.fix_missing_locations(change().visit(tree))
    return compile(tree, "<oracle>", "exec")


def written_in_turn(text: str, arguments: list[Any]) -> list[Any]:
    """The results where NumPy assigns: of vectors that overlap it reads some elements that it has written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = function_of(text, Namespace(), in_turn=True)(*map(copied, arguments))
    return list(found) if isinstance(found, tuple) else [found]


_MATH = types.SimpleNamespace(**{name: getattr(math, name) for name in dir(math) if name[0] != "_"})


def warned(caught: Iterable[warnings.WarningMessage]) -> frozenset[str]:
    """The texts of NumPy's warnings, of elements as of arrays."""
    told = (str(one.message) for one in caught if one.category is RuntimeWarning)
    return frozenset(one.replace("encountered in scalar ", "encountered in ") for one in told)


def results(
    text: str, arguments: list[Any], noise: np.random.Generator | None = None, run: int = 0, **options: bool
) -> tuple[list[Any], frozenset[str], bool]:
    """The results of a run, its warnings, and whether dtypes were joined; raises as NumPy, and Undefined."""
    namespace = Namespace(noise, run, **options)
    namespace.in_dtype_of_tiles = run % 2 == 1 and any(isinstance(one, Tiles) for one in arguments)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function_of(text, namespace)(*map(copied, arguments))
        except ZeroDivisionError as error:
            if "complex division" in str(error):  # Python's number divides by a float64, which is a float
                raise Undefined(str(error)) from error
            raise
        except (ValueError, OverflowError) as error:
            if re.search("cannot convert float|too large to convert|out of bounds for", str(error)):
                raise Undefined(str(error)) from error
            raise
    for warning in caught:
        if "in cast" in str(warning.message) or "discards the imaginary" in str(warning.message):
            raise Undefined(str(warning.message))
    found = found if isinstance(found, tuple) else (found,)
    # An array that is changed after it is named is what it is in the end; numbers of Python have no dtype.
    wholes = [one.array if isinstance(one, Tiles) else one for one in found]
    arrays = [one.copy() if isinstance(one, np.ndarray | np.generic) else one for one in wholes]
    return arrays, warned(caught), namespace.has_joined


def copied(value: Any) -> Any:
    if isinstance(value, Tiles):
        return Tiles(value.array.copy(), value.tile)
    return value.copy() if isinstance(value, np.ndarray) else value


@dataclass
class Expected:
    """NumPy's results, and by how much others may differ from them: NaN for numbers that are not judged."""

    arrays: list[Any]
    allowed: list[np.ndarray]
    dtypes: list[frozenset[Any]]
    warnings: frozenset[str] = frozenset()

    @property
    def exact(self) -> bool:
        return not any(np.any(one != 0) for one in self.allowed)

    def difference(self, found: list[Any]) -> tuple[str, str] | None:
        """The kind of the first difference of other results, and what differs; None where there is none."""
        if len(found) != len(self.arrays):
            return "wrong number of results", f"{len(found)}, not {len(self.arrays)}"
        both = list(zip(found, self.arrays, self.allowed, strict=True))
        for n, (one, right, allowed) in enumerate(both):
            one = np.asarray(one)
            if one.shape != np.shape(right):
                return "wrong shape", f"result {n}: {one.shape}, not {np.shape(right)}"
            wrong = ~_close(_plain(one), _plain(right), allowed)
            if np.any(wrong):
                return "wrong value", f"result {n} is\n{one!r}\nnot\n{right!r}\nallowed {allowed}"
        for n, (one, right, _) in enumerate(both):
            if hasattr(right, "dtype") and np.asarray(one).dtype not in self.dtypes[n]:
                return "wrong dtype", f"result {n}: {np.asarray(one).dtype}, not {right.dtype}"
        return None


def _parts(a: np.ndarray) -> list[np.ndarray]:
    return [a.real, a.imag] if a.dtype.kind == "c" else [a]


def _plain(value: Any) -> np.ndarray:
    """An array of a dtype of NumPy's own: floats of 8 and 16 bits as the same numbers."""
    array = np.asarray(value)
    return (
        array.astype("float64") if array.dtype.kind == "V" or array.dtype.name.startswith("float8") else array
    )


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """True for numbers that are the same, with the signs of zeros; NaN is as good as any other."""
    result = np.ones(a.shape, bool)
    wide = np.promote_types(a.dtype, b.dtype)
    for one, other in zip(_parts(a.astype(wide)), _parts(b.astype(wide)), strict=True):
        same = one == other
        if one.dtype.kind == "f":
            same = (same & (np.signbit(one) == np.signbit(other))) | (np.isnan(one) & np.isnan(other))
        result &= same
    return result


def _close(a: np.ndarray, b: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    same = _same(a, b) | np.isnan(allowed)
    if np.all(same):
        return same
    with np.errstate(all="ignore"):
        away = np.abs(a.astype(complex) - b.astype(complex))
        return same | ((allowed > 0) & (away <= allowed))


def expected(text: str, arguments: list[Any], seed: int) -> Expected:
    """NumPy's results with what they may differ by; raises as `results`."""
    try:
        right, warns, _ = results(text, arguments)
    except TypeError as error:
        joined = False
        with contextlib.suppress(Exception):
            *_, joined = results(text, arguments, np.random.default_rng(seed))
        if joined:
            raise Undefined("a number that a condition chooses has another dtype") from error
        raise
    allowed = [np.zeros(np.shape(one)) for one in right]
    dtypes = [{np.asarray(one).dtype} for one in right]
    if any(isinstance(one, np.ndarray) and not one.ndim for one in arguments):
        scalars = [one[()] if isinstance(one, np.ndarray) else one for one in arguments]
        # Arrays without axes are scalars: of those NumPy warns more, and the square of True is no int8.
        with contextlib.suppress(Exception):
            as_scalars, more, _ = results(text, scalars)
            warns |= more
            for known, one in zip(dtypes, as_scalars, strict=True):
                known.add(np.asarray(one).dtype)
    for run in range(RUNS):
        try:
            moved, _, joined = results(text, arguments, np.random.default_rng([seed, run]), run)
        except Exception as error:  # it is at the edge of what NumPy refuses
            raise Undefined(f"NumPy refuses noise: {generalized(str(error))}") from error
        for one, other, limit, known in zip(right, moved, allowed, dtypes, strict=True):
            if np.shape(one) != np.shape(other):
                raise Undefined("the shape depends on noise")
            known |= {np.asarray(other).dtype} if joined else set()
            a, b = _plain(one), _plain(other)
            with np.errstate(all="ignore"):
                away = np.abs(a.astype(complex) - b.astype(complex)) * SPREAD
            # Zeros of both signs are no distance apart, and differ.
            away = np.where(_same(a, b), 0.0, np.maximum(away, 5e-324))
            # Truth values and numbers that noise makes another kind of are not judged.
            away[~np.isfinite(away)] = np.nan
            if a.dtype.kind == "b":
                away[away != 0] = np.nan
            limit[...] = np.where(np.isnan(limit) | np.isnan(away), np.nan, np.maximum(limit, away))
    for one, limit in zip(map(_plain, right), allowed, strict=True):
        # Where an array has noise, rounding may hide that of some elements in all of the runs.
        if one.dtype.kind in "fc" and np.any(limit > 0):
            unit = np.finfo(one.dtype).eps * np.abs(one)
            limit[...] = np.where(np.isnan(limit) | ~np.isfinite(one), limit, np.maximum(limit, unit))
    return Expected(right, allowed, [frozenset(one) for one in dtypes], warns)


def is_used(text: str, arguments: list[Any], seed: int) -> bool:
    """Return whether results depend on the quotients by 0 that Python refuses."""
    try:
        runs = [
            results(text, arguments, np.random.default_rng([seed, n]), divides_by_zero=True)[0]
            for n in range(RUNS)
        ]
    except Exception:
        return True
    return not all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, equal_nan=True)
        for run in runs[1:]
        for a, b in zip(runs[0], run, strict=True)
    )


def generalized(message: str) -> str:
    """A message without what differs between programs."""
    return re.sub(r"-?\d+(\.\d+)?", "#", re.sub(r"`[^`]*`", "`…`", message))[:90]

"""Unrolls kernels and compiled programs into expressions, in plain Python on symbols.

Nothing here knows how a kernel becomes one over tiles: a program is what it says instruction by instruction,
and the operators on tiles are the sums of textbooks.
"""

import sys
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
from mutations import NumPy

sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))

import toy_backend


class Expression:
    """A sum of products of powers, in one form: equal where one is the other but for order and brackets.

    Products of sums are not multiplied out; `x / x` is 1.
    """

    expands = False
    _numbers: ClassVar = {}  # by what has a number of its own: a symbol, a sum as a factor, a root
    _sums: ClassVar = {}  # the sum that is a factor, by its number

    def __init__(self, terms):
        self.terms = {product: factor for product, factor in terms.items() if factor != 0}

    @classmethod
    def symbol(cls, name):
        """Return the symbol of a name."""
        return cls({frozenset({(cls._number("symbol", name), 1)}): Fraction(1)})

    @classmethod
    def _number(cls, *what):
        return cls._numbers.setdefault(what, len(cls._numbers))

    def _of(self, other):
        if isinstance(other, Expression):
            return other
        return type(self)({frozenset(): Fraction(other)})

    def _key(self):
        return frozenset(self.terms.items())

    def __eq__(self, other):
        return self.terms == self._of(other).terms

    def __hash__(self):
        return hash(self._key())

    def __add__(self, other):
        terms = dict(self.terms)
        for product, factor in self._of(other).terms.items():
            terms[product] = terms.get(product, 0) + factor
        return type(self)(terms)

    def __neg__(self):
        return type(self)({product: -factor for product, factor in self.terms.items()})

    def __mul__(self, other):
        other = self._of(other)
        if self.expands:
            total = type(self)({})
            for a in self.terms.items():
                for b in other.terms.items():
                    total += self._product(a, b)
            return total
        if not self.terms or not other.terms:
            return type(self)({})
        return self._product(self._factor(), other._factor())

    def _product(self, a, b):
        powers = dict(a[0])
        for number, power in b[0]:
            powers[number] = powers.get(number, 0) + power
        powers = {number: power for number, power in powers.items() if power}
        factor = a[1] * b[1]
        if list(powers.values()) == [1] and (whole := self._sums.get(next(iter(powers)))):
            return type(self)({product: factor * of for product, of in whole.items()})
        return type(self)({frozenset(powers.items()): factor})

    def _factor(self):
        """Return it as one product; a sum is a factor with a number of its own, but for its scale."""
        if len(self.terms) == 1:
            return next(iter(self.terms.items()))
        scale = self.terms[min(self.terms, key=sorted)]
        whole = {product: factor / scale for product, factor in self.terms.items()}
        number = self._number("sum", frozenset(whole.items()))
        self._sums[number] = whole
        return frozenset({(number, 1)}), scale

    def _inverse(self):
        product, factor = self._factor()
        return type(self)({frozenset((number, -power) for number, power in product): 1 / factor})

    def _function(self, name):
        """Return a function of it, which is a symbol of its own."""
        return type(self)({frozenset({(self._number(name, self._key()), 1)}): Fraction(1)})

    def sqrt(self):
        """Return the root."""
        return self._function("root")

    def exp(self):
        """Return the exponential."""
        return self._function("exp")

    def __sub__(self, other):
        return self + -self._of(other)

    def __rsub__(self, other):
        return self._of(other) - self

    def __truediv__(self, other):
        return self * self._of(other)._inverse()

    def __rtruediv__(self, other):
        return self._of(other) / self

    __radd__, __rmul__ = __add__, __mul__


class Expanded(Expression):
    """Products of sums are multiplied out."""

    expands = True


def symbols(name, shape, kind=Expression):
    """Return an array of symbols."""
    result = np.empty(shape, object)
    for place in np.ndindex(*shape):
        result[place] = kind.symbol((name, place))
    return result


class Symbols(NumPy):
    """Stand for `cy` in a text that plain Python runs on symbols."""

    @staticmethod
    def zeros(shape):
        return np.zeros(shape, object)

    zeros_like = staticmethod(lambda like: Symbols.zeros(like.shape))
    empty, empty_like = zeros, zeros_like


def _turned(tile, turn):
    return tile.T if turn else tile


def matmul(a, b, transpose_a=False, transpose_b=False):
    """Return the product of two tiles."""
    return _turned(a, transpose_a) @ _turned(b, transpose_b)


def correlate_add(total, a, b):
    """Return the total and, at each place, the sum over the window of `a` from there."""
    result = total + np.zeros(total.shape, object)
    for r, c in np.ndindex(*result.shape):
        around = [(p, q) for p, q in np.ndindex(*b.shape) if r + p < a.shape[0] and c + q < a.shape[1]]
        result[r, c] += sum(a[r + p, c + q] * b[p, q] for p, q in around)
    return result


def solve_triangular(a, b, *, lower=False, transpose_a=False, right_side=False, unit_diagonal=False):
    """X of op(a) X = b, or of X op(a) = b: of each row, what is left when those before are subtracted."""
    a, b = _turned(a, transpose_a != right_side), _turned(b, right_side)
    forward = lower == (transpose_a == right_side)
    x = np.zeros(b.shape, object)
    done = []
    for i in range(len(b)) if forward else reversed(range(len(b))):
        for r in range(b.shape[1]):
            rest = b[i, r] - sum(a[i, k] * x[k, r] for k in done)
            x[i, r] = rest if unit_diagonal else rest / a[i, i]
        done.append(i)
    return _turned(x, right_side)


def inv_triangular(a, *, lower=False):
    """Invert column by column."""
    a = _turned(a, not lower)
    x = np.zeros(a.shape, object)
    for j in range(len(a)):
        x[j, j] = 1 / a[j, j]
        for i in range(j + 1, len(a)):
            x[i, j] = -sum(a[i, k] * x[k, j] for k in range(j, i)) / a[i, i]
    return _turned(x, not lower)


def cholesky(a):
    """Return the factor below the diagonal."""
    x = np.zeros(a.shape, object)
    for j in range(len(a)):
        x[j, j] = np.sqrt(a[j, j] - sum(x[j, k] * x[j, k] for k in range(j)))
        for i in range(j + 1, len(a)):
            x[i, j] = (a[i, j] - sum(x[i, k] * x[j, k] for k in range(j))) / x[j, j]
    return x


def lu(a):
    """Return both factors in one tile, without pivots."""
    x = np.zeros(a.shape, object)
    for i in range(len(a)):
        for j in range(len(a)):
            x[i, j] = a[i, j] - sum(x[i, k] * x[k, j] for k in range(min(i, j)))
            if i > j:
                x[i, j] = x[i, j] / x[j, j]
    return x


def ldl(a):
    """Return the factor of ones below the diagonal, and the diagonal factor on it."""
    x = np.zeros(a.shape, object)
    for j in range(len(a)):
        x[j, j] = a[j, j] - sum(x[j, k] * x[j, k] * x[k, k] for k in range(j))
        for i in range(j + 1, len(a)):
            x[i, j] = (a[i, j] - sum(x[i, k] * x[j, k] * x[k, k] for k in range(j))) / x[j, j]
    return x


OPERATORS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negative": np.negative,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "copy": np.copy,
    "where": np.where,
    "transpose": np.transpose,
    "multiply_add": lambda total, a, b: total + a * b,
    "multiply_subtract": lambda total, a, b: total - a * b,
    "row_sum": lambda a: a.sum(axis=1, keepdims=True),
    "column_sum": lambda a: a.sum(axis=0, keepdims=True),
    "matmul": matmul,
    "matmul_add": lambda total, *factors, **flags: total + matmul(*factors, **flags),
    "matmul_subtract": lambda total, *factors, **flags: total - matmul(*factors, **flags),
    "syrk": lambda a: a @ a.T,
    "syrk_add": lambda total, a: total + a @ a.T,
    "syrk_subtract": lambda total, a: total - a @ a.T,
    "join": lambda a, b, right_side=False: np.concatenate((a, b), axis=int(right_side)),
    "correlate_add": correlate_add,
    "solve_triangular": solve_triangular,
    "inv_triangular": inv_triangular,
    "cholesky": cholesky,
    "lu": lu,
    "ldl": ldl,
}


class _Unrolled(toy_backend._Run):
    def __init__(self, program, inputs):
        super().__init__(program, {})
        self.outputs = {name: np.zeros(array.shape, object) for name, array in self.outputs.items()}
        self.arrays = {**inputs, **self.outputs}

    def store(self, step, where, pe, memory):
        part = self.part(step, where)
        tile = toy_backend.read(step["source"], where, memory)
        part[...] = np.broadcast_to(tile, (part.size // part.shape[-1], part.shape[-1])).reshape(part.shape)

    def compute(self, step, where, pe, memory):
        operands = [toy_backend.read(operand, where, memory) for operand in step["operands"]]
        result = OPERATORS[step["op"]](*operands, **dict.fromkeys(step["flags"], True))
        memory[toy_backend.element(step["destination"], where)] = result


def unrolled(program, inputs):
    """Return the results of a program as expressions of its inputs, by name."""
    return _Unrolled(program.decoded(), {**program.constants, **inputs}).run()

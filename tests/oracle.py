"""A slow, independent evaluator of recorded systems: the oracle of the language tests.

`RecordedSystem` implements the builder that the tracer targets, in plain Python; `evaluate` enumerates points
by brute force and knows nothing of the tracer. It also proves single assignment and cover, point by point.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cyclotron.language.lower.build import SpanTuple
from cyclotron.support.errors import Span

Affine = tuple[list[int], int]
Region = list[list[tuple[Affine, str | int]]]
Point = tuple[int, ...]


@dataclass
class Tensor:
    """One tensor; shape and tile in scalars."""

    name: str
    dtype: str
    role: str
    shape: list[int]
    tile: list[int] | None

    @property
    def extents(self) -> tuple[int, ...]:
        """Elements along each axis."""
        tile = self.tile or [1] * len(self.shape)
        return tuple(-(-n // t) for n, t in zip(self.shape, tile, strict=True))

    def slices(self, index: Point) -> tuple[slice, ...] | Point:
        """The place of an element in the array of scalars."""
        if self.tile is None:
            return index
        return tuple(slice(i * t, (i + 1) * t) for i, t in zip(index, self.tile, strict=True))


@dataclass
class Equation:
    """target[index] = expr on a domain."""

    target: int
    index: list[Affine]
    indices: list[str]
    domain: Region
    expr: int
    span: Span


@dataclass
class RecordedSystem:
    """A system of recurrences as the tracer builds it."""

    tensors: list[Tensor] = field(default_factory=list)
    exprs: list[tuple[Any, ...]] = field(default_factory=list)
    equations: list[Equation] = field(default_factory=list)
    idle_nests: list[list[str]] = field(default_factory=list)

    def add_tensor(
        self,
        name: str,
        dtype: str,
        role: str,
        shape: list[int],
        tile: list[int] | None,
        span: SpanTuple,
        variable: str,
    ) -> int:
        assert role in ("input", "output", "local")
        self.tensors.append(Tensor(name, dtype, role, shape, tile))
        return len(self.tensors) - 1

    def add_constant(self, value: complex, span: SpanTuple) -> int:
        return self._add("constant", value)

    def add_index(self, form: Affine, dtype: str, span: SpanTuple) -> int:
        return self._add("index", form, dtype)

    def add_access(self, tensor: int, index: list[Affine], span: SpanTuple) -> int:
        return self._add("access", tensor, index)

    def add_apply(self, op: str, operands: list[int], flags: list[str], span: SpanTuple) -> int:
        return self._add("apply", op, operands, flags)

    def add_reduce(
        self, kind: str, index: str, domain: Region, body: int, any_order: bool, span: SpanTuple
    ) -> int:
        return self._add("reduce", kind, index, domain, body)

    def add_equation(
        self,
        target: int,
        index: list[Affine],
        indices: list[str],
        domain: Region,
        expr: int,
        span: SpanTuple,
    ) -> None:
        self.equations.append(Equation(target, index, indices, domain, expr, Span(*span[:5])))

    def _add(self, *node: Any) -> int:
        self.exprs.append(node)
        return len(self.exprs) - 1

    def named(self, name: str) -> Tensor:
        """The tensor of that name."""
        return next(tensor for tensor in self.tensors if tensor.name == name)

    def ops(self) -> set[str]:
        """The operators that occur."""
        return {node[1] for node in self.exprs if node[0] == "apply"}


def evaluate(system: RecordedSystem, inputs: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the outputs of a system, as arrays of scalars."""
    return _Evaluation(system, inputs).outputs()


class _Evaluation:
    def __init__(self, system: RecordedSystem, inputs: dict[str, NDArray[Any]]) -> None:
        self.system = system
        self.inputs = inputs
        extents = [n for tensor in system.tensors for n in tensor.extents]
        constants = [abs(form[1]) for e in system.equations for c in e.domain for form, _ in c]
        self.range = range(-1, max([1, *extents, *constants]) + 1)
        self.values: dict[tuple[int, Point], Any] = {}
        self.running: set[tuple[int, Point]] = set()
        self.defined: dict[tuple[int, Point], tuple[Equation, Point]] = {}
        for equation in system.equations:
            for point in self.points(len(equation.indices), equation.domain):
                element = (equation.target, self.affines(equation.index, point))
                self.check_inside(*element)
                assert element not in self.defined, f"assigned twice: {element}"
                self.defined[element] = (equation, point)

    def outputs(self) -> dict[str, NDArray[Any]]:
        result = {}
        for number, tensor in enumerate(self.system.tensors):
            if tensor.role == "output":
                array = np.empty(tensor.shape, tensor.dtype)
                for index in itertools.product(*map(range, tensor.extents)):
                    value = self.element(number, index)
                    if tensor.tile is not None:
                        assert np.shape(value) in ((), array[tensor.slices(index)].shape)
                    array[tensor.slices(index)] = value
                result[tensor.name] = array
        return result

    def points(self, rank: int, domain: Region) -> list[Point]:
        """All points of a domain, by trying everything."""
        candidates = itertools.product(self.range, repeat=rank)
        return [point for point in candidates if self.inside(point, domain)]

    def inside(self, point: Point, domain: Region) -> bool:
        return any(
            all(_holds(self.affine(form, point), relation) for form, relation in conjunction)
            for conjunction in domain
        )

    def affine(self, form: Affine, point: Point) -> int:
        assert len(form[0]) <= len(point)
        return form[1] + sum(c * v for c, v in zip(form[0], point, strict=False))

    def affines(self, forms: list[Affine], point: Point) -> Point:
        return tuple(self.affine(form, point) for form in forms)

    def check_inside(self, tensor: int, index: Point) -> None:
        extents = self.system.tensors[tensor].extents
        assert len(index) == len(extents)
        inside = all(0 <= i < n for i, n in zip(index, extents, strict=True))
        assert inside, f"{self.system.tensors[tensor].name}{list(index)} is out of bounds"

    def element(self, number: int, index: Point) -> Any:
        tensor = self.system.tensors[number]
        self.check_inside(number, index)
        if tensor.role == "input":
            return self.inputs[tensor.name][tensor.slices(index)]
        key = (number, index)
        if key not in self.values:
            assert key not in self.running, f"{tensor.name}{list(index)} depends on itself"
            assert key in self.defined, f"{tensor.name}{list(index)} has no equation"
            self.running.add(key)
            equation, point = self.defined[key]
            self.values[key] = self.expression(equation.expr, point)
        return self.values[key]

    def expression(self, number: int, point: Point) -> Any:
        kind, *node = self.system.exprs[number]
        if kind == "constant":
            value = complex(node[0])
            return value.real if value.imag == 0 else value
        if kind == "index":
            return np.dtype(node[1]).type(self.affine(node[0], point))
        if kind == "access":
            return self.element(node[0], self.affines(node[1], point))
        if kind == "apply" and "onward" in node[2] and self.system.exprs[node[1][1]][0] == "reduce":
            first = self.expression(node[1][0], point)
            return self.folded(node[0], [first, *self.terms(node[1][1], point)])
        if kind == "apply":
            return _apply(node[0], [self.expression(operand, point) for operand in node[1]], set(node[2]))
        name = node[0]
        terms = self.terms(number, point)
        if not terms:
            assert name in ("sum", "product"), "an empty maximum or minimum"
            return 0.0 if name == "sum" else 1.0
        return self.folded(name, terms)

    def terms(self, number: int, point: Point) -> list[Any]:
        _, _, _, domain, body = self.system.exprs[number]
        points = [(*point, k) for k in self.range if self.inside((*point, k), domain)]
        return [self.expression(body, inner) for inner in points]

    @staticmethod
    def folded(name: str, terms: list[Any]) -> Any:
        fold = {
            "sum": np.add,
            "add": np.add,
            "subtract": np.subtract,
            "product": np.multiply,
            "maximum": np.maximum,
            "minimum": np.minimum,
            "first_maximum": lambda a, b: b if b > a else a,
            "first_minimum": lambda a, b: b if b < a else a,
        }[name]
        result = terms[0]
        for value in terms[1:]:
            result = fold(result, value)
        return result


def _holds(value: int, relation: str | int) -> bool:
    if isinstance(relation, int):
        return value % relation == 0
    return value == 0 if relation == "==" else value >= 0


def _apply(op: str, operands: list[Any], flags: set[str]) -> Any:
    elementwise = {
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "divide": np.divide,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "first_maximum": lambda a, b: np.where(b > a, b, a),
        "first_minimum": lambda a, b: np.where(b < a, b, a),
        "power": np.power,
        "negative": np.negative,
        "sqrt": np.sqrt,
        "exp": np.exp,
        "log": np.log,
        "absolute": np.absolute,
    }
    if op in elementwise:
        assert flags <= {"checked", "onward"}
        return elementwise[op](*operands)
    a, *rest = (np.atleast_2d(np.asarray(operand)) for operand in operands)
    scalar = np.ndim(operands[0]) == 0
    if op == "transpose":
        return a.T
    if op == "syrk":
        return a @ a.T
    if op == "matmul":
        vector = np.ndim(operands[1]) == 1
        b = rest[0].T if vector else rest[0]
        product = (a.T if "transpose_a" in flags else a) @ (b.T if "transpose_b" in flags else b)
        return product[:, 0] if vector else product
    if op == "cholesky":
        lower = np.tril(a)
        factor = np.linalg.cholesky(lower + np.tril(a, -1).T)
        return factor[0, 0] if scalar else factor
    if op == "solve_triangular":
        matrix = np.tril(a) if "lower" in flags else np.triu(a)
        if "unit_diagonal" in flags:
            matrix = matrix - np.diag(np.diag(matrix)) + np.eye(len(matrix))
        matrix = matrix.T if "transpose_a" in flags else matrix
        b = np.asarray(operands[1])
        if scalar:
            return b / matrix[0, 0]
        solved = np.linalg.solve(matrix.T, b.T).T if "right_side" in flags else np.linalg.solve(matrix, b)
        return np.round(solved) if np.allclose(solved, np.round(solved), atol=1e-9) else solved
    if op in ("row_sum", "row_max"):
        return (np.sum if op == "row_sum" else np.max)(a, axis=1, keepdims=True)
    if op.startswith("to_"):
        converted = np.asarray(a).astype(op.removeprefix("to_"))
        return converted[0, 0] if scalar else converted
    raise AssertionError(f"unknown operator {op}")


def record(kernel: Any, *args: Any) -> RecordedSystem:
    """Trace a kernel for some arguments."""
    system: RecordedSystem
    system, _ = kernel.build(RecordedSystem, *args)
    return system


def agree(kernel: Any, *args: Any) -> RecordedSystem:
    """Assert that a kernel's recurrences and its plain Python body compute the same, bit for bit."""
    system = record(kernel, *args)
    names = list(kernel.signature.parameters)
    arrays = {name: np.asarray(value) for name, value in zip(names, args, strict=False)}
    found = evaluate(system, arrays)
    expected = kernel.reference(*args)
    if isinstance(expected, np.ndarray):
        expected = (expected,)
    by_name = expected if isinstance(expected, dict) else dict(zip(found, expected, strict=True))
    assert set(found) == set(by_name)
    for name, value in by_name.items():
        assert type(value) is np.ndarray
        assert value.dtype == found[name].dtype
        np.testing.assert_array_equal(found[name], value, err_msg=name)
    return system

"""Expressions of NumPy's introductions, in the order in which they stand there; not chosen by what works.

All expressions and assignments are there whose values are arrays and numbers, once with the same operands.
Left out are files, plots, printing, help, texts as ``a.dtype.name``, and what Python says of its objects, as
``b is a``. Operands are arguments of the kernel, unless the expression makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy_function_names import FUNCTIONS


@dataclass(frozen=True)
class Expression:
    """One line of an introduction.

    Attributes
    ----------
    source : str
        The introduction.
    text : str
        An expression, or an assignment to a part of `a`, whose result is `a` then.
    operands : dict
        The arrays that it names.
    """

    source: str
    text: str
    operands: Mapping[str, Any] = field(repr=False)

    @property
    def is_statement(self) -> bool:
        """Return whether it changes an array."""
        try:
            compile(self.text, "expression", "eval")
        except SyntaxError:
            return True
        return self.text.startswith(("a.sort(", "c.sort(", "a.resize("))

    @property
    def body(self) -> str:
        """The body of a function of the operands that returns the value."""
        if not self.is_statement:
            return f"    return {self.text}\n"
        changed = next(iter(self.operands))
        return f"    {changed} = {changed}.copy()\n    {self.text}\n    return {changed}\n"


def integers(*shape: int) -> Any:
    """The numbers from 0 on in a shape."""
    return np.arange(int(np.prod(shape))).reshape(shape)


def floats(*shape: int) -> Any:
    """Numbers between 0 and 10, the same each time."""
    return np.floor(10 * np.random.default_rng(1).random(shape))


Section = tuple[Mapping[str, Any], Sequence[str]]
A34 = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]])
PALETTE = np.array([[0, 0, 0], [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]])
C223 = np.array([[[0, 1, 2], [10, 12, 13]], [[100, 101, 102], [110, 112, 113]]])
TRUTHS = {"b1": np.array([False, True, True]), "b2": np.array([True, False, True, False])}
SERIES = {"data": np.sin(integers(20)).reshape(5, 4), "time": np.linspace(20, 145, 5)}
THREE = {"a": np.array([2, 3, 4, 5]), "b": np.array([8, 5, 4]), "c": np.array([5, 4, 6, 8, 3])}

QUICKSTART: list[Section] = [
    (
        {"a": integers(3, 5)},
        ["np.arange(15).reshape(3, 5)", "a.shape", "a.ndim", "a.itemsize", "a.size", "np.array([6, 7, 8])"],
    ),
    (
        {},
        [
            "np.array([2, 3, 4])",
            "np.array([1.2, 3.5, 5.1])",
            "np.array([1, 2, 3, 4])",
            "np.array([(1.5, 2, 3), (4, 5, 6)])",
            "np.array([[1, 2], [3, 4]], dtype=complex)",
            "np.zeros((3, 4))",
            "np.ones((2, 3, 4), dtype=np.int16)",
            "np.arange(10, 30, 5)",
            "np.arange(0, 2, 0.3)",
            "np.linspace(0, 2, 9)",
            "np.linspace(0, 2 * np.pi, 100)",
            "np.sin(np.linspace(0, 2 * np.pi, 100))",
            "np.arange(6)",
            "np.arange(12).reshape(4, 3)",
            "np.arange(24).reshape(2, 3, 4)",
            "np.arange(10000)",
            "np.arange(10000).reshape(100, 100)",
        ],
    ),
    (
        {"a": np.array([20, 30, 40, 50]), "b": integers(4)},
        ["a - b", "b**2", "10 * np.sin(a)", "a < 35"],
    ),
    (
        {"A": np.array([[1, 1], [0, 1]]), "B": np.array([[2, 0], [3, 4]])},
        ["A * B", "A @ B", "A.dot(B)"],
    ),
    ({}, ["np.random.default_rng(1)", "np.ones((2, 3), dtype=int)"]),
    ({"a": np.ones((2, 3), int)}, ["a *= 3"]),
    ({"b": floats(2, 3), "a": np.full((2, 3), 3)}, ["b += a"]),
    ({}, ["np.ones(3, dtype=np.int32)", "np.linspace(0, np.pi, 3)"]),
    ({"a": np.ones(3, np.int32), "b": np.linspace(0, np.pi, 3)}, ["a + b", "np.exp((a + b) * 1j)"]),
    ({"a": floats(2, 3) / 8}, ["a.sum()", "a.min()", "a.max()"]),
    ({"b": integers(3, 4)}, ["b.sum(axis=0)", "b.min(axis=1)", "b.cumsum(axis=1)"]),
    (
        {"B": integers(3), "C": np.array([2.0, -1.0, 4.0])},
        ["np.arange(3)", "np.exp(B)", "np.sqrt(B)", "np.add(B, C)"],
    ),
    (
        {"a": integers(10) ** 3},
        ["np.arange(10)**3", "a[2]", "a[2:5]", "a[:6:2] = 1000", "a[::-1]"],
    ),
    (
        {"b": np.fromfunction(lambda x, y: 10 * x + y, (5, 4), dtype=int)},
        [
            "np.fromfunction(lambda x, y: 10 * x + y, (5, 4), dtype=int)",
            "b[2, 3]",
            "b[0:5, 1]",
            "b[:, 1]",
            "b[1:3, :]",
            "b[-1]",
        ],
    ),
    ({"c": C223}, ["c.shape", "c[1, ...]", "c[..., 2]"]),
    (
        {"a": floats(3, 4)},
        [
            "np.floor(10 * a)",
            "a.ravel()",
            "a.reshape(6, 2)",
            "a.T",
            "a.T.shape",
            "a.resize((2, 6))",
            "a.reshape(3, -1)",
        ],
    ),
    (
        {"a": floats(2, 2), "b": np.array([[1.0, 9.0], [5.0, 1.0]])},
        ["np.vstack((a, b))", "np.hstack((a, b))", "np.column_stack((a, b))"],
    ),
    (
        {"a": np.array([4.0, 2.0]), "b": np.array([3.0, 8.0])},
        [
            "np.column_stack((a, b))",
            "np.hstack((a, b))",
            "a[:, np.newaxis]",
            "np.column_stack((a[:, np.newaxis], b[:, np.newaxis]))",
            "np.hstack((a[:, np.newaxis], b[:, np.newaxis]))",
            "np.r_[1:4, 0, 4]",
        ],
    ),
    ({"a": floats(2, 12)}, ["np.hsplit(a, 3)", "np.hsplit(a, (3, 4))"]),
    (
        {"a": integers(3, 4)},
        ["a.view()", "a.view().reshape((2, 6))", "a[:, 1:3]", "a[:, 1:3] = 10", "a.copy()"],
    ),
    ({"a": integers(200)}, ["a[:100].copy()"]),
    (
        {"a": integers(12) ** 2, "i": np.array([1, 1, 3, 8, 5]), "j": np.array([[3, 4], [9, 7]])},
        ["np.arange(12)**2", "a[i]", "a[j]"],
    ),
    ({"palette": PALETTE, "image": np.array([[0, 1, 2, 0], [0, 3, 4, 0]])}, ["palette[image]"]),
    (
        {"a": integers(3, 4), "i": np.array([[0, 1], [1, 2]]), "j": np.array([[2, 1], [3, 3]])},
        ["np.arange(12).reshape(3, 4)", "a[i, j]", "a[i, 2]", "a[:, j]"],
    ),
    (
        SERIES,
        [
            "np.linspace(20, 145, 5)",
            "np.sin(np.arange(20)).reshape(5, 4)",
            "data.argmax(axis=0)",
            "time[data.argmax(axis=0)]",
            "data[data.argmax(axis=0), range(data.shape[1])]",
            "np.all(data[data.argmax(axis=0), range(data.shape[1])] == data.max(axis=0))",
        ],
    ),
    ({"a": integers(5)}, ["a[[1, 3, 4]] = 0", "a[[0, 0, 2]] = [1, 2, 3]", "a[[0, 0, 2]] += 1"]),
    ({"a": integers(3, 4), "b": integers(3, 4) > 4}, ["a > 4", "a[b]", "a[b] = 0"]),
    ({"a": integers(3, 4), **TRUTHS}, ["a[b1, :]", "a[b1]", "a[:, b2]", "a[b1, b2]"]),
    (
        THREE,
        [
            "np.ix_(a, b, c)",
            "np.ix_(a, b, c)[0] + np.ix_(a, b, c)[1] * np.ix_(a, b, c)[2]",
            "a[3] + b[2] * c[4]",
        ],
    ),
    ({"a": integers(30)}, ["a.reshape((2, -1, 3))"]),
    (
        {"x": np.arange(0, 10, 2), "y": integers(5)},
        ["np.arange(0, 10, 2)", "np.vstack([x, y])", "np.hstack([x, y])"],
    ),
    ({"v": floats(100)}, ["np.histogram(v, bins=50, density=True)"]),
]

BEGINNERS: list[Section] = [
    (
        {"a": np.array([1, 2, 3, 4, 5, 6])},
        ["np.array([1, 2, 3, 4, 5, 6])", "a[0]", "a[0] = 10", "a[:3]", "a[3:]"],
    ),
    (
        {"a": A34},
        ["np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]])", "a[1, 3]", "a.ndim", "a.shape", "a.size"],
    ),
    (
        {},
        [
            "np.zeros(2)",
            "np.ones(2)",
            "np.arange(4)",
            "np.arange(2, 9, 2)",
            "np.linspace(0, 10, num=5)",
            "np.ones(2, dtype=np.int64)",
        ],
    ),
    ({"arr": np.array([2, 1, 5, 3, 7, 4, 6, 8])}, ["np.sort(arr)"]),
    ({"a": np.array([1, 2, 3, 4]), "b": np.array([5, 6, 7, 8])}, ["np.concatenate((a, b))"]),
    ({"x": np.array([[1, 2], [3, 4]]), "y": np.array([[5, 6]])}, ["np.concatenate((x, y), axis=0)"]),
    (
        {"array_example": integers(3, 2, 4)},
        ["array_example.ndim", "array_example.size", "array_example.shape"],
    ),
    ({"a": integers(6)}, ["a.reshape(3, 2)", "np.reshape(a, (1, 6), order='C')"]),
    (
        {"a": np.array([1, 2, 3, 4, 5, 6])},
        [
            "a.shape",
            "a[np.newaxis, :]",
            "a[:, np.newaxis]",
            "np.expand_dims(a, axis=1)",
            "np.expand_dims(a, axis=0)",
        ],
    ),
    ({"data": np.array([1, 2, 3])}, ["data[1]", "data[0:2]", "data[1:]", "data[-2:]"]),
    (
        {"a": A34},
        [
            "a[a < 5]",
            "a >= 5",
            "a[a >= 5]",
            "a[a % 2 == 0]",
            "a[(a > 2) & (a < 11)]",
            "(a > 5) | (a == 5)",
            "np.nonzero(a < 5)",
            "np.nonzero(a == 42)",
        ],
    ),
    ({"a": np.arange(1, 11)}, ["a[3:8]"]),
    (
        {"a1": np.array([[1, 1], [2, 2]]), "a2": np.array([[3, 3], [4, 4]])},
        ["np.vstack((a1, a2))", "np.hstack((a1, a2))"],
    ),
    (
        {"x": np.arange(1, 25).reshape(2, 12)},
        ["np.arange(1, 25).reshape(2, 12)", "np.hsplit(x, 3)", "np.hsplit(x, (3, 4))"],
    ),
    ({"a": A34}, ["a[0, :]", "a.copy()"]),
    (
        {"data": np.array([1, 2]), "ones": np.ones(2, int)},
        ["data + ones", "data - ones", "data * data", "data / data"],
    ),
    ({"a": np.array([1, 2, 3, 4])}, ["a.sum()"]),
    ({"b": np.array([[1, 1], [2, 2]])}, ["b.sum(axis=0)", "b.sum(axis=1)"]),
    ({"data": np.array([1.0, 2.0])}, ["data * 1.6", "data.max()", "data.min()", "data.sum()"]),
    ({"a": floats(3, 4) / 16}, ["a.sum()", "a.min()", "a.min(axis=0)"]),
    (
        {"data": np.array([[1, 2], [3, 4], [5, 6]])},
        [
            "np.array([[1, 2], [3, 4], [5, 6]])",
            "data[0, 1]",
            "data[1:3]",
            "data[0:2, 0]",
            "data.max()",
            "data.min()",
            "data.sum()",
        ],
    ),
    ({"data": np.array([[1, 2], [5, 3], [4, 6]])}, ["data.max(axis=0)", "data.max(axis=1)"]),
    ({"data": np.array([[1, 2], [3, 4]]), "ones": np.array([[1, 1], [1, 1]])}, ["data + ones"]),
    ({"data": np.array([[1, 2], [3, 4], [5, 6]]), "ones_row": np.array([[1, 1]])}, ["data + ones_row"]),
    (
        {},
        [
            "np.ones((4, 3, 2))",
            "np.ones(3)",
            "np.zeros(3)",
            "np.random.default_rng()",
            "np.ones((3, 2))",
            "np.zeros((3, 2))",
        ],
    ),
    (
        {"a": np.array([11, 11, 12, 13, 14, 15, 16, 17, 12, 13, 11, 14, 18, 19, 20])},
        ["np.unique(a)", "np.unique(a, return_index=True)", "np.unique(a, return_counts=True)"],
    ),
    ({"a_2d": np.vstack([A34, A34[:1]])}, ["np.unique(a_2d)", "np.unique(a_2d, axis=0)"]),
    ({"data": np.array([[1, 2, 3], [4, 5, 6]])}, ["data.reshape(2, 3)", "data.reshape(3, 2)"]),
    ({"arr": integers(2, 3)}, ["np.arange(6).reshape((2, 3))", "arr.transpose()", "arr.T"]),
    ({"arr": np.array([1, 2, 3, 4, 5, 6, 7, 8])}, ["np.flip(arr)"]),
    ({"arr_2d": A34}, ["np.flip(arr_2d)", "np.flip(arr_2d, axis=0)", "np.flip(arr_2d, axis=1)"]),
    ({"a": A34}, ["a[1] = np.flip(a[1])", "a[:, 1] = np.flip(a[:, 1])"]),
    ({"x": A34}, ["x.flatten()", "x.ravel()"]),
    (
        {"predictions": np.ones(3), "labels": np.array([1.0, 2.0, 3.0])},
        ["(1 / 3) * np.sum(np.square(predictions - labels))"],
    ),
]

A, B = np.array([1, 2, 3]), np.array([(1.5, 2, 3), (4, 5, 6)])
C = np.array([[(1.5, 2, 3), (4, 5, 6)], [(3, 2, 1), (4, 5, 6)]])
D, E, F = np.arange(10, 25, 5), np.full((2, 2), 7), np.eye(2)
DATACAMP: list[Section] = [
    (
        {},
        [
            "np.array([1, 2, 3])",
            "np.array([(1.5, 2, 3), (4, 5, 6)], dtype=float)",
            "np.array([[(1.5, 2, 3), (4, 5, 6)], [(3, 2, 1), (4, 5, 6)]], dtype=float)",
            "np.zeros((3, 4))",
            "np.ones((2, 3, 4), dtype=np.int16)",
            "np.arange(10, 25, 5)",
            "np.linspace(0, 2, 9)",
            "np.full((2, 2), 7)",
            "np.eye(2)",
            "np.random.random((2, 2))",
        ],
    ),
    ({"a": A, "b": B, "e": E}, ["a.shape", "len(a)", "b.ndim", "e.size", "b.astype(int)"]),
    (
        {"a": A, "b": B},
        [
            "a - b",
            "np.subtract(a, b)",
            "b + a",
            "np.add(b, a)",
            "a / b",
            "np.divide(a, b)",
            "a * b",
            "np.multiply(a, b)",
            "np.exp(b)",
            "np.sqrt(b)",
            "np.sin(a)",
            "np.cos(b)",
            "np.log(a)",
        ],
    ),
    ({"e": E, "f": F}, ["e.dot(f)"]),
    ({"a": A, "b": B}, ["a == b", "a < 2", "np.array_equal(a, b)"]),
    (
        {"a": A, "b": B},
        [
            "a.sum()",
            "a.min()",
            "b.max(axis=0)",
            "b.cumsum(axis=1)",
            "a.mean()",
            "np.median(b)",
            "np.corrcoef(b)",
            "np.std(b)",
            "a.view()",
            "np.copy(a)",
            "a.copy()",
        ],
    ),
    ({"a": A}, ["a.sort()"]),
    ({"c": C}, ["c.sort(axis=0)"]),
    (
        {"a": A, "b": B, "c": C},
        [
            "a[2]",
            "b[1, 2]",
            "a[0:2]",
            "b[0:2, 1]",
            "b[:1]",
            "c[1, ...]",
            "a[::-1]",
            "a[a < 2]",
            "b[[1, 0, 1, 0], [0, 1, 2, 0]]",
            "b[[1, 0, 1, 0]][:, [0, 1, 2, 0]]",
        ],
    ),
    (
        {"a": A, "b": B, "c": C, "d": D, "e": E, "f": F, "g": A - B, "h": A},
        [
            "np.transpose(b)",
            "b.T",
            "b.ravel()",
            "g.reshape(3, -1)",
            "np.resize(h, (2, 6))",
            "np.append(h, g)",
            "np.insert(a, 1, 5)",
            "np.delete(a, [1])",
            "np.concatenate((a, d), axis=0)",
            "np.vstack((a, b))",
            "np.r_[e, f]",
            "np.hstack((e, f))",
            "np.column_stack((a, d))",
            "np.c_[a, d]",
            "np.hsplit(a, 3)",
            "np.vsplit(c, 2)",
        ],
    ),
]

SQUARE = {
    "a": np.array([[4.0, 1.0, 2.0], [1.0, 5.0, 0.25], [2.0, 0.25, 6.0]]),
    "b": np.arange(9.0).reshape(3, 3),
}
MATLAB: list[Section] = [
    (
        {"a": floats(22, 9)},
        [
            "1j",
            "np.finfo(float).eps",
            "np.spacing(1)",
            "np.ndim(a)",
            "np.size(a)",
            "np.shape(a)",
            "a.shape[2 - 1]",
            "np.array([[1., 2., 3.], [4., 5., 6.]])",
            "np.block([[a, a], [a, a]])",
            "a[-1]",
            "a[1, 4]",
            "a[1, :]",
            "a[0:5]",
            "a[-5:]",
            "a[0:3, 4:9]",
            "a[np.ix_([1, 3, 4], [0, 2])]",
            "a[2:21:2, :]",
            "a[::2, :]",
            "a[::-1, :]",
            "a[np.r_[:len(a), 0]]",
            "a.transpose()",
            "a.conj().transpose()",
            "a.conj().T",
        ],
    ),
    (SQUARE, ["a @ b", "a * b", "b / a", "a**3", "(a > 0.5)", "np.nonzero(a > 0.5)"]),
    ({**SQUARE, "v": np.array([0.0, 1.0, 2.0])}, ["a[:, np.nonzero(v > 0.5)[0]]", "a[:, v.T > 0.5]"]),
    (
        SQUARE,
        ["a[a < 0.5] = 0", "a * (a > 0.5)", "a[:] = 3", "a[1, :].copy()", "a.flatten()", "a.flatten('F')"],
    ),
    (
        {"a": floats(3, 3), "v": floats(3)},
        [
            "np.arange(1., 11.)",
            "np.r_[1.:11.]",
            "np.r_[1:10:10j]",
            "np.arange(10.)",
            "np.r_[:10.]",
            "np.arange(1., 11.)[:, np.newaxis]",
            "np.zeros((3, 4, 5))",
            "np.ones((3, 4))",
            "np.eye(3)",
            "np.diag(a)",
            "np.diag(v, 0)",
            "np.linspace(1, 3, 4)",
            "np.mgrid[0:9., 0:6.]",
            "np.meshgrid(np.r_[0:9.], np.r_[0:6.])",
            "np.ogrid[0:9., 0:6.]",
            "np.ix_(np.r_[0:9.], np.r_[0:6.])",
            "np.meshgrid([1, 2, 4], [2, 4, 5])",
            "np.ix_([1, 2, 4], [2, 4, 5])",
        ],
    ),
    (
        SQUARE,
        [
            "np.tile(a, (2, 3))",
            "np.concatenate((a, b), 1)",
            "np.hstack((a, b))",
            "np.column_stack((a, b))",
            "np.c_[a, b]",
            "np.concatenate((a, b))",
            "np.vstack((a, b))",
            "np.r_[a, b]",
            "a.max()",
            "np.nanmax(a)",
            "a.max(0)",
            "a.max(1)",
            "np.maximum(a, b)",
            "np.sqrt(a[0] @ a[0])",
            "np.linalg.norm(a[0])",
            "np.logical_and(a, b)",
            "np.logical_or(a, b)",
        ],
    ),
    ({"a": integers(3, 3), "b": 2 * integers(3, 3)}, ["a & b", "a | b"]),
    (
        SQUARE,
        [
            "np.linalg.inv(a)",
            "np.linalg.pinv(a)",
            "np.linalg.matrix_rank(a)",
            "np.linalg.solve(a, b)",
            "np.linalg.lstsq(a, b)",
            "np.linalg.svd(a)",
            "np.linalg.cholesky(a)",
            "np.linalg.eig(a)",
            "np.linalg.qr(a)",
            "np.fft.fft(a)",
            "np.fft.ifft(a)",
            "np.sort(a)",
            "a.sort(axis=0)",
            "np.sort(a, axis=1)",
            "a.sort(axis=1)",
            "a[np.argsort(a[:, 0]), :]",
            "np.unique(a)",
            "a.squeeze()",
        ],
    ),
]

SOURCES = {
    "NumPy quickstart": QUICKSTART,
    "NumPy: the absolute basics for beginners": BEGINNERS,
    "DataCamp's NumPy cheat sheet": DATACAMP,
    "NumPy for MATLAB users": MATLAB,
}
BY_NAME = "Other functions by name"


def expressions() -> Iterator[Expression]:
    """Yield all expressions, each with the operands that it names; the same ones once."""
    seen = set()
    for source, sections in {**SOURCES, BY_NAME: FUNCTIONS}.items():
        for operands, texts in sections:
            for text in texts:
                named = {name: value for name, value in operands.items() if name in names(text)}
                key = (text, *(f"{value!r}" for value in named.values()))
                if key not in seen:
                    seen.add(key)
                    yield Expression(source, text, named)


def names(text: str) -> set[str]:
    """The names that a text reads or assigns."""
    return set(compile(text, "expression", "exec").co_names)

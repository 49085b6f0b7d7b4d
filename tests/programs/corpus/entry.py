"""Entries of the corpus, and the data that they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import cyclotron as cy

SPACE = cy.Schedule().space


@dataclass(frozen=True)
class Entry:
    """A kernel with its data and schedules.

    Attributes
    ----------
    kernel : Kernel
        The recurrence.
    make : callable
        ``make(rng, *size)`` gives the arguments.
    sizes : tuple of tuple of int
        The sizes to run.
    oracle : callable
        ``oracle(*arrays)`` gives the same outputs with NumPy alone, by another text than the kernel's.
    schedules : mapping
        Beside the default one and a single PE's.
    machine : Machine, optional
        Where the schedules need more than a mesh.
    tolerance : float
        The largest error, in units of rounding of the largest element; 0 where all values are exact.
    """

    kernel: cy.Kernel
    make: Callable[..., tuple[Any, ...]]
    sizes: tuple[tuple[int, ...], ...]
    oracle: Callable[..., Any]
    schedules: Mapping[str, cy.Schedule] = field(default_factory=dict)
    machine: cy.Machine | None = None
    tolerance: float = 0.0


def integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Small integers, whose sums and products are exact."""
    return rng.integers(-3, 4, shape).astype(float)


def unit_lower(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lower triangular with ones on the diagonal."""
    return np.tril(rng.integers(-1, 2, (n, n)).astype(float), -1) + np.eye(n)


def signed_upper(rng: np.random.Generator, n: int) -> np.ndarray:
    """Upper triangular with 1 or -1 on the diagonal, so that divisions by it are exact."""
    return np.triu(rng.integers(-1, 2, (n, n)).astype(float), 1) + np.diag(rng.choice([1.0, -1.0], n))


def plain(argument: Any) -> Any:
    """The array behind an argument."""
    return getattr(argument, "array", argument)


SQUARES = ((1,), (2,), (3,), (6,))


def arrays(*shapes):
    """Integer arrays; a shape names its extents by their position in the size."""
    return lambda rng, *size: tuple(integers(rng, *(size[axis] for axis in shape)) for shape in shapes)


def tiles(*shapes):
    """The same in tiles of two by two, the last ones smaller where the size is odd."""
    return lambda rng, *size: tuple(cy.blocked(array, (2, 2)) for array in arrays(*shapes)(rng, *size))

"""`cy.random`: random numbers that are a function of a key and of the place of an element.

Each number is the Threefry-2x32 hash, of 20 rounds, of the place of its element in the array, under a key
(Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011). So they are the same
on every backend, machine and grid, and no state is passed on: another key gives other numbers. Of the
generators of that paper it is the one without products of 64 bits, which arrays do not have: it adds, rotates
and xors words.

Examples
--------
>>> @cy.kernel
... def noisy(x, scale):
...     return x + scale * cy.random.normal(cy.random.key(7), x.shape)
>>> x = np.zeros(3)
>>> np.allclose(noisy(x, 0.5), 0.5 * cy.random.normal(cy.random.key(7), 3))
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cyclotron.language.functions import elementwise as f
from cyclotron.language.functions.refusals import unfit
from cyclotron.language.functions.registry import numpy_function
from cyclotron.language.trace.trace import traced
from cyclotron.language.values.affine import Affine
from cyclotron.language.values.array import SymbolicArray, flat_indices, materialized, operand
from cyclotron.language.values.context import ACTIVE
from cyclotron.language.values.dispatch import Arithmetic
from cyclotron.language.values.reference import ScalarView
from cyclotron.support.dtypes import is_whole

__all__ = ["Key", "fold_in", "integers", "key", "normal", "uniform"]

_WORD = 0xFFFFFFFF
_PARITY = 0x1BD11BDA
_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True, eq=False)
class Key:
    """Two words of 32 bits, of which random numbers are a function, besides of their places.

    Attributes
    ----------
    words : tuple of int or array
        Numbers of the host, or of the kernel where they are made of its data or indices.

    Examples
    --------
    >>> cy.random.key(2**32 + 5).words
    (5, 1)
    """

    words: tuple[Any, Any]


def key(seed: Any) -> Key:
    """Return the key of a seed.

    Parameters
    ----------
    seed : int
        Of the host, an element, or the index of a loop: its 64 bits are the key.

    Returns
    -------
    Key

    Raises
    ------
    ShapeError
        If the seed is no whole number (CYC122).

    Examples
    --------
    >>> cy.random.key(7).words
    (7, 0)
    """
    if isinstance(seed, (Arithmetic, Affine)):
        number = operand(seed)
        if is_whole(number.dtype) and not number.shape:
            return Key((number.astype("int64") & _WORD, (number.astype("int64") // (_WORD + 1)) & _WORD))
    elif isinstance(seed, (int, np.integer)) or (np.ndim(seed) == 0 and np.asarray(seed).dtype.kind in "iu"):
        return Key((int(seed) & _WORD, (int(seed) >> 32) & _WORD))
    raise unfit(f"the seed of random numbers is {seed!r}", "give a whole number")


def fold_in(key: Key, data: Any) -> Key:
    """Return another key, of a key and a number: of the step of a loop, or of the place of a use.

    Parameters
    ----------
    key : Key
    data : int
        Of the host, an element, or the index of a loop.

    Returns
    -------
    Key
        Its numbers have nothing to do with those of the key.

    Raises
    ------
    ShapeError
        If it is no whole number (CYC122).

    Examples
    --------
    >>> a, b = (cy.random.fold_in(cy.random.key(7), step) for step in (0, 1))
    >>> a.words == b.words
    False
    """
    return Key(_hashed(key, _own_key(data).words))


_own_key = key


@numpy_function(role="new array", public=False)
def uniform(key: Key, shape: int | Sequence[int], low: Any = 0.0, high: Any = 1.0) -> Any:
    """Return numbers between two bounds, all as likely, of 53 random bits each.

    Parameters
    ----------
    key : Key
    shape : int or sequence of int
        That of the result.
    low, high : float, optional
        The bounds; the numbers are at least `low`, and less than `high`.

    Returns
    -------
    array
        Of the shape; float64.

    Raises
    ------
    ShapeError
        If the shape depends on data (CYC122).

    Examples
    --------
    >>> x = cy.random.uniform(cy.random.key(7), (100,))
    >>> bool((x >= 0).all() and (x < 1).all())
    True
    """
    first, second = _bits(key, shape)
    unit = ((first // 32) * 67108864 + second // 64) * (1.0 / 9007199254740992.0)
    return _shown(unit * (high - low) + low)


@numpy_function(role="new array", public=False)
def normal(key: Key, shape: int | Sequence[int], mean: Any = 0.0, deviation: Any = 1.0) -> Any:
    """Return normally distributed numbers, by the transform of Box and Muller.

    Parameters
    ----------
    key : Key
    shape : int or sequence of int
        That of the result.
    mean, deviation : float, optional
        The mean, and the standard deviation.

    Returns
    -------
    array
        Of the shape; float64.

    Raises
    ------
    ShapeError
        If the shape depends on data (CYC122).

    Examples
    --------
    >>> x = cy.random.normal(cy.random.key(7), 1000)
    >>> bool(abs(x.mean()) < 0.1 and abs(x.std() - 1) < 0.1)
    True
    """
    first, second = _bits(key, shape)
    radius = f.sqrt(-2.0 * f.log((first + 0.5) * (1.0 / 4294967296.0)))
    return _shown(radius * f.cos(second * (2.0 * math.pi / 4294967296.0)) * deviation + mean)


@numpy_function(role="new array", public=False)
def integers(key: Key, shape: int | Sequence[int], low: int, high: int) -> Any:
    """Return whole numbers from `low` on, less than `high`, as likely up to 1 in 2**32.

    Parameters
    ----------
    key : Key
    shape : int or sequence of int
        That of the result.
    low, high : int
        The bounds, at most 2**31 apart.

    Returns
    -------
    array
        Of the shape; int64.

    Raises
    ------
    ShapeError
        If the bounds are too far apart, or in the wrong order (CYC122).

    Examples
    --------
    >>> sorted(set(cy.random.integers(cy.random.key(7), 100, 1, 7).tolist()))
    [1, 2, 3, 4, 5, 6]
    """
    if not 0 < high - low <= 1 << 31:
        raise unfit(f"random integers are from {low} to less than {high}", "give bounds at most 2**31 apart")
    first, _ = _bits(key, shape)
    return _shown(first * (high - low) // (_WORD + 1) + low)


def _bits(key: Key, shape: int | Sequence[int]) -> tuple[Any, Any]:
    """Two arrays of random words: the hash of the places of elements."""
    sizes = tuple(int(one) for one in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    if traced():
        return _hashed(key, (flat_indices(sizes, range(len(sizes))), 0))
    places = np.arange(math.prod(sizes)).reshape(sizes)
    return _hashed(key, (places & _WORD, places >> 32))


def _hashed(key: Key, counter: tuple[Any, Any]) -> tuple[Any, Any]:
    """Threefry-2x32 of 20 rounds, in words of 32 bits in int64."""
    words = (*key.words, _once((key.words[0] ^ key.words[1]) ^ _PARITY))
    first, second = ((one + word) & _WORD for one, word in zip(counter, words[:2], strict=True))
    for number in range(20):
        first = _once((first + second) & _WORD)
        rotation = _ROTATIONS[number % 8]
        rotated = ((second * (1 << rotation)) & _WORD) + second // (1 << (32 - rotation))
        second = _once(rotated ^ first)
        if number % 4 == 3:
            more = number // 4 + 1
            first = (first + words[more % 3]) & _WORD
            second = _once((second + (words[(more + 1) % 3] + more)) & _WORD)
    return _once(first), second


def _once(value: Any) -> Any:
    """An array of the kernel in a tensor of its own: what uses it twice does not compute it twice."""
    return materialized(value) if isinstance(value, SymbolicArray) else value


def _shown(value: Any) -> Any:
    """An array of a plain run as such runs have them."""
    return value.view(ScalarView) if isinstance(value, np.ndarray) and ACTIVE.get() is not None else value

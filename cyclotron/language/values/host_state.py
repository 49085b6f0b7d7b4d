"""States of the host that functions of the user may change: told apart before and after a call."""

from __future__ import annotations

import operator
import random
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from cyclotron.language.values.host_functions import around, is_of_user

GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
_MOST_VALUES = 1_000
_LARGE_ARRAY = 1 << 16


def state_of(function: Any, arguments: Any = ()) -> list[object]:
    """The values that a function may read and change: around it, of its object, in its arguments.

    Those of random numbers come as `("random", ...)`. Two states of one function are equal where nothing has
    changed, as far as that is seen: in the first so many values, in objects of the user's classes.
    """
    found: list[object] = []
    seen: set[int] = set()
    pending = [function, arguments]
    for value in pending:  # which grows
        if len(found) >= _MOST_VALUES:
            break
        if isinstance(value, _PLAIN):
            found.append((type(value), repr(value)))
            continue
        found.append(type(value).__name__)
        if id(value) in seen:
            continue
        seen.add(id(value))
        parts, own = _parts(value)
        pending += parts
        found += own
    return found


def of_generators(state: list[object]) -> list[object]:
    """The part of a state that is of random numbers."""
    return [one for one in state if isinstance(one, tuple) and one[0] == "random"]


def _parts(value: Any) -> tuple[list[Any], list[object]]:
    """The values in a value, and what itself may be another at the next call."""
    if is_of_user(value):
        return [one for _, one in around(value)] + list(vars(value).values()), []
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__func__], []
    if isinstance(value, (list, tuple, deque)):
        return list(value), [len(value)]
    if isinstance(value, dict):
        return [*value, *value.values()], [len(value)]
    if isinstance(value, (set, frozenset, bytearray)):
        return sorted(value, key=repr), [len(value)]
    if isinstance(value, GENERATORS):
        return [], [("random", _state_of_generator(value))]
    if value is np:
        return [], [("random", repr(np.random.mtrand._rand.get_state()))]
    if value is random:
        return [], [("random", repr(random.getstate()))]
    if isinstance(value, np.ndarray) and value.nbytes <= _LARGE_ARRAY and not value.dtype.hasobject:
        return [], [value.tobytes()]
    if isinstance(value, types.GeneratorType):
        frame = value.gi_frame
        return [], [None if frame is None else frame.f_lasti]
    if isinstance(value, Iterator):
        return [], [operator.length_hint(value, -1)]
    kind = value if isinstance(value, type) else type(value)
    is_user_s = is_of_user(vars(kind).get("__init__")) or any(map(is_of_user, vars(kind).values()))
    return (list(getattr(value, "__dict__", {}).values()), []) if is_user_s else ([], [])


def _state_of_generator(value: Any) -> str:
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    return repr(value.getstate() if isinstance(value, random.Random) else value.get_state())

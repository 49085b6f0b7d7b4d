"""Runs a kernel's Python body on shadows of its tensors, which note what is written, read and missed."""

from __future__ import annotations

import builtins
import itertools
import sys
from collections import Counter
from typing import Any

Element = tuple[int, ...]


class Shadow:
    """A tensor that notes what is done to it; every element is 1."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.written: Counter[Element] = Counter()
        self.read: set[Element] = set()
        self.early: set[Element] = set()  # read when nothing was written yet
        self.outside: set[Element] = set()

    def _element(self, key: Any) -> Element:
        element = key if isinstance(key, tuple) else (key,)
        inside = all(0 <= index < extent for index, extent in zip(element, self.shape, strict=True))
        if not inside:
            self.outside.add(element)
        return element

    def __getitem__(self, key: Any) -> int:
        element = self._element(key)
        self.read.add(element)
        if element not in self.written:
            self.early.add(element)
        return 1

    def __setitem__(self, key: Any, value: Any) -> None:
        self.written[self._element(key)] += 1


class Faults:
    """All violations of single assignment, cover and bounds in one execution of a kernel's text."""

    def __init__(
        self, source: str, inputs: dict[str, tuple[int, ...]], tensors: list[str], sizes: dict[str, int]
    ) -> None:
        made: list[Shadow] = []
        self.empty: list[dict[str, int]] = []  # the indices where a maximum or minimum has no term

        class Stub:
            """The part of the package that the kernel uses."""

            maximum, minimum = builtins.max, builtins.min

            @staticmethod
            def kernel(function: Any) -> Any:
                return function

            @staticmethod
            def empty(shape: tuple[int, ...], dtype: str) -> Shadow:
                made.append(Shadow(shape))
                return made[-1]

        def fold(*values: Any) -> int:
            terms = values if len(values) > 1 else list(values[0])
            if not terms:
                seen = sys._getframe(1).f_locals
                self.empty.append({name: seen[name] for name in ("i", "j", "k") if name in seen})
                return 1
            return builtins.max(terms)

        names: dict[str, Any] = {"cy": Stub, "max": fold, "min": fold}
        exec(source.replace("import cyclotron as cy\n", ""), names)
        arrays = {name: Shadow(shape) for name, shape in inputs.items()}
        returned = names["kernel"](*arrays.values(), *sizes.values())
        self.tensors = dict(zip(tensors, made, strict=True))
        self.arrays = arrays | self.tensors
        outputs = returned if isinstance(returned, tuple) else (returned,)
        self.outputs = [name for name, shadow in self.tensors.items() if any(shadow is o for o in outputs)]

    def twice(self, name: str) -> set[Element]:
        return {element for element, times in self.tensors[name].written.items() if times > 1}

    def missing(self, name: str) -> set[Element]:
        """The elements of an output that nothing writes."""
        if name not in self.outputs:
            return set()
        shadow = self.tensors[name]
        return {e for e in itertools.product(*map(range, shadow.shape)) if e not in shadow.written}

    def undefined(self, name: str) -> set[Element]:
        """The elements that are read and never written."""
        return {e for e in self.tensors[name].read if e not in self.tensors[name].written}

    def codes(self) -> set[str]:
        """The codes of all violations there are."""
        found = set()
        for name, shadow in self.arrays.items():
            if shadow.outside:
                found.add("CYC203")
            if name in self.tensors and self.twice(name):
                found.add("CYC201")
            if name in self.tensors and self.missing(name):
                found.add("CYC202")
            if name in self.tensors and self.undefined(name) - shadow.outside:
                found.add("CYC204")
        if self.empty:
            found.add("CYC205")
        return found

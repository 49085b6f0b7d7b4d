"""The corpus: each kernel on each schedule and size equals Python and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from corpus import chains, convolutions, factorizations, paths, products, recurrences, stencils
from corpus.entry import Entry, plain

import cyclotron as cy

FAMILIES = (factorizations, products, chains, convolutions, stencils, recurrences, paths)
ENTRIES: dict[str, Entry] = {name: entry for family in FAMILIES for name, entry in family.ENTRIES.items()}


def schedules(entry: Entry) -> dict[str, Any]:
    return {"default": None, "one PE": cy.Schedule(), **entry.schedules}


NAMES = [(name, schedule) for name, entry in ENTRIES.items() for schedule in schedules(entry)]


def arguments(entry: Entry, size: tuple[int, ...]) -> tuple[Any, ...]:
    return entry.make(np.random.default_rng(sum(size)), *size)


def outputs(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def agree(found: Any, expected: Any, tolerance: float) -> None:
    for array, wanted in zip(outputs(found), outputs(expected), strict=True):
        assert array.shape == np.shape(wanted)
        error = np.abs(array - wanted).max(initial=0)
        assert error <= tolerance * np.finfo(float).eps * np.abs(wanted).max(initial=1)


def test_families_have_their_own_names() -> None:
    assert len(ENTRIES) == sum(len(family.ENTRIES) for family in FAMILIES)


@pytest.mark.parametrize("name", ENTRIES)
def test_the_text_means_what_its_name_says(name: str) -> None:
    """Run as plain Python, against NumPy."""
    entry = ENTRIES[name]
    for size in entry.sizes:
        values = arguments(entry, size)
        expected = entry.oracle(*(plain(value) for value in values))
        agree(entry.kernel.reference(*values), expected, entry.tolerance)


@pytest.mark.parametrize(("name", "schedule"), NAMES)
def test_backends_equal_plain_python(name: str, schedule: str) -> None:
    """The simulator and the threads have the same bits, within rounding those of the reference."""
    entry = ENTRIES[name]
    for size in entry.sizes:
        values = arguments(entry, size)
        program = entry.kernel.compile(*values, schedule=schedules(entry)[schedule], machine=entry.machine)
        simulated = tuple(cy.run(program, backend="sim").outputs.values())
        agree(simulated, entry.kernel.reference(*values), entry.tolerance)
        for array, same in zip(cy.run(program, backend="local").outputs.values(), simulated, strict=True):
            assert array.tobytes() == same.tobytes()

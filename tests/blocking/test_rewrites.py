"""The same computations in other words: nearly all are recognised, and all that are have Python's results."""

import collections
import itertools

import numpy as np
import pytest
from loading import kernel_of
from mutations import plain
from rewrites import rewrites
from texts import ALL, arguments

import cyclotron as cy

PARTS, EACH = 100, 2  # 200 of each text
SHAPES = ((7, 5), (4, 6))


def full_arguments(name, n, m, seed):
    """Arguments with numbers in both triangles: what a text must not read counts where it does."""
    given, _ = arguments(name, n, m, seed)
    if not name.startswith("cholesky"):
        return given
    return tuple(a + a.T - np.diag(np.diag(a)) for a in given)


@pytest.mark.sampled(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_nearly_all_rewrites_are_recognised_and_right(part):
    found = collections.Counter()
    for name, text in ALL.items():
        given = [full_arguments(name, n, m, seed=n) for n, m in SHAPES]
        for new, _ in itertools.islice(rewrites(text, given, f"{part} {name}"), EACH):
            found[outcome(new, given[0])] += 1
    assert found["recognised"] >= 0.95 * (found["recognised"] + found["missed"])
    assert found["recognised"] > 0.8 * EACH * len(ALL)


def outcome(text, given):
    """Return what becomes of a text; asserts that it has Python's results where it is recognised."""
    kernel = kernel_of(text)
    try:
        kernel.recurrences(*given)
    except cy.TraceError as error:
        if error.code != "CYC111":  # a number that outlives its loop, which kernels have no place for
            raise
        return "no kernel"
    try:
        if not kernel.block(*given, tile=3).complete:
            return "missed"
    except cy.LegalityError:
        return "missed"
    results = cy.run(kernel.compile(*given, schedule=cy.Schedule(), tile=3)).outputs.values()
    for result, wanted in zip(results, plain(text, *given), strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-11, err_msg=text)
    return "recognised"

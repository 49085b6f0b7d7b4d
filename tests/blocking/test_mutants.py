"""Texts that are nearly an operator's: refused, or right as Python is; never the operator's result."""

import itertools

import numpy as np
import pytest
from loading import kernel_of
from mutations import mutants as random_mutants
from mutations import plain
from texts import ALL as ALL_TEXTS
from texts import TEXTS, arguments

import cyclotron as cy

CHANGES = [
    (" - sum(", " + sum("),
    ("-=", "+="),
    ("+=", "-="),
    ("= -sum(", "= sum("),
    (" * ", " + "),
    (" / L[i, i]", ""),
    (" / L[j, j]", " * L[j, j]"),
    (" / L[j, j]", " / L[i, i]"),
    (" / F[k, k]", ""),
    ("cy.sqrt(", "("),
    ("1.0 /", "2.0 /"),
    ("range(i)", "range(i + 1)"),
    ("range(i)", "range(1, i)"),
    ("range(i)", "range(max(0, i - 1))"),
    ("range(j)", "range(j + 1)"),
    ("range(j)", "range(1, j)"),
    ("range(j, i)", "range(j + 1, i)"),
    ("range(i + 1, n)", "range(i + 2, n)"),
    ("range(i + 1, n)", "range(i + 1, n - 1)"),
    ("range(j + 1, n)", "range(j + 2, n)"),
    ("range(k + 1, n)", "range(k + 2, n)"),
    ("range(j, n)", "range(j + 1, n)"),
    ("range(A.shape[1])", "range(A.shape[1] - 1)"),
    ("range(A.shape[1])", "range(1, A.shape[1])"),
    ("range(A.shape[0])", "range(A.shape[0] - 1)"),
    *((f"[{a}, {b}]", f"[{b}, {a}]") for a in "ijkr" for b in "ijkr" if a != b),
    *((f"[{a}, {b}]", f"[{a}, {a}]") for a in "ijkr" for b in "ijkr" if a != b),
    *((f"[{a}, {a}]", f"[{a}, 0]") for a in "ijk"),
    *((f"L[{a}, {b}] * ", f"2.0 * L[{a}, {b}] * ") for a in "ij" for b in "jk"),
    *((f"[{a}, {b}]", f"[0, {b}]") for a in "ijk" for b in "ijkr" if a != b),
    *((f"{t}[{a}, {b}]", f"({t}[{a}, {b}] + 1.0)") for t in "ABLXF" for a in "ijk" for b in "ijkr"),
    ("range(n)", "range(1, n)"),
    ("range(n)", "range(n - 1)"),
    ("range(n - 1, -1, -1)", "range(n - 1, 0, -1)"),
    ("B[i, r]", "B[i, 0]"),
    ("A[i, j]", "A[j, j]"),
    ("A[j, j]", "A[j, 0]"),
]


def is_python(text):
    try:
        compile(text, "text", "exec")
    except SyntaxError:
        return False
    return True


def mutants():
    """Each change at each of its places."""
    for name, text in TEXTS.items():
        seen = {text}
        for old, new in CHANGES:
            place = text.find(old)
            while place >= 0:
                changed = text[:place] + new + text[place + len(old) :]
                if changed not in seen and is_python(changed):
                    seen.add(changed)
                    yield name, changed
                place = text.find(old, place + 1)


def outcome(name, text, n, m, tile):
    """Return the outcome of a mutant; asserts that it is right where it runs."""
    given, _ = arguments(name, n, m)
    kernel = kernel_of(text)
    try:
        with np.errstate(all="ignore"):
            expected = kernel.reference(*given)
    except (IndexError, NameError, ZeroDivisionError):
        return "no text"
    try:
        program = kernel.compile(*given, schedule=cy.Schedule(), tile=tile)
    except cy.CyclotronError:
        return "refused"
    try:
        results = cy.run(program).outputs.values()
    except cy.ExecutionError:
        assert not np.isfinite(expected).all()
        return "fails"
    all_expected = expected if isinstance(expected, tuple) else (expected,)
    for result, wanted in zip(results, all_expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-7, atol=1e-9, err_msg=text)
    return "right"


ALL = list(mutants())


@pytest.mark.parametrize("part", range(8))
def test_mutants_are_refused_or_right(part):
    outcomes = [outcome(name, text, 5, 5, 2) for name, text in ALL[part::8]]
    assert outcomes.count("refused") > len(outcomes) / 4


def test_there_are_several_hundred():
    assert len(ALL) > 300


PARTS, EACH = 50, 4  # 200 of each text
SHAPES = ((5, 7, 2), (6, 5, 4), (7, 4, 3), (4, 6, 3))  # with the length of tiles


@pytest.mark.sampled(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_random_mutants_are_refused_or_right(part):
    n, m, tile = SHAPES[part % len(SHAPES)]
    outcomes = [
        random_outcome(name, text, n, m, tile)
        for name in ALL_TEXTS
        for text in itertools.islice(random_mutants(ALL_TEXTS[name], f"{part} {name}"), EACH)
    ]
    assert outcomes.count("refused") > len(outcomes) / 5


def random_outcome(name, text, n, m, tile):
    """Return the outcome of a mutant; asserts that it is what plain Python has where it runs."""
    given, _ = arguments(name, n, m)
    try:
        expected = plain(text, *given)
    except (IndexError, NameError, TypeError, ValueError, ZeroDivisionError):
        return "no text"
    try:
        kernel = kernel_of(text)
        if not kernel.block(*given, tile=tile).complete:
            return "refused"
    except (cy.CyclotronError, NameError):
        return "refused"
    try:
        program = kernel.compile(*given, schedule=cy.Schedule(), tile=tile)
    except cy.LegalityError as error:
        if error.code != "CYC221":  # one PE does not run the loops of this text in an order that serves
            raise
        return "refused"
    try:
        results = cy.run(program).outputs.values()
    except cy.ExecutionError:
        assert not all(np.isfinite(values).all() for values in expected)
        return "fails"
    for result, wanted in zip(results, expected, strict=True):
        finite = np.isfinite(wanted)
        np.testing.assert_allclose(result[finite], wanted[finite], rtol=1e-7, atol=1e-8, err_msg=text)
    return "right"

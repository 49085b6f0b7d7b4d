"""The same computations in other words: other indices, factors in other orders, reciprocals, other signs."""

import random
import re

import numpy as np
import pytest
from loading import kernel_of
from texts import TEXTS, arguments

import cyclotron as cy

_PRODUCT = re.compile(r"(\w\[\w, \w\]) \* (\w\[\w, \w\])")
_QUOTIENT = re.compile(r" / (\w\[\w, \w\])$", re.MULTILINE)


def rewritten(text, rng):
    """A text that says the same, by random rewrites."""
    letters = rng.sample("abcdefghpquvwz", 4)
    for old, new in zip("ijkr", letters, strict=True):
        text = re.sub(rf"\b{old}\b", new, text)
    text = _PRODUCT.sub(lambda m: f"{m[2]} * {m[1]}" if rng.random() < 0.5 else m[0], text)
    text = _QUOTIENT.sub(lambda m: f" * (1.0 / {m[1]})" if rng.random() < 0.5 else m[0], text)
    if rng.random() < 0.5:
        text = re.sub(r" -= (.*)$", r" += -(\1)", text, flags=re.MULTILINE)
    if rng.random() < 0.5:
        text = text.replace(" - sum(", " + -1.0 * sum(")
    return text


@pytest.mark.parametrize("name", TEXTS)
def test_nearly_all_rewrites_are_recognised_and_right(name):
    rng = random.Random(name)
    given, expected = arguments(name, 7, 7)
    texts = [rewritten(TEXTS[name], rng) for _ in range(12)]
    recognised = 0
    for text in texts:
        kernel = kernel_of(text)
        if not kernel.block(*given, tile=3).complete:
            continue
        recognised += 1
        results = cy.run(kernel.compile(*given, schedule=cy.Schedule(), tile=3)).outputs.values()
        for result, wanted in zip(
            results, expected if isinstance(expected, tuple) else (expected,), strict=True
        ):
            np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-11, err_msg=text)
    assert recognised >= 0.95 * len(texts)

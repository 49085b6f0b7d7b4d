"""The page of slips is true, and each advice has the words that it must have."""

import pytest
from slips import PAGE, SLIPS, WORKS, outcome, row

CASES = [case for rows in SLIPS.values() for case in rows]
ROWS = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]


def test_the_page_has_all_slips():
    assert len(ROWS) == len(CASES) >= 100


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore::cyclotron.PerformanceWarning")
@pytest.mark.parametrize("number", range(len(CASES)), ids=[text for text, _ in CASES])
def test_slip(number):
    (text, wanted), written = CASES[number], ROWS[number]
    said = outcome(text)
    assert said == WORKS if not wanted else wanted in said.partition(": ")[2]
    assert row(text) == written, "see tests/language/slips.py"

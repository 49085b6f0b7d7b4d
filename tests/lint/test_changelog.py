"""The changelog has the form of Keep a Changelog, an entry a line, and what is unreleased fits a page."""

import re
from pathlib import Path

CHANGELOG = (Path(__file__).resolve().parents[2] / "CHANGELOG.md").read_text()
RELEASES = re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_releases_are_in_order():
    names = [release.splitlines()[0] for release in RELEASES]
    assert names[0] == "[Unreleased]"
    versions = [re.fullmatch(r"\[(\d+)\.(\d+)\.(\d+)\]( - \d{4}-\d\d-\d\d)?", name) for name in names[1:]]
    assert all(versions)
    numbers = [tuple(map(int, version.groups()[:3])) for version in versions]
    assert numbers == sorted(numbers, reverse=True)


def test_entries_are_lines_below_a_kind():
    for release in RELEASES:
        _, *lines = release.splitlines()
        kinds = [line.removeprefix("### ") for line in lines if line.startswith("#")]
        assert kinds == [kind for kind in KINDS if kind in kinds]
        for line in filter(None, lines):
            assert line.startswith(("- ", "### ")), line
            assert len(line) <= 130, line
            assert line.startswith("### ") or line.endswith("."), line


def test_what_is_unreleased_fits_a_page():
    assert len(RELEASES[0].rstrip().splitlines()) <= 60

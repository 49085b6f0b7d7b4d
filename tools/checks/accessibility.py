"""Checks pages of a built site by axe-core in a headless Chromium: light and dark, on phones and desktops.

    python tools/checks/accessibility.py build/docs axe.min.js [<page>...]

`npm pack axe-core` fetches the script, which is not kept here. Prints a finding a line; then the status is 1.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/plot"))

import browser  # noqa: E402

# One of each kind.
PAGES = (
    *(
        "index.html",
        "tutorials/student.html",
        "concepts/index.html",
        "howto/timeloop.html",
        "gallery/index.html",
    ),
    *("api/kernels.html", "errors/runs.html", "features.html", "python-and-numpy.html", "search.html"),
)
WIDTHS = (390, 1280)
FINDINGS = """axe.run(document).then((result) => JSON.stringify(result.violations.map(
  (rule) => [rule.impact, rule.id, rule.help, rule.nodes.length, rule.nodes[0].target.join(" ")])))"""


def findings(site: Path, axe: str, page: browser.Page, name: str) -> list[list[object]]:
    """Findings of a page: the impact, the rule, what it asks for, on how many elements, and the first."""
    page.open(site / name, f"document.readyState == 'complete' && location.href.endsWith({json.dumps(name)})")
    page.evaluate(f"{axe}; true")
    found: list[list[object]] = json.loads(page.evaluate(FINDINGS))
    return found


def main() -> int:
    site, axe = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).read_text()
    names = sys.argv[3:] or PAGES
    count = 0
    for dark, width in itertools.product((False, True), WIDTHS):
        with tempfile.TemporaryDirectory() as folder, browser.Page(folder, width=width, dark=dark) as page:
            for name in names:
                for impact, rule, help, elements, first in findings(site, axe, page, name):
                    count += 1
                    look = f"{'dark' if dark else 'light'}, {width} wide"
                    print(f"{name} ({look}): {impact}: {rule}: {help}; {elements} elements, e.g. {first}")
    print(f"accessibility: {count} findings on {len(names)} pages")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())

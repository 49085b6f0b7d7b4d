"""Checks that what pages link to is there: files and anchors of the built site, files that Markdown names.

What a page loads by itself, scripts, styles and pictures, comes with the site: it needs no network.

tools/checks/links.py <built site>   one line a fault; asks no other sites
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
MARKDOWN = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
LINK = re.compile(r"\]\(([^)\s]+)\)")


class Page(HTMLParser):
    """The links of a page, and the anchors that others may link to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.append(value)
                if name == "src" or (tag == "link" and "stylesheet" in (dict(attrs).get("rel") or "")):
                    self.loaded.append(value)
            elif value and name in ("id", "name"):
                self.anchors.add(value)


def faults_of_site(site: Path) -> Iterator[str]:
    """Yield a line for each link of a built site that leads nowhere in it."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for link in dict.fromkeys(page.loaded):
            if urlsplit(link).netloc:
                yield f"{path.relative_to(site)}: {link} is loaded from elsewhere"
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path.relative_to(site)}: {link} is not there"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(site)}: {link} has no such anchor"


def faults_of_markdown(root: Path) -> Iterator[str]:
    """Yield a line for each file that the Markdown outside of the site names and that is not there."""
    for name in MARKDOWN:
        for link in LINK.findall((root / name).read_text(encoding="utf-8")):
            parts = urlsplit(link)
            if not parts.scheme and parts.path and not (root / unquote(parts.path)).exists():
                yield f"{name}: {link} is not there"


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    faults = [*faults_of_site(Path(sys.argv[1]).resolve()), *faults_of_markdown(ROOT)]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

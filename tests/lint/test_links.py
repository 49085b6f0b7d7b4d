"""The check of links finds files and anchors that are not there."""

import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/checks")]
links = importlib.import_module("links")


def test_links_of_a_site(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "index.html").write_text(
        '<p id="top"></p><a href="a/page.html#here"></a><a href="#top"></a><a href="https://example.org/x"></a>'
        '<img src="picture.png"><a href="a/page.html#gone"></a>'
    )
    (tmp_path / "a/page.html").write_text('<h1 id="here"></h1><a href="../index.html"></a><a href="./"></a>')
    assert sorted(links.faults_of_site(tmp_path)) == [
        "a/page.html: ./ is not there",
        "index.html: a/page.html#gone has no such anchor",
        "index.html: picture.png is not there",
    ]


def test_a_page_loads_nothing_from_elsewhere(tmp_path):
    (tmp_path / "index.html").write_text(
        '<script src="https://example.org/x.js"></script><link rel="stylesheet" href="//example.org/x.css">'
        '<link rel="canonical" href="https://example.org/"><img src="data:image/gif;base64,R0lGOD">'
    )
    assert list(links.faults_of_site(tmp_path)) == [
        "index.html: https://example.org/x.js is loaded from elsewhere",
        "index.html: //example.org/x.css is loaded from elsewhere",
    ]


def test_links_of_markdown(tmp_path):
    for name in links.MARKDOWN:
        (tmp_path / name).write_text("[x](README.md#a) [y](docs/gone.md) [z](https://example.org)")
    faults = list(links.faults_of_markdown(tmp_path))
    assert faults == [f"{name}: docs/gone.md is not there" for name in links.MARKDOWN]
    assert not list(links.faults_of_markdown(ROOT))

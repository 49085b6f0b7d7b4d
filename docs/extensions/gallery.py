"""Runs all examples while the site is built, and writes the gallery: what each says, draws and prints."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
RUNNER = Path(__file__).with_name("run_example.py")
HELPERS = {"pictures.py"}
MOST_SECONDS = 240


class Example(NamedTuple):
    """An example that ran: its text, what it printed and the names of its pictures."""

    name: str
    about: str
    text: str
    printed: str
    pictures: list[str]

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").capitalize()


def examples() -> Iterator[Path]:
    return (path for path in sorted((ROOT / "examples").glob("*.py")) if path.name not in HELPERS)


def run(path: Path, folder: Path) -> Example:
    """Run an example in a folder of its own, and keep its pictures."""
    text = path.read_text()
    about = ast.get_docstring(ast.parse(text)) or ""
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, str(RUNNER), str(path)]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=MOST_SECONDS)
        if done.returncode:
            raise RuntimeError(f"{path.name} fails:\n{done.stdout}{done.stderr}")
        pictures = []
        for picture in sorted(Path(place).glob("*.png")):
            pictures.append(f"{path.stem}-{picture.name}")
            shutil.copy(picture, folder / pictures[-1])
    return Example(path.stem, about, text, done.stdout, pictures)


def page(example: Example) -> str:
    shown = [
        f"```{{image}} {name}\n:alt: a picture that {example.name}.py draws\n```" for name in example.pictures
    ]
    parts = [f"# {example.title}", example.about, *shown]
    parts += ["```{code-block} python\n" + example.text + "```"]
    if example.printed.strip():
        parts += ["It prints:", "````{code-block} text\n" + example.printed.rstrip() + "\n````"]
    return "\n\n".join(parts) + "\n"


def card(example: Example) -> str:
    summary = example.about.split("\n\n")[0]
    lines = [f"::::{{grid-item-card}} {example.title}", f":link: {example.name}", ":link-type: doc"]
    if example.pictures:
        lines += [f":img-bottom: {example.pictures[0]}", f":img-alt: a picture that {example.name}.py draws"]
    return "\n".join([*lines, "", summary, "::::"])


def write_gallery(app: Any) -> None:
    folder = Path(app.srcdir) / "gallery"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ran = list(pool.map(lambda path: run(path, folder), examples()))
    for example in ran:
        (folder / f"{example.name}.md").write_text(page(example))
    names = "\n".join(example.name for example in ran)
    cards = "\n\n".join(map(card, ran))
    (folder / "index.md").write_text(
        "# Gallery\n\nEvery example of the repository, run as these pages were built. One that draws nothing "
        "shows where its last simulated run kept the PEs busy.\n\n"
        f":::::{{grid}} 1 2 2 3\n:gutter: 3\n\n{cards}\n:::::\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    )


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", write_gallery)
    return {"parallel_read_safe": True}

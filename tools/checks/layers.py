"""Checks that no include points up the pipeline, from the layer list in CMakeLists.txt.

The build enforces the same by include roots; this also covers headers that no source includes yet,
and who may use isl and pybind11. The folders of the input language are layers too: a module imports none that
is above it when it is loaded (functions may, where one layer runs another).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LAYER = re.compile(r"^cyclotron_layer\(([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]cyclotron/(\w+)/', re.MULTILINE)
EVERYWHERE = "support"
BINDINGS = "bindings"
PYBIND = re.compile(r"^\s*#\s*include\s*[<\"]pybind11/", re.MULTILINE)
LANGUAGE = ("expressions", "arrays", "recording", "functions", "text")
ISL = re.compile(r"^\s*#\s*include\s*[<\"]isl/", re.MULTILINE)


def read_layers(cmake: str) -> dict[str, set[str]]:
    """The layers in order, each with all it may include, itself too."""
    layers: dict[str, set[str]] = {}
    for match in LAYER.finditer(cmake):
        name, *rest = match.group(1).split()
        direct = rest[: rest.index("EXTERNAL")] if "EXTERNAL" in rest else rest
        allowed = {name, EVERYWHERE}
        for layer in direct:
            if layer not in layers:
                raise SystemExit(f"CMakeLists.txt: {name} uses {layer}, which is not listed before it")
            allowed |= layers[layer]
        layers[name] = allowed
    return layers


def violations(root: Path) -> list[str]:
    """One line a forbidden include or unlisted folder, sorted by file."""
    layers = read_layers((root / "CMakeLists.txt").read_text())
    found = []
    for folder in sorted(path for path in (root / "src").iterdir() if path.is_dir()):
        if folder.name not in layers and folder.name != BINDINGS:
            found.append(f"src/{folder.name}: not in the layer list of CMakeLists.txt")
            continue
        allowed = layers.get(folder.name, set(layers))
        for source in sorted(folder.rglob("*.?pp")):
            text = source.read_text()
            where = source.relative_to(root)
            for layer in INCLUDE.findall(text):
                if layer not in allowed:
                    found.append(f"{where}: {folder.name} may not include {layer}")
            extension = folder.name == BINDINGS or source.is_relative_to(root / "src/runtime/mpi")
            if PYBIND.search(text) and not extension:
                found.append(f"{where}: only bindings may include pybind11")
            if ISL.search(text) and folder.name != "poly":
                found.append(f"{where}: only poly may include isl")
    return found


def violations_of_language(root: Path) -> list[str]:
    """One line an import of a module of a folder above, or a folder not listed, sorted by file."""
    language = root / "cyclotron/language"
    found = []
    for folder in sorted(path.parent for path in language.glob("*/__init__.py")):
        if folder.name not in LANGUAGE:
            found.append(f"cyclotron/language/{folder.name}: not in the list of tools/checks/layers.py")
            continue
        above = set(LANGUAGE[LANGUAGE.index(folder.name) + 1 :])
        for source in sorted(folder.rglob("*.py")):
            for module in imported(ast.parse(source.read_text())):
                if module in above:
                    found.append(f"{source.relative_to(root)}: {folder.name} may not import {module}")
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    """The folders of the language that a module imports of when it is loaded."""
    for node in tree.body:
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for name in names:
            if name.startswith("cyclotron.language."):
                yield name.split(".")[2]


def main() -> int:
    found = violations(ROOT) + violations_of_language(ROOT)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

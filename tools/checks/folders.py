"""Checks the order of the folders inside a layer, from the `cyclotron_folder` lines in CMakeLists.txt.

A folder includes its own headers and those of the folders that it lists. Files of no listed folder, in the
layer's root, join the folders and may include all of them; no folder may include these.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = re.compile(r"^cyclotron_folder\(([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def read_folders(cmake: str) -> dict[str, dict[str, set[str]]]:
    """Return the folders of each layer that lists any, each with all it may include, itself too."""
    layers: dict[str, dict[str, set[str]]] = {}
    for match in FOLDER.finditer(cmake):
        layer, name, *direct = match.group(1).split()
        listed = layers.setdefault(layer, {})
        allowed = {name}
        for folder in direct:
            if folder not in listed:
                raise SystemExit(f"CMakeLists.txt: {name} uses {folder}, which is not listed before it")
            allowed |= listed[folder]
        listed[name] = allowed
    return layers


def violations(root: Path) -> list[str]:
    """Return a line for each forbidden include and each file outside the listed folders, by file."""
    found = []
    for layer, folders in read_folders((root / "CMakeLists.txt").read_text()).items():
        base = root / "src" / layer
        for source in sorted(base.rglob("*.?pp")):
            if source.is_relative_to(base / "include") or source.parent == base:
                continue
            where = source.relative_to(root)
            folder = folder_of(source, base, folders)
            if folder is None:
                found.append(f"{where}: not in a folder that CMakeLists.txt lists")
                continue
            for name in INCLUDE.findall(source.read_text()):
                target = (source.parent / name).resolve()
                included = folder_of(target, base.resolve(), folders)
                if target.is_relative_to(base.resolve()) and included not in folders[folder]:
                    found.append(f"{where}: {folder} may not include {included or name}")
    return found


def folder_of(path: Path, base: Path, folders: Iterable[str]) -> str | None:
    """Return the innermost of the folders, relative to the base, that holds the path."""
    return max((folder for folder in folders if path.is_relative_to(base / folder)), key=len, default=None)


def main() -> int:
    found = violations(ROOT)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

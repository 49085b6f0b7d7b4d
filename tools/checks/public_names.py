"""Checks that the stubs of the packages whose names type checkers cannot see have their public names.

`cyclotron` and `cyclotron.language` take the functions of kernels from a registry when they are imported, and
packages import names when they are asked for: their stubs are written from the packages as imported.

    python tools/checks/public_names.py [--update]
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("cyclotron", "cyclotron.compiler", "cyclotron.graph", "cyclotron.language", "cyclotron.mpi")


def stub(package: ModuleType) -> str:
    """The text of the stub of a package: an import of each public name from the module that defines it."""
    lines = ["# Made by tools/checks/public_names.py from the package."]
    for name in package.__all__:
        module, own = origin(package, name)
        lines.append(f"from {module} import {own}" + ("" if own == name else f" as {name}"))
    if hasattr(package, "__version__"):
        lines.append("__version__: str")
    lines.append(f"__all__ = {sorted(package.__all__)!r}")
    return formatted("\n".join(lines))


def formatted(text: str) -> str:
    """The text with its imports and names in order, as ruff has it."""
    sort = ["check", "--quiet", "--fix-only", "--select", "I,RUF022"]
    for command in (sort, ["format", "--quiet"]):
        run = [sys.executable, "-m", "ruff", *command, "--stdin-filename", "__init__.pyi", "-"]
        text = subprocess.run(run, input=text, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return text


def origin(package: ModuleType, name: str) -> tuple[str, str]:
    """The module that defines a public name of a package, and its name there."""
    value = getattr(package, name)
    if getattr(numpy, name, package) is value:
        return "numpy", name
    if isinstance(value, ModuleType):
        module, _, own = value.__name__.rpartition(".")
        return module, own
    module, own = value.__module__, value.__qualname__
    if getattr(sys.modules[module], own, None) is not value:
        raise SystemExit(f"{package.__name__}.{name} is not {module}.{own}")
    return module, own


def main() -> int:
    sys.path.insert(0, str(ROOT))
    failed = 0
    for name in PACKAGES:
        package = importlib.import_module(name)
        path = ROOT / name.replace(".", "/") / "__init__.pyi"
        text = stub(package)
        if "--update" in sys.argv[1:]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path.relative_to(ROOT)}: other names than the package's; run {__file__} --update")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""Writes the stubs of the extensions, `cyclotron/_core.pyi` and `_mpi.pyi`, from their signatures.

Needs the built extensions, pybind11-stubgen and ruff; an extension that is not built keeps its stub.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = ("_core", "_mpi")
# What the casters take beside these would hide mistakes from type checkers.
SHORTER = {
    "complex | typing.SupportsComplex | typing.SupportsFloat | typing.SupportsIndex": "complex",
    "typing.SupportsInt | typing.SupportsIndex": "int",
    "typing.SupportsFloat | typing.SupportsIndex": "float",
    "numpy.ndarray": "numpy.typing.NDArray[typing.Any]",
    "__hash__: typing.ClassVar[None] = None": "__hash__: typing.ClassVar[None]  # type: ignore[assignment]",
}
IMPORTED = ("collections.abc", "numpy.typing", "typing")  # by name, where `import` would do


def stub_path(module: str) -> Path:
    """Return where the stub of an extension is."""
    return ROOT / "cyclotron" / f"{module}.pyi"


def is_built(module: str) -> bool:
    """Return whether an extension can be imported from this tree."""
    sys.path.insert(0, str(ROOT))
    try:
        return importlib.util.find_spec(f"cyclotron.{module}") is not None
    finally:
        sys.path.remove(str(ROOT))


def generate(module: str) -> str:
    """Return the stub of an extension."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pybind11_stubgen", f"cyclotron.{module}", "--output-dir", folder]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(f"pybind11-stubgen failed on {module}:\n{run.stdout}{run.stderr}")
        text = (Path(folder) / "cyclotron" / f"{module}.pyi").read_text()
    return formatted(module, shortened(text))


def shortened(text: str) -> str:
    """Return a stub with the types that callers see, imported by name."""
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    text = re.sub(r"^__all__.*\n|^from __future__ .*\n|^import .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"def __eq__\(self, arg0: \w+\)", "def __eq__(self, arg0: object, /)", text)
    text = re.sub(r'"""\s*([\s\S]*?)\s*"""', _docstring, text)
    text = re.sub(r"\b(dict|list|tuple)(?![\w\[(])", lambda bare: BARE[bare[1]], text)
    imports = []
    for package in IMPORTED:
        qualified = re.compile(rf"\b{re.escape(package)}\.(\w+)")
        if names := sorted(set(qualified.findall(text))):
            imports.append(f"from {package} import {', '.join(names)}\n")
            text = qualified.sub(r"\1", text)
    if "numpy." in text:
        imports.append("import numpy\n")
    docstring, body = re.match(r'("""[\s\S]*?"""\n)?([\s\S]*)', text).groups("")  # type: ignore[union-attr]
    return f"{docstring}\n{''.join(imports)}\n{body}"


def _docstring(found: re.Match[str]) -> str:
    lines = [line.strip() for line in found[1].split("\n")]
    return f'"""{lines[0]}"""' if len(lines) == 1 else found[0]


BARE = {"dict": "dict[str, typing.Any]", "list": "list[typing.Any]", "tuple": "tuple[typing.Any, ...]"}


def formatted(module: str, text: str) -> str:
    """Return a stub in the form that ruff gives it."""
    name = ["--stdin-filename", str(stub_path(module))]
    for command in (["check", "--fix", "--select", "I", *name, "-"], ["format", *name, "-"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--quiet"]
        text = subprocess.run(ruff, input=text, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return text


def main() -> int:
    for module in MODULES:
        if is_built(module):
            stub_path(module).write_text(generate(module))
        else:
            print(f"cyclotron.{module} is not built, its stub stays as it is")
    return 0


if __name__ == "__main__":
    sys.exit(main())

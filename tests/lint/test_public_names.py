"""Users see public names only, and importing them takes no more than what they use."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cyclotron as cy

PACKAGE = Path(cy.__file__).parent
# Imported when they are asked for.
LATE = ("explore", "linalg", "plot", "mpi.pool", "graph.nodes", "compiler.explain", "compiler.roles")


def lazy_packages() -> list[str]:
    """The packages with a table of lazy names."""
    found = [path.parent for path in PACKAGE.rglob("__init__.py") if "lazy_names(" in path.read_text()]
    return sorted(".".join(path.relative_to(PACKAGE.parent).parts) for path in found)


@pytest.mark.parametrize("module", [cy, cy.linalg, cy.il])
def test_dir(module: object) -> None:
    """Completion shows `__all__`, and there is all of it."""
    names = set(dir(module)) - {"__version__"}
    assert names == set(module.__all__)
    assert len(module.__all__) == len(names)
    assert not [name for name in names if name.startswith("_")]
    for name in names:
        assert getattr(module, name) is not None or name == "newaxis"


@pytest.mark.parametrize("package", lazy_packages())
def test_lazy_names(package: str) -> None:
    """Each name can be had, and stands in the stub that type checkers read, which a check makes."""
    module = importlib.import_module(package)
    stub = Path(module.__file__).with_suffix(".pyi").read_text()
    for names in module._HOMES.values():
        for name in names:
            assert getattr(module, name) is not None or name == "newaxis"
            assert re.search(rf"\b{name}\b", stub)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'no_name'"):
        module.no_name


def test_late_imports() -> None:
    """Importing the package loads none of these."""
    script = f"""
import sys
sys.path.insert(0, {str(PACKAGE.parent)!r})
import cyclotron
late = [name for name in {LATE!r} if "cyclotron." + name in sys.modules]
late += [name for name in ("subprocess", "socket", "concurrent.futures", "matplotlib") if name in sys.modules]
print(late)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

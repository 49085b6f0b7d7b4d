"""Names of packages that are imported when they are asked for (PEP 562), since few users need all of them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]], others: ModuleType | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__``, ``__all__`` of a package whose names are those of modules in it.

    Type checkers read the package's stub, which `tools/checks/public_names.py` writes.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to sequence of str
        For each module below the package the names that it defines; of a module alone its own.
    others : module, optional
        Whose public names, but modules, are found too; they are no names of the package that it lists.
    """
    modules = {name: module for module, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name not in modules:
            other = getattr(others, name, others) if name in getattr(others, "__all__", ()) else others
            if not isinstance(other, ModuleType | None):
                return other
            text = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=sys.modules[package])
        home = f"{package}.{modules[name]}"
        module = importlib.import_module(home)
        value = module if modules[name] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    listed = sorted(modules)
    return find, listed.copy, listed

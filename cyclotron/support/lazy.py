"""Names of packages that are imported when they are asked for (PEP 562), since few users need all of them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package some of whose names are those of modules in it.

    For type checkers the package imports them under ``TYPE_CHECKING``, too.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        For each name the module below the package that defines it; of a module its own.
    """

    def find(name: str) -> Any:
        if name not in homes:
            text = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(text, name=name, obj=sys.modules[package])
        home = f"{package}.{homes[name]}"
        module = importlib.import_module(home)
        value = module if homes[name] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return find

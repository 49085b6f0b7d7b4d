"""Kernels from text: each is a module of its own, whose source stays on disk."""

import hashlib
import importlib.util
import tempfile
from pathlib import Path

_FOLDER = tempfile.TemporaryDirectory()


def kernel_of(text):
    """The kernel of a text that defines `kernel`."""
    name = "text_" + hashlib.sha256(text.encode()).hexdigest()[:16]
    path = Path(_FOLDER.name) / f"{name}.py"
    path.write_text("import numpy as np\n\nimport cyclotron as cy\n\n\n@cy.kernel\n" + text.strip() + "\n")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel

"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from pathlib import Path


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file beside the one at a path, then put it in its place: a failure leaves what was there.

    What is no regular file, such as a pipe, is written to directly.

    Parameters
    ----------
    path : str or Path
        The file; replaced, with its permissions, if it exists.
    content : str or bytes
        Text is written as UTF-8.

    Raises
    ------
    OSError
        Where it cannot be written: no such folder, no permission, no space left.
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(path).resolve()  # a link stays, and what it leads to is replaced
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    new = target.with_name(f".{target.name[:100]}.{os.getpid()}-{threading.get_ident()}")
    try:
        with open(new, "wb") as file:
            if target.exists():
                shutil.copymode(target, new)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            new.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise

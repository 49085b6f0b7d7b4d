"""Runs scripts, each in a process forked from one that has imported what they all import.

A request is a line of JSON on standard input: the script's path, the folder to run it in, the files for its
output and its errors. The answer is a line with its exit status.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback

import matplotlib.pyplot  # noqa: F401

import cyclotron  # noqa: F401


def run(path: str, folder: str, output: str, errors: str) -> None:
    """Run a script as `python PATH` in a folder would."""
    os.chdir(folder)
    for name, descriptor in ((os.devnull, 0), (output, 1), (errors, 2)):
        opened = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.argv = [path]
    sys.path[0] = os.path.dirname(path)
    runpy.run_path(path, run_name="__main__")


def status_of(request: list[str]) -> int:
    """Return the exit status of a script, run in a child."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    # The interpreter ends as ever, so that what scripts leave for its end is done.
    try:
        run(*request)
    except SystemExit:
        raise
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
    sys.exit(0)


def main() -> None:
    for line in sys.stdin:
        print(status_of(json.loads(line)), flush=True)


if __name__ == "__main__":
    main()

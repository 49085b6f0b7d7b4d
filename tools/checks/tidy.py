"""Runs clang-tidy over src within a time limit, two files at a time.

What was clean is remembered in the build folder by the content of the file and of all headers of the
project, so that later runs go on where an earlier one stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def key(source: Path, common: bytes) -> str:
    return hashlib.sha256(common + source.read_bytes()).hexdigest()


def common_key() -> bytes:
    """Of what every file's verdict depends on: the configuration and all headers."""
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for header in sorted((ROOT / "src").rglob("*.hpp")):
        digest.update(header.read_bytes())
    return digest.digest()


def check(source: Path, build: Path) -> str:
    """What clang-tidy says of one file; empty if it is clean."""
    # The compile commands are GCC's: clang need not know all its warnings.
    command = [
        "clang-tidy",
        "--quiet",
        "--extra-arg=-Wno-unknown-warning-option",
        "-p",
        str(build),
        str(source),
    ]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return run.stdout + run.stderr if run.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="folder with compile_commands.json")
    parser.add_argument(
        "--seconds", type=float, default=150, help="start no file after this time; 0: no limit"
    )
    options = parser.parse_args()
    commands = options.build / "compile_commands.json"
    if not commands.exists():
        print(f"{commands} is missing; configure first: cmake --preset dev")
        return 1
    sources = [Path(entry["file"]) for entry in json.loads(commands.read_text())]
    sources = sorted(source for source in set(sources) if source.is_relative_to(ROOT / "src"))
    memory = options.build / "tidy_clean.json"
    clean = set(json.loads(memory.read_text())) if memory.exists() else set()
    common = common_key()
    keys = {source: key(source, common) for source in sources}
    todo = [source for source in sources if keys[source] not in clean]
    # A different order each day reaches every file even where one run is too short.
    day = str(time.localtime().tm_yday).encode()
    todo.sort(key=lambda source: hashlib.sha256(day + str(source.relative_to(ROOT)).encode()).digest())
    deadline = time.monotonic() + options.seconds if options.seconds else float("inf")
    failed: list[Path] = []
    skipped: list[Path] = []

    def work(source: Path) -> None:
        if time.monotonic() > deadline:
            skipped.append(source)
            return
        complaint = check(source, options.build)
        if complaint:
            failed.append(source)
            print(complaint, end="", flush=True)
        else:
            clean.add(keys[source])

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(work, todo))
    memory.write_text(json.dumps(sorted(clean & set(keys.values()))))
    done = len(sources) - len(skipped)
    print(f"clang-tidy: {done} of {len(sources)} files checked, {len(failed)} with complaints")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

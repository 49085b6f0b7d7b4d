"""Runs clang-tidy over src: all files together first, then one by one within a time limit.

Most of a file's time is that of its headers and of the static analyzer. The files of a target are therefore
included by one file, a batch, to which all checks apply but the analyzer's, which follows no includes: all
files are looked at each time, in seconds a batch. The analyzer sees files one by one.

What was clean is remembered in the build folder by the content of the file and of all headers of the
project, so that later runs go on where an earlier one stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BATCH = 24  # files at most, as of the build (cmake/Options.cmake)
NOT_IN_BATCHES = "-clang-analyzer-*,-bugprone-suspicious-include"


def key(sources: list[Path], common: bytes) -> str:
    return hashlib.sha256(common + b"".join(source.read_bytes() for source in sources)).hexdigest()


def common_key() -> bytes:
    """Of what every file's verdict depends on: the configuration and all headers."""
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for header in sorted((ROOT / "src").rglob("*.hpp")):
        digest.update(header.read_bytes())
    return digest.digest()


def check(source: Path, build: Path, *options: str) -> str:
    """Return the complaints of clang-tidy about one file; empty if it is clean."""
    # The compile commands are GCC's: clang need not know all its warnings.
    command = [
        "clang-tidy",
        "--quiet",
        f"--config-file={ROOT / '.clang-tidy'}",
        "--extra-arg=-Wno-unknown-warning-option",
        "--extra-arg=-Wno-deprecated-declarations",  # of libstdc++ itself, in its own headers
        *options,
        "-p",
        str(build),
        str(source),
    ]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    return run.stdout + run.stderr if run.returncode else ""


def batches(entries: list[dict[str, Any]], folder: Path) -> dict[Path, list[Path]]:
    """Write files that include those compiled alike, with compile commands; return what each includes."""
    alike: dict[tuple[str, ...], list[Path]] = {}
    for entry in entries:
        words = shlex.split(entry["command"])
        flags = words[1 : words.index("-o")]
        alike.setdefault((entry["directory"], *flags), []).append(Path(entry["file"]))
    folder.mkdir(exist_ok=True)
    result: dict[Path, list[Path]] = {}
    commands = []
    for (directory, *flags), sources in alike.items():
        for start in range(0, len(sources), BATCH):
            path = folder / f"batch{len(result)}.cpp"
            result[path] = sources[start : start + BATCH]
            path.write_text("".join(f'#include "{source}"\n' for source in result[path]))
            arguments = ["c++", *flags, "-c", str(path)]
            commands.append({"directory": directory, "file": str(path), "arguments": arguments})
    (folder / "compile_commands.json").write_text(json.dumps(commands))
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True, help="folder with compile_commands.json")
    parser.add_argument(
        "--seconds", type=float, default=150, help="start no single file after this time; 0: no limit"
    )
    options = parser.parse_args()
    commands = options.build / "compile_commands.json"
    if not commands.exists():
        print(f"{commands} is missing; configure first: cmake --preset dev")
        return 1
    entries = json.loads(commands.read_text())
    entries = [entry for entry in entries if Path(entry["file"]).is_relative_to(ROOT / "src")]
    folder = options.build / "tidy"
    together = batches(entries, folder)
    sources = sorted({Path(entry["file"]) for entry in entries})
    memory = options.build / "tidy_clean.json"
    clean = set(json.loads(memory.read_text())) if memory.exists() else set()
    common = common_key()
    keys = {path: key(included, common) for path, included in together.items()}
    keys |= {source: key([source], common) for source in sources}
    # A different order each day reaches every file even where one run is too short.
    day = str(time.localtime().tm_yday).encode()
    sources.sort(key=lambda source: hashlib.sha256(day + str(source.relative_to(ROOT)).encode()).digest())
    todo = [path for path in (*together, *sources) if keys[path] not in clean]
    deadline = time.monotonic() + options.seconds if options.seconds else float("inf")
    failed: list[Path] = []
    skipped: list[Path] = []

    def work(path: Path) -> None:
        if path in together:
            complaint = check(path, folder, f"--checks={NOT_IN_BATCHES}")
        elif time.monotonic() > deadline:
            skipped.append(path)
            return
        else:
            complaint = check(path, options.build)
        if complaint:
            failed.append(path)
            print(complaint, end="", flush=True)
        else:
            clean.add(keys[path])

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(work, todo))
    memory.write_text(json.dumps(sorted(clean & set(keys.values()))))
    done = len(sources) - len(skipped)
    print(
        f"clang-tidy: {len(sources)} files checked in {len(together)} batches, "
        f"{done} of them by the static analyzer, {len(failed)} with complaints"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

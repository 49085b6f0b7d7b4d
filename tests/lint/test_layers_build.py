"""The build itself refuses an include that points up: each layer sees only its own include roots."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(layers LANGUAGES CXX)
function(cyclotron_compile_options)
endfunction()
add_library(fmt::fmt INTERFACE IMPORTED)
include({layer})
cyclotron_layer(support)
cyclotron_layer(poly)
cyclotron_layer(recurrence poly)
cyclotron_layer(dataflow recurrence)
"""


def build(folder, *, include, where):
    """Build a tree of four layers in which one file has this include."""
    for layer in ("support", "poly", "recurrence", "dataflow"):
        header = folder / f"src/{layer}/include/cyclotron/{layer}/{layer}.hpp"
        header.parent.mkdir(parents=True)
        header.write_text("#pragma once\n")
    (folder / f"src/{where}/a.cpp").write_text(f"#include <cyclotron/{include}/{include}.hpp>\n")
    (folder / "CMakeLists.txt").write_text(PROJECT.format(layer=ROOT / "cmake/Layer.cmake"))
    binary = folder / "build"
    # A machine that has had nothing but Cyclotron's own needs installed has no make.
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(["cmake", "-S", folder, "-B", binary, *generator], check=True, capture_output=True)
    return subprocess.run(
        ["cmake", "--build", binary, "--target", f"cyclotron_{where}"], capture_output=True, text=True
    )


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
@pytest.mark.parametrize(
    ("where", "include", "fits"),
    [
        ("dataflow", "poly", True),
        ("dataflow", "support", True),
        ("poly", "dataflow", False),
        ("recurrence", "dataflow", False),
        ("support", "poly", False),
    ],
)
def test_only_includes_that_point_down_compile(tmp_path, where, include, fits):
    result = build(tmp_path, include=include, where=where)
    assert (result.returncode == 0) == fits, result.stdout + result.stderr
    if not fits:
        assert f"cyclotron/{include}/{include}.hpp" in result.stdout + result.stderr

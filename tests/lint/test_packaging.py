"""Versions and requirements agree wherever they are written."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def read(path):
    return (ROOT / path).read_text()


def test_one_version():
    stated = {
        "pyproject.toml": re.search(r'^version = "(.*)"', read("pyproject.toml"), re.MULTILINE),
        "CMakeLists.txt": re.search(r"project\(cyclotron VERSION (\S+)", read("CMakeLists.txt")),
        "cyclotron/support/environment.py": re.search(
            r'^VERSION = "(.*)"', read("cyclotron/support/environment.py"), re.MULTILINE
        ),
    }
    assert len({match.group(1) for match in stated.values()}) == 1, stated
    assert f"## [{stated['pyproject.toml'].group(1)}]" in read("CHANGELOG.md")


def test_bootstrap_installs_the_build_requirements():
    requires = re.search(r"^requires = \[(.*)\]", read("pyproject.toml"), re.MULTILINE).group(1)
    for requirement in re.findall(r'"([^"]+)"', requires):
        assert f'"{requirement}"' in read("tools/bootstrap")


def test_every_package_the_build_asks_for_is_installed_by_bootstrap():
    asked = re.findall(r'cyclotron_missing\("[^"]*" "([^"]*)"\)', read("cmake/Dependencies.cmake"))
    bootstrap = read("tools/bootstrap")
    assert len(asked) == 7
    for package in ";".join(asked).split(";"):
        base = package.replace("python3-dev", "-dev")
        assert base in bootstrap


def test_importing_loads_neither_mpi_nor_matplotlib():
    pytest.importorskip("cyclotron._core")
    code = "import sys, cyclotron; print([m for m in ('mpi4py.MPI', 'matplotlib') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        == "[]\n"
    )

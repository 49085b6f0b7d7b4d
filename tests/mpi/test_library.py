"""The MPI library of a wheel: which one is taken, and what is said where there is none."""

import ctypes.util
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import cyclotron as cy
from cyclotron.mpi import extension, library

EXTENSION = sysconfig.get_config_var("EXT_SUFFIX")


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A machine without an MPI, whose Python is in a folder of the test's."""
    for name in ("CYCLOTRON_LIBMPI", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    monkeypatch.setattr(library.site, "getuserbase", lambda: str(tmp_path / "user"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    (tmp_path / "bin").mkdir()
    return tmp_path


def file(path, text="", mode=0o755):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_environment_comes_before_the_system(bare):
    mpich = file(bare / "env/lib/libmpi.so.12")
    openmpi = file(bare / "user/lib/libmpi.so.40")
    found = list(library._candidates())
    assert found == [str(mpich), str(openmpi), "libmpi.so.40", "libmpi.so.12", "libmpich.so.12"]


@pytest.mark.parametrize("target", ["mpiexec.hydra", "mpirun.mpich"])
def test_the_launcher_tells_the_family(bare, target):
    file(bare / "opt/mpich/bin" / target)
    beside = file(bare / "opt/mpich/lib/libmpi.so.12")
    (bare / "bin/mpirun").symlink_to(bare / "opt/mpich/bin" / target)
    found = list(library._candidates())
    assert found[0] == str(beside)
    assert found[1:] == ["libmpi.so.12", "libmpich.so.12", "libmpi.so.40"]


@pytest.mark.parametrize(("name", "family"), [("OMPI_COMM_WORLD_SIZE", "openmpi"), ("PMI_SIZE", "mpich")])
def test_who_started_this_process_tells_the_family(bare, monkeypatch, name, family):
    monkeypatch.setenv(name, "2")
    assert library._by_preference()[0] == family


def test_ranks_are_started_by_the_launcher_beside_the_library(bare):
    file(bare / "bin/mpirun")
    beside = file(bare / "env/bin/mpirun")
    assert library.Library("openmpi", bare / "env").launcher() == str(beside)
    assert library.Library("openmpi", None).launcher() == str(bare / "bin/mpirun")
    assert library.Library("mpich", bare / "nowhere").launcher() == str(bare / "bin/mpirun")
    (bare / "bin/mpirun").unlink()
    assert library.Library("mpich", None).launcher() is None


def test_no_library(bare, monkeypatch, golden):
    monkeypatch.setattr(library, "_NAMES", {"openmpi": ("libmpi.so.0",), "mpich": ("libmpich.so.0",)})
    with pytest.raises(cy.BackendUnavailable) as caught:
        library.find()
    golden("refusals/no-mpi-library.txt", str(caught.value) + "\n")


@pytest.mark.parametrize("content", [None, "no library"])
def test_a_named_library_that_is_none(bare, monkeypatch, content):
    path = bare / "libmpi.so.40"
    if content:
        path.write_text(content)
    monkeypatch.setenv("CYCLOTRON_LIBMPI", str(path))
    with pytest.raises(cy.BackendUnavailable, match="CYCLOTRON_LIBMPI names no MPI library"):
        library.find()


def test_a_library_that_is_no_mpi(bare, monkeypatch):
    name = ctypes.util.find_library("m")
    if name is None:
        pytest.skip("no C library by that name")
    monkeypatch.setenv("CYCLOTRON_LIBMPI", name)
    with pytest.raises(cy.BackendUnavailable, match="MPI_Get_library_version"):
        library.find()


def test_a_build_from_source_has_one_extension():
    pytest.importorskip("cyclotron._mpi")
    assert library.variants() == {}


WHEEL = """
import sys
from cyclotron.mpi import extension, library
assert "openmpi" in library.variants(), library.variants()
module = extension.load()
assert module is sys.modules["cyclotron._mpi"]
assert extension.load() is module
print(module.library_version())
"""


def test_the_extension_of_a_wheel_is_loaded_after_its_library(tmp_path):
    """A package as in a wheel: no `_mpi` of its own, one in a folder of the family."""
    extension_file = Path(cy.__file__).parent / f"_mpi{EXTENSION}"
    if not extension_file.exists() or shutil.which("mpirun") is None:
        pytest.skip("Cyclotron was built without MPI")
    package = tmp_path / "cyclotron"
    shutil.copytree(
        Path(cy.__file__).parent, package, ignore=lambda _, names: [n for n in names if n.startswith("_mpi.")]
    )
    (package / "mpi/openmpi").mkdir()
    shutil.copy(extension_file, package / "mpi/openmpi")
    run = subprocess.run(
        [sys.executable, "-c", WHEEL], cwd=tmp_path, env=None, capture_output=True, text=True
    )
    if "no MPI runtime for mpich" in run.stderr:
        pytest.skip("the MPI here is no Open MPI")
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()


def test_without_a_wheels_library_the_backend_says_so(monkeypatch, bare):
    monkeypatch.setattr(library, "_NAMES", {"openmpi": ("libmpi.so.0",), "mpich": ("libmpich.so.0",)})
    monkeypatch.setattr(library, "variants", lambda: {"openmpi": Path("/nowhere")})
    monkeypatch.delitem(sys.modules, "cyclotron._mpi", raising=False)
    monkeypatch.delattr("cyclotron._mpi", raising=False)
    monkeypatch.setattr(library.importlib.util, "spec_from_file_location", None)
    extension._with_library.cache_clear()

    class Blocked:
        def find_spec(self, name, path=None, target=None):
            if name == "cyclotron._mpi":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(sys, "meta_path", [Blocked(), *sys.meta_path])
    with pytest.raises(cy.BackendUnavailable, match="no MPI library was found"):
        extension.load()
    extension._with_library.cache_clear()

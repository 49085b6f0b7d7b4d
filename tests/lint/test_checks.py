"""The checks of the sources find what they are for, on small made-up trees."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/checks"))

import cxx_functions  # noqa: E402
import error_codes  # noqa: E402
import lines  # noqa: E402
import names  # noqa: E402
import prose  # noqa: E402
import sizes  # noqa: E402
import touched  # noqa: E402

SCRIPTS = [
    ".ci/nightly",
    ".ci/run",
    ".ci/sections",
    *(f"tools/{verb}" for verb in ("bench", "bootstrap", "check-fast", "format", "lint")),
]


def write(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return list(files)


def test_long_files_are_found(tmp_path):
    lengths = {"src/a.cmake": 501, "src/b.txt": 500, "src/c.txt": 801, "src/bindings/c.txt": 151}
    paths = write(tmp_path, {path: "\n" * lines for path, lines in lengths.items()})
    failing, told = sizes.measure(tmp_path, [*paths, "gone.py"])
    assert [line.split(":")[0] for line in failing] == ["src/c.txt", "src/bindings/c.txt"]
    assert [line.split(":")[0] for line in told] == ["src/a.cmake"]


def test_long_functions_are_found(tmp_path):
    docstring = '    """Tell.' + "\n" * 100 + '    """\n'
    paths = write(
        tmp_path,
        {
            "a.py": "class A:\n  async def long(self):\n" + "    f()\n" * 80,
            "b.py": "@cached\ndef short():\n" + docstring + "    f()\n" * 79,
            "c.py": "def outer():\n" + "  f()\n" * 10 + "  def inner():\n" + "    f()\n" * 80,
            "d.cpp": "int f() {\n" + "g();\n" * 79 + "}\nint h() {\n" + "g();\n" * 78 + "}\n",
        },
    )
    failing, _ = sizes.measure(tmp_path, paths)
    assert failing == [
        "a.py:2: long has 81 lines, at most 80",
        "c.py:1: outer has 92 lines, at most 80",
        "c.py:12: inner has 81 lines, at most 80",
        "d.cpp:1: f has 81 lines, at most 80",
    ]


AWKWARD = r"""
#include <vector>  // a brace { in a comment, and one in /* an other
/* struct A { int f() { */
#define BEGIN namespace a { \
  int never() {
namespace cyclotron::a::inline b {
enum class Kind : std::uint8_t { first, second };
struct alignas(64) [[nodiscard]] Key final : Base<Key, 3> {
 public:
  explicit Key(int n) noexcept(true) : n_{n}, name_{"}"}, m_(1'000) {
    call({n, '{', '\''});
  }
  ~Key() { free(); }
  [[nodiscard]] bool operator()(int a = f({1})) const { return a < 0b1'01; }
  bool operator==(const Key&) const = default;
  explicit operator bool() const { return true; }
  std::int64_t words = 3, table[2] = {1, 2};
  std::array<int, 2> values{1, 2};
  template <class T, std::size_t N = (1 << 2)>
  friend auto get(const Key& key) -> std::vector<T> {
    return {};
  }
};
const std::map<std::string, std::function<void(int)>> handlers = {
    {"a", [](int x) { return x; }},
};
static const auto helper = [](int x) {
  return R"x( { ")" )x";
};
#if defined(A)
int chosen(int a) {
#else
int chosen(int b) {
#endif
  return 1;
}
extern "C" {
void dgemm_(const char* a, int b) { while (true) { if (b) { break; } } }
}
template <typename T>
  requires(std::integral<T>)
void constrained(T) requires Small<T> {}
}  // namespace
TEST(Scanner, ReadsAwkwardCode) {
  struct Local { int f() { return 1; } };
}
"""


def test_functions_of_awkward_sources_are_found():
    found = list(cxx_functions.functions(AWKWARD))
    assert [function.name for function in found] == [
        "Key",
        "~Key",
        "operator()",
        "operator bool",
        "get",
        "helper",
        "chosen",
        "dgemm_",
        "constrained",
        "TEST(Scanner, ReadsAwkwardCode)",
    ]
    text = AWKWARD.splitlines()
    for function in found:
        assert text[function.last - 1].rstrip(";").endswith("}")
    assert {function.name: function.lines for function in found} | {"Key": 3, "get": 4, "helper": 3} == {
        function.name: function.lines for function in found
    }


def test_braces_of_all_sources_are_read():
    """If the blanked text of a file did not balance, functions of it would go unseen."""
    for path in sorted([*(ROOT / "src").rglob("*.?pp"), *(ROOT / "tests/cpp").rglob("*.?pp")]):
        text = path.read_text()
        blanked = cxx_functions.blank(text)
        assert blanked.count("\n") == text.count("\n"), path
        assert blanked.count("{") == blanked.count("}"), path
        assert blanked.count("(") == blanked.count(")"), path


def test_lines_of_code_are_those_with_code():
    text = '"""Module."""\n\nimport a  # why\n\n\ndef f():\n    """Do.\n\n    More.\n    """\n'
    text += '    # a comment\n    return """a\n\n    b"""\n\nx = [\n    1,\n\n]\n'
    assert lines.code_lines(text) == 8


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("a.py", '"""What a module does."""', 1),
        ("a.py", 'def f():\n    """\n    Whether it holds.\n    """', 2),
        ("a.pyi", 'class A:\n    """What it is."""', 2),
        ("a.hpp", "/// A set.\n/// What of it.\n\n/// Whether it is empty.\nbool empty();", 4),
        ("a.hpp", "/// A set.\nint a;  ///< What it holds.\n", 2),
        ("a.py", '"""A file."""\ndef f():\n    """Where it is."""', 3),
        ("a.pyi", 'def f():\n    """How many there are."""', 2),
        ("a.py", '"""Does it work?"""', 1),
        ("a.py", 'LARGEST = 2\n"""Where it ends."""', 2),
        ("a.cpp", "// How values move.\n// More of it.\n", 1),
        ("a.py", 'def f():\n    """Return what it is."""\n    # What?\n    x = """What"""', None),
        ("a.hpp", "/// Whatever.\n// What a comment\n/// Tells\n/// What it is.\n", None),
    ],
)
def test_texts_that_begin_with_what_are_found(tmp_path, file, text, line):
    found = prose.violations(tmp_path, write(tmp_path, {file: text}))
    assert [fault.partition(": begins")[0] for fault in found] == ([f"{file}:{line}"] if line else [])


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("cyclotron/known.py", "", "cyclotron/known.py: is compiler/cache.py now"),
        ("cyclotron/language/text/a.py", "", "cyclotron/language/text/a.py: is language/syntax/ now"),
        ("cyclotron/compiler/cache.py", "\nclass Known: ...", "cache.py:2: Known is KernelCache now"),
        ("cyclotron/language/a.py", "Reach = int", "a.py:1: Reach is ValueRange now"),
        ("cyclotron/kernel.py", "class Kernel:\n  made: int", ":2: Kernel.made is Kernel.cache now"),
        (
            "cyclotron/kernel.py",
            "class Kernel:\n def f(self):\n  self.made = 1",
            ":3: Kernel.made is Kernel.",
        ),
        ("cyclotron/language/a.py", "class A:\n  def grown(self): ...", ":2: A.grown is accumulated now"),
        (
            "src/program/a.hpp",
            "namespace a {\nstruct Ended {\n",
            "src/program/a.hpp:2: Ended is ExitOutcome now",
        ),
        ("src/mapping/a.cpp", "void send_late(int) {}", "src/mapping/a.cpp:1: send_late is delay_sends now"),
        ("src/mapping/kept.hpp", "", "src/mapping/kept.hpp: is mapping/live_range now"),
        ("cyclotron/language/trace/trace.py", "from a import kept", None),
        ("cyclotron/compiler/a.py", "def f():\n    keep = 1\n    made = {'keep': keep}", None),
        ("cyclotron/mpi/a.py", "class Arena:\n    kept: bool = False", None),
        ("src/proof/a.cpp", "struct Place { int a; };  // struct Ended {", None),
        ("src/program/a.cpp", 'auto x = "struct Ended {";\nEnded f();', None),
    ],
)
def test_names_that_were_given_up_are_found(tmp_path, file, text, complaint):
    found = names.violations(tmp_path, write(tmp_path, {file: text}))
    assert len(found) == bool(complaint)
    assert not complaint or complaint in found[0]


def test_codes_without_a_text_are_found(tmp_path):
    nines = "CYC9"  # not a code of ours, and none of this file
    for path, text in {
        "src/a.cpp": f'throw Error({{.code = "{nines}98"}}); // see {nines}97',
        "cyclotron/b.py": f"raise Error(code='{nines}96')",
        "tests/golden/errors/b.txt": f"a message [{nines}96]\n     = help: a help\n",
        "tests/golden/refusals/c.txt": f"a message [{nines}96]\n" + "line\n" * 15,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert sorted(error_codes.raised(tmp_path)) == [f"{nines}96", f"{nines}98"]
    assert [fault.split(": ") for fault in error_codes.faults(tmp_path)] == [
        ["src/a.cpp", f"{nines}98 is in no text of tests/golden/errors and tests/golden/refusals"],
        ["tests/golden/refusals/c.txt", "16 lines, more than 15"],
        ["tests/golden/refusals/c.txt", "does not say what to do"],
    ]


@pytest.fixture
def repository(tmp_path):
    """A repository with one commit on `main`, on a branch of its own."""

    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    write(tmp_path, {"src/poly/a.cpp": "1", "src/driver/a.cpp": "1", "tests/cpp/poly/test_a.cpp": "1"})
    write(tmp_path, {f"tests/{folder}/test_a.py": "" for folder in ("language", "programs", "recurrences")})
    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "Start")
    git("switch", "-c", "topic")
    return tmp_path, git


def test_what_changed_since_main_is_tested(repository):
    root, git = repository
    table = touched.read_tests(
        "[tool.cyclotron.tests]\nsrc = ['programs']\n'src/poly' = ['recurrences']\n"
        "cyclotron = ['programs']\n'cyclotron/language' = ['language', 'errors']\n"
    )
    assert touched.selection(root, touched.changed(root), table) == ([], [])
    write(root, {"src/poly/a.cpp": "2"})
    git("commit", "-am", "Change")
    assert touched.selection(root, touched.changed(root), table) == (["poly"], ["tests/recurrences"])
    write(root, {"src/driver/a.cpp": "2", "src/driver/a.hpp": "2", "tests/language/test_a.py": "2"})
    expected = (["poly"], ["tests/language/test_a.py", "tests/programs", "tests/recurrences"])
    assert touched.selection(root, touched.changed(root), table) == expected
    write(root, {"cyclotron/language/values/a.py": "", "tests/cpp/poly/test_b.cpp": ""})
    expected = (["poly"], ["tests/language", "tests/programs", "tests/recurrences"])
    assert touched.selection(root, touched.changed(root), table) == expected
    with pytest.raises(SystemExit, match="no branch nowhere to compare with"):
        touched.changed(root, ("nowhere",))


def test_every_folder_has_tests_and_every_named_folder_is_there():
    table = touched.read_tests((ROOT / "pyproject.toml").read_text())
    for path, folders in table.items():
        assert (ROOT / path).exists(), path
        assert all((ROOT / "tests" / folder).is_dir() for folder in folders), path
    for folder in [*(ROOT / "src").iterdir(), *(ROOT / "cyclotron").iterdir()]:
        assert touched.selection(ROOT, [f"{folder.relative_to(ROOT)}/a"], table)[1], folder


def test_hooks_are_checks_of_lint():
    config = (ROOT / ".pre-commit-config.yaml").read_text()
    defined = set(re.findall(r"^(\w+)\(\) \{", (ROOT / "tools/lint").read_text(), re.MULTILINE))
    called = {name for entry in re.findall(r"entry: tools/lint (.*)", config) for name in entry.split()}
    assert called == {"ruff_check", "layers", "sizes", "names", "prose", "codes"}
    assert called <= defined


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_parse(script):
    subprocess.run(["bash", "-n", ROOT / script], check=True)

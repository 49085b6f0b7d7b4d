"""Checks that nothing points up the pipeline: includes of C++, by the layer list of CMakeLists.txt, and
imports of Python, by the table `[tool.cyclotron.layers]` of pyproject.toml.

The build enforces the includes by include roots too; this also covers headers that no source includes yet,
and who may use isl and pybind11. In Python every import counts: at the top, in functions, under
`TYPE_CHECKING`, in stubs, relative ones. A layer may import its own modules, `support`, `_core`, the layers
that the table names and what those may import. No modules import each other in a circle. The only exceptions
are the accessors that the table names, such as `Program.plot`, which load `plot` when they are asked for.

    tools/checks/layers.py            one line a fault
    tools/checks/layers.py --report   counts by pair of layers, circles by size
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
LAYER = re.compile(r"^cyclotron_layer\(([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]cyclotron/(\w+)/', re.MULTILINE)
PYBIND = re.compile(r"^\s*#\s*include\s*[<\"]pybind11/", re.MULTILINE)
ISL = re.compile(r"^\s*#\s*include\s*[<\"]isl/", re.MULTILINE)
EVERYWHERE = "support"
BINDINGS = "bindings"
PACKAGE = "cyclotron"
CORE = "_core"
PICTURES = "plot"
MOST_MODULES_IN_ROOT = 10
IMPORTING_FUNCTIONS = {"import_module", "__import__"}


def closure(direct: Mapping[str, list[str]], where: str, everywhere: set[str]) -> dict[str, set[str]]:
    """Return the layers in order, each with all it may use, itself too.

    Exits if a layer names one that is not listed before it: such a table could hold a circle.
    """
    layers: dict[str, set[str]] = {}
    for name, used in direct.items():
        allowed = {name} | everywhere
        for layer in used:
            if layer not in layers:
                raise SystemExit(f"{where}: {name} uses {layer}, which is not listed before it")
            allowed |= layers[layer]
        layers[name] = allowed
    return layers


# --- C++ ---


def direct_layers(cmake: str) -> dict[str, list[str]]:
    """Return the layers of CMakeLists.txt in order, each with those that its line names."""
    direct = {}
    for match in LAYER.finditer(cmake):
        name, *rest = match.group(1).split()
        direct[name] = rest[: rest.index("EXTERNAL")] if "EXTERNAL" in rest else rest
    return direct


def read_layers(cmake: str) -> dict[str, set[str]]:
    """Return the layers of CMakeLists.txt in order, each with all it may include, itself too."""
    return closure(direct_layers(cmake), "CMakeLists.txt", {EVERYWHERE})


def violations(root: Path) -> list[str]:
    """Return one line a forbidden include or unlisted folder, sorted by file."""
    layers = read_layers((root / "CMakeLists.txt").read_text())
    faults = []
    for folder in sorted(path for path in (root / "src").iterdir() if path.is_dir()):
        if folder.name not in layers and folder.name != BINDINGS:
            faults.append(f"src/{folder.name}: not in the layer list of CMakeLists.txt")
            continue
        allowed = layers.get(folder.name, set(layers))
        for source in sorted(folder.rglob("*.?pp")):
            text = source.read_text()
            where = source.relative_to(root)
            for layer in INCLUDE.findall(text):
                if layer not in allowed:
                    faults.append(f"{where}: {folder.name} may not include {layer}")
            extension = folder.name == BINDINGS or source.is_relative_to(root / "src/runtime/mpi")
            if PYBIND.search(text) and not extension:
                faults.append(f"{where}: only bindings may include pybind11")
            if ISL.search(text) and folder.name != "poly":
                faults.append(f"{where}: only poly may include isl")
    return faults


# --- Python ---


@dataclass(frozen=True)
class Import:
    """One import: from module to module, by full names; `accessor` is the exception that covers it."""

    importer: str
    target: str
    line: int
    accessor: str = ""


@dataclass(frozen=True)
class Table:
    """The layer table of pyproject.toml: `direct` as written, `allowed` with all that follows from it."""

    direct: dict[str, list[str]]
    accessors: frozenset[str]
    allowed: dict[str, set[str]] = field(init=False)

    def __post_init__(self) -> None:
        everywhere = {EVERYWHERE, CORE} if EVERYWHERE in self.direct else {CORE}
        object.__setattr__(self, "allowed", closure(self.direct, "pyproject.toml", everywhere))

    def layer(self, module: str) -> str | None:
        """Return the layer of a module: its longest prefix in the table; None if there is none."""
        if module == PACKAGE:
            return "__init__" if "__init__" in self.direct else None
        parts = module.split(".")[1:]
        if parts[0] == CORE:
            return CORE
        names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        return next((name for name in names if name in self.direct), None)

    def allows(self, one: Import) -> bool:
        """Tell whether an import points down; one of a module without a layer is another fault."""
        source, target = self.layer(one.importer), self.layer(one.target)
        return source is None or target is None or target in self.allowed[source]


@dataclass(frozen=True)
class Package:
    """The imports of the package's modules among each other, and what is refused wherever it points."""

    modules: dict[str, Path]
    imports: list[Import]
    refused: list[str]

    def edges(self) -> dict[str, set[str]]:
        """Return what each module imports, exceptions left out."""
        edges: dict[str, set[str]] = {module: set() for module in self.modules}
        for one in self.imports:
            if not one.accessor and one.target in edges:
                edges[one.importer].add(one.target)
        return edges


def read_table(pyproject: str) -> Table:
    settings = tomllib.loads(pyproject)["tool"][PACKAGE]
    return Table(settings["layers"], frozenset(settings.get("accessors", [])))


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_package(root: Path, table: Table) -> Package:
    """Parse all modules of the package and collect their imports of each other."""
    modules = {module_name(path, root): path for path in sorted((root / PACKAGE).rglob("*.py"))}
    extensions = {module_name(path, root) for path in (root / PACKAGE).rglob("*.pyi")}
    package = Package(modules, [], [])
    for module, path in modules.items():
        reader = _Reader(module, path, modules.keys() | extensions, table)
        where = path.relative_to(root)
        package.imports.extend(dict.fromkeys(reader.imports))
        package.refused.extend(f"{where}:{line}: {fault}" for line, fault in reader.refused)
    return package


class _Reader:
    """Collects the imports of one module, with the accessor that each stands in."""

    def __init__(self, module: str, path: Path, known: set[str], table: Table):
        self.module = module
        self.folder = module if path.name == "__init__.py" else module.rpartition(".")[0]
        self.known = known
        self.table = table
        self.tree = ast.parse(path.read_text())
        self.imports: list[Import] = []
        self.refused: list[tuple[int, str]] = []
        self._read(self.tree, (), for_types=False)
        stub = path.with_suffix(".pyi")  # of a package, whose names are imported when they are asked for
        if stub.exists():
            self._read(ast.parse(stub.read_text()), (), for_types=False)

    def _read(self, node: ast.AST, scopes: tuple[str, ...], for_types: bool) -> None:
        """Read a node and all in it, which is in these classes and functions, or under `TYPE_CHECKING`."""
        accessor = ".".join([self.module, *scopes[:2]]).removeprefix(f"{PACKAGE}.")
        if accessor not in self.table.accessors:
            accessor = ""
        for line, target, name in self._targets(node):
            one = Import(self.module, target, line)
            if self.table.layer(target) == PICTURES and not self.table.allows(one):
                one = replace(one, accessor=accessor or (self._only_user(name) if for_types else ""))
            self.imports.append(one)
        if isinstance(node, ast.Call):
            self._refuse_by_name(node)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            scopes = (*scopes, node.name)
        checked = isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING"
        for part, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self._read(child, scopes, for_types or (checked and part == "body"))

    def _targets(self, node: ast.AST) -> Iterator[tuple[int, str, str]]:
        """Yield the line, the module and the name bound of each import of the package by one statement."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == PACKAGE:
                    yield node.lineno, alias.name, alias.asname or PACKAGE
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parents = self.folder.split(".")
                parents = parents[: len(parents) - node.level + 1]
                source = ".".join([*parents, source] if source else parents)
            if any(alias.name == "*" for alias in node.names):
                self.refused.append((node.lineno, f"imports all names of {source}; name those that are used"))
            if source.split(".")[0] == PACKAGE:
                for alias in node.names:
                    submodule = f"{source}.{alias.name}"
                    target = submodule if submodule in self.known else source
                    yield node.lineno, target, alias.asname or alias.name

    def _refuse_by_name(self, call: ast.Call) -> None:
        function = _last_name(call.func)
        if function not in IMPORTING_FUNCTIONS:
            return
        for part in ast.walk(call):
            text = part.value if isinstance(part, ast.Constant) else None
            if isinstance(text, str) and (text == PACKAGE or text.startswith((f"{PACKAGE}.", "."))):
                self.refused.append((call.lineno, f"imports {text!r} by {function}, which no check follows"))

    def _only_user(self, name: str) -> str:
        """Return the accessor that alone uses a name, in its annotations; empty if there is none."""
        used = {node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and node.id == name}
        for accessor in self.table.accessors:
            module, class_name, function = f"{PACKAGE}.{accessor}".rsplit(".", 2)
            if module != self.module or not used:
                continue
            for node in ast.walk(self.tree):
                if isinstance(node, ast.ClassDef) and node.name == class_name:
                    bodies = [one for one in node.body if getattr(one, "name", None) == function]
                    if used <= {part for body in bodies for part in ast.walk(body)}:
                        return accessor
        return ""


def _last_name(node: ast.expr) -> str | None:
    """Return `c` of `a.b.c` and of `c`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)


def upward(package: Package, table: Table) -> Iterator[tuple[str, str, Import]]:
    """Yield the imports that the table forbids, each with its two layers."""
    for one in package.imports:
        if not one.accessor and not table.allows(one):
            yield str(table.layer(one.importer)), str(table.layer(one.target)), one


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, largest first, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    result: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = lowest[node] = len(index)
        position = len(stack)
        stack.append(node)
        for target in sorted(edges[node]):
            if target not in index:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in stack:
                lowest[node] = min(lowest[node], index[target])
        if lowest[node] == index[node]:
            component = stack[position:]
            del stack[position:]
            if len(component) > 1 or node in edges[node]:
                result.append(sorted(component))

    for start in sorted(edges):
        if start not in index:
            visit(start)
    return sorted(result, key=len, reverse=True)


def shortest_way_round(edges: Mapping[str, set[str]], component: list[str]) -> list[str]:
    """Return a shortest circle of imports within a group, the first module again at its end."""
    inside = set(component)
    best: list[str] = []
    for start in component:
        ways = [[start]]
        seen: set[str] = set()
        while ways and (not best or len(ways[0]) + 1 < len(best)):
            way = ways.pop(0)
            if start in edges[way[-1]]:
                best = [*way, start]
                break
            for target in sorted(edges[way[-1]] & inside - seen):
                seen.add(target)
                ways.append([*way, target])
    return best


def unlisted(root: Path, package: Package, table: Table) -> Iterator[str]:
    """Yield one line a module without a layer, a layer or accessor without code, and a root that is full."""
    used = set()
    for module, path in package.modules.items():
        layer = table.layer(module)
        used.add(layer)
        if layer is None:
            yield f"{path.relative_to(root)}: not in the table [tool.cyclotron.layers] of pyproject.toml"
    stubs = {table.layer(module_name(path, root)) for path in (root / PACKAGE).rglob("*.pyi")}
    for layer in table.direct:
        if layer not in used | stubs:
            yield f"pyproject.toml: [tool.cyclotron.layers] lists {layer}, which does not exist"
    for accessor in sorted(table.accessors - {one.accessor for one in package.imports}):
        yield f"pyproject.toml: accessors lists {accessor}, which imports nothing"
    in_root = len(list((root / PACKAGE).glob("*.py")))
    if in_root > MOST_MODULES_IN_ROOT:
        yield f"{PACKAGE}: {in_root} modules in the root of the package, at most {MOST_MODULES_IN_ROOT}"


def violations_of_package(root: Path) -> list[str]:
    """Return one line a forbidden import, circle or unlisted module."""
    table = read_table((root / "pyproject.toml").read_text())
    package = read_package(root, table)
    faults = [*unlisted(root, package, table), *package.refused]
    for source, target, one in upward(package, table):
        where = package.modules[one.importer].relative_to(root)
        faults.append(f"{where}:{one.line}: {source} may not import {target} ({one.target})")
    edges = package.edges()
    for component in circles(edges):
        way = " -> ".join(
            module.removeprefix(f"{PACKAGE}.") for module in shortest_way_round(edges, component)
        )
        faults.append(f"{PACKAGE}: {len(component)} modules import each other, the shortest way round: {way}")
    return faults


def report(root: Path) -> str:
    """Return counts of what is left: imports that point up by pair of layers, circles with their modules."""
    table = read_table((root / "pyproject.toml").read_text())
    package = read_package(root, table)
    pairs = Counter((source, target) for source, target, _ in upward(package, table))
    lines = [f"{sum(pairs.values())} imports point up"]
    lines += [f"{count:5}  {source} -> {target}" for (source, target), count in pairs.most_common()]
    edges = package.edges()
    groups = circles(edges)
    lines.append(f"{len(groups)} circles")
    for component in groups:
        short = [module.removeprefix(f"{PACKAGE}.") for module in component]
        lines.append(f"{len(component):5}  {' '.join(short)}")
        way = [module.removeprefix(f"{PACKAGE}.") for module in shortest_way_round(edges, component)]
        lines.append(f"       the shortest way round: {' -> '.join(way)}")
    others = [*unlisted(root, package, table), *package.refused]
    lines.append(f"{len(others)} other faults")
    lines += [f"       {fault}" for fault in others]
    exceptions = {one.accessor for one in package.imports if one.accessor}
    lines.append(f"{len(exceptions)} exceptions: {' '.join(sorted(exceptions))}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--report", action="store_true", help="counts by pair of layers and circle; always status 0"
    )
    options = parser.parse_args()
    if options.report:
        print(report(ROOT))
        return 0
    faults = violations(ROOT) + violations_of_package(ROOT)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

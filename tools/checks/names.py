"""Checks that no file and no definition has a name that was given up for the field's own term.

English words are no names: `keep` may stand in a sentence and be a local variable, but is no function of
cyclotron/compiler again. An old name is refused where it stood, with the name that replaced it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cxx_functions import blank, functions
from sizes import CXX, tracked_files

ROOT = Path(__file__).resolve().parents[2]
TYPE = re.compile(r"\b(?:struct|class|enum\s+class|enum|concept|using)\s+(\w+)\s*(?=[{:=;]|final\b)")

# A file whose path matches the pattern, and what it is called now.
OLD_PATHS = {
    "cyclotron/known.py": "compiler/cache.py",
    "cyclotron/endings.py": "runtime/early_exit.py",
    "cyclotron/places.py": "support/call_site.py",
    "cyclotron/trace.py": "analysis/chrome_trace.py",
    "cyclotron/rank_trace.py": "analysis/chrome_trace_ranks.py",
    "cyclotron/notation.py": "support/latex.py",
    "cyclotron/linalg/whole.py": "linalg/dispatch.py",
    "cyclotron/language/expressions/*": "language/values/",
    "cyclotron/language/arrays/*": "language/values/",
    "cyclotron/language/recording/*": "language/trace/",
    "cyclotron/language/text/*": "language/syntax/",
    "cyclotron/language/*/gaps.py": "lower/reduction_range.py",
    "cyclotron/language/*/late.py": "lower/stale_reads.py",
    "cyclotron/language/*/order.py": "lower/read_order.py",
    "cyclotron/language/*/additions.py": "syntax/loop_sums.py",
    "cyclotron/language/*/sums.py": "trace/loop_sums.py",
    "cyclotron/language/*/carried.py": "trace/loop_carried.py",
    "cyclotron/language/*/exits.py": "trace/early_exit.py",
    "cyclotron/language/*/drawn.py": "syntax/purity.py",
    "cyclotron/language/*/outside.py": "syntax/globals.py",
    "cyclotron/language/*/printed.py": "syntax/il_preamble.py",
    "cyclotron/language/*/bounded.py": "syntax/bounded_while.py",
    "cyclotron/language/*/captured.py": "values/host_arrays.py",
    "cyclotron/language/*/captured_functions.py": "values/host_functions.py",
    "cyclotron/language/*/partial.py": "values/guarded.py",
    "cyclotron/language/*/whole.py": "values/array.py",
    "cyclotron/language/*/fill.py": "lower/fill_unassigned.py",
    "cyclotron/language/*/markers.py": "trace/with_blocks.py",
    "cyclotron/language/*/rewriting.py": "syntax/rewrite_state.py",
    "cyclotron/mapper/kept.py": "mapper/measure_cache.py",
    "cyclotron/mpi/distributed.py": "mpi/distributed_array.py",
    "src/*/kept.?pp": "mapping/live_range",
    "src/*/circles.cpp": "mapping/wait_cycles.cpp",
    "src/*/transients.cpp": "mapping/split_short_lived.cpp",
    "src/*/send_late.?pp": "mapping/delay_sends",
    "src/*/receive_late.?pp": "codegen/sink_receives",
    "src/dataflow/*coordinates.?pp": "dataflow/place",
    "src/recurrence/*endings.?pp": "recurrence/early_exit",
    "src/program/*endings.?pp": "program/exit_plan",
    "src/runtime/*halves.?pp": "triangle_products",
    "src/runtime/*zeroed.?pp": "zero_pages",
    "src/runtime/*pulse.hpp": "progress_ticker",
    "src/runtime/*time_alone.?pp": "timing_only",
    "src/runtime/*collapse.?pp": "replicate_rows",
    "src/runtime/*expansion.hpp": "replicate_rows",
    "src/*enter_folds.?pp": "dataflow/receive_at_first_use",
    "src/poly/families.?pp": "poly/group_regions",
    "src/schedule/forms.cpp": "schedule/parse_affine.cpp",
    "src/codegen/forms.?pp": "codegen/to_program",
    "tests/cpp/*_test.cpp": "test_*.cpp, as all others",
}

# A folder, a definition that it had, and its name now. `Class.name` is a method or attribute.
OLD_DEFINITIONS = [
    ("cyclotron", "Known", "KernelCache"),
    ("cyclotron/compiler", "keep", "insert"),
    ("cyclotron", "key_of", "cache_key, and cache.entry_key"),
    ("cyclotron/mapper", "Kept", "MeasureCache"),
    ("cyclotron", "Kernel.made", "Kernel.cache"),
    ("cyclotron", "Kernel._made", "Kernel._cache"),
    ("cyclotron/runtime", "ended", "pop_exit_flags"),
    ("cyclotron", "place_of_call", "call_site"),
    ("cyclotron", "require_retargetable", "check_same_topology"),
    ("cyclotron/language", "has_gaps", "has_holes"),
    ("cyclotron/language", "check_readings", "check_stale_reads"),
    ("cyclotron/language/lower", "check", "check_read_order"),
    ("cyclotron/language", "added", "loop_sum"),
    ("cyclotron/language", "kept", "loop_carried"),
    ("cyclotron/language", "keep", "update_carried"),
    ("cyclotron/language", "Joined", "Selected"),
    ("cyclotron/language", "running", "loop_flag"),
    ("cyclotron/language", "stop", "break_if"),
    ("cyclotron/language", "unfinished", "bound_reached"),
    ("cyclotron/language", "draws", "is_impure"),
    ("cyclotron/language", "fixed", "fingerprint"),
    ("cyclotron/language", "bare", "strip_signature"),
    ("cyclotron/language", "made", "instantiate"),
    ("cyclotron/language", "Whole", "SymbolicArray"),
    ("cyclotron/language", "Expression", "LazyArray"),
    ("cyclotron/language", "Part", "PartialArray"),
    ("cyclotron/language", "settled", "materialized"),
    ("cyclotron/language", "*.grown", "accumulated"),
    ("cyclotron/language", "Trace.unfinished", "reached_bounds"),
    ("cyclotron", "*._made", "what it holds: _temporaries, _results, ..."),
    ("cyclotron/analysis", "*Place", "SortKey"),
    ("bench", "time_alone", "timing_only"),
    ("bench", "ended", "record_outcome"),
    ("src/recurrence", "Known", "PiecesById"),
    ("cyclotron", "PlainRagged", "ReferenceRagged"),
    ("cyclotron/language", "*.suits", "safe_value"),
    ("cyclotron/language", "chosen", "guarded_where"),
    ("cyclotron/language", "adopted", "with_weak_dtype"),
    ("cyclotron/language", "strong", "as_python_scalar"),
    ("cyclotron/language/values", "typed", "cast"),
    ("cyclotron/language", "Reach", "ValueRange"),
    ("cyclotron/language", "Reached", "RangeBound"),
    ("cyclotron/language", "Recorded", "Statement"),
    ("cyclotron/analysis", "Recorded", "HasEvents"),
    ("cyclotron/linalg", "Form", "TriangularForm"),
    ("cyclotron/mpi", "Form", "StoredTensor"),
    ("src/recurrence", "Ending", "EarlyExit"),
    ("src/codegen", "Flag", "ExitFlag"),
    ("src/program", "Ending", "ExitPlan"),
    ("src/program", "Ended", "ExitOutcome"),
    ("src/recurrence", "Matters", "an Expected, no exception"),
    ("src/recurrence", "Afterwards", "ExitAnalysis"),
    ("src/dataflow", "Missing", "FreeIndexPlacement"),
    ("src/dataflow", "Passing", "DistributionPolicy"),
    ("src/dataflow", "Turning", "Rotation"),
    ("src/dataflow", "Change", "CoordinateChange"),
    ("src/mapping", "may_wait_in_a_circle", "may_deadlock"),
    ("src/mapping", "separate_transients", "split_short_lived"),
    ("src/mapping", "send_late", "delay_sends"),
    ("src/codegen", "receive_late", "sink_receives"),
    ("src/mapping", "check_channels", "merge_channels and verify_fifo"),
    ("src/codegen", "Circle", "ModularBuffer"),
    ("src/codegen", "Around", "ModuloAxis"),
    ("src/runtime", "Place", "SlotAccess"),
    ("src/blocking", "Place", "MissingSum"),
    ("src/driver", "Place", "GridCoordinates"),
    ("src/recurrence", "Place", "TextPosition"),
    ("src/recurrence", "Places", "VariableMap"),
    ("src/runtime", "Full", "RanAheadTooFar"),
    ("src/runtime", "Irregular", "NeedsInterpreter"),
    ("cyclotron/language", "Rewriting", "RewriteState"),
    ("src/poly", "Family", "RegionGroup"),
    ("src/poly", "families_of", "group_regions"),
    ("src/dataflow", "Entry", "FirstUses"),
    ("src/dataflow", "enter_folds", "receive_at_first_use"),
    ("src/schedule", "parse_form", "parse_affine"),
]


def python_definitions(text: str) -> Iterator[tuple[int, str]]:
    """Yield the functions, classes and constants of a module, and `Class.name` of what its classes hold."""
    for node in ast.parse(text).body:
        for line, name in _defined(node):
            yield line, name
        if isinstance(node, ast.ClassDef):
            for part in ast.walk(node):
                if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
                    yield part.lineno, f"{node.name}.{part.attr}"
            for member in node.body:
                for line, name in _defined(member):
                    yield line, f"{node.name}.{name}"


def _defined(node: ast.stmt) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.lineno, node.name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        if isinstance(target, ast.Name):
            yield node.lineno, target.id


def cxx_definitions(text: str) -> Iterator[tuple[int, str]]:
    """Yield the types and functions of a source."""
    blanked = blank(text)
    for match in TYPE.finditer(blanked):
        yield blanked.count("\n", 0, match.start()) + 1, match.group(1)
    for function in functions(text):
        yield function.first, function.name


def violations(root: Path, paths: list[str]) -> list[str]:
    """Return one line a file or definition of an old name, sorted by file."""
    faults = []
    for path in paths:
        file = root / path
        if not file.is_file():
            continue
        faults += [f"{path}: is {new} now" for old, new in OLD_PATHS.items() if fnmatch(path, old)]
        old_here = [(name, new) for folder, name, new in OLD_DEFINITIONS if path.startswith(f"{folder}/")]
        if not old_here or file.suffix not in {".py", *CXX}:
            continue
        definitions = python_definitions if file.suffix == ".py" else cxx_definitions
        for line, name in sorted(set(definitions(file.read_text()))):
            faults += [f"{path}:{line}: {name} is {new} now" for old, new in old_here if fnmatch(name, old)]
    return faults


def main() -> int:
    faults = violations(ROOT, tracked_files(ROOT))
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

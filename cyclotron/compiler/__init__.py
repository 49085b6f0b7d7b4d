"""Kernels to programs, and views of programs, which are imported when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclotron.support.lazy import lazy_names

if TYPE_CHECKING:
    from cyclotron.compiler.dataflow import Dataflow
    from cyclotron.compiler.dependences import analyze, schedule_tree, space_loops
    from cyclotron.compiler.explain import Explanation
    from cyclotron.compiler.generators import decoded, generator_of
    from cyclotron.compiler.memory_map import MemoryMap
    from cyclotron.compiler.pe_class import PeClass
    from cyclotron.compiler.proof import check_program, least_depths
    from cyclotron.compiler.roles import Roles
    from cyclotron.compiler.sections import Sections

__all__ = [
    "Dataflow",
    "Explanation",
    "MemoryMap",
    "PeClass",
    "Roles",
    "Sections",
    "analyze",
    "check_program",
    "decoded",
    "generator_of",
    "least_depths",
    "schedule_tree",
    "space_loops",
]

_HOMES = {
    "Dataflow": "dataflow",
    "Explanation": "explain",
    "MemoryMap": "memory_map",
    "PeClass": "pe_class",
    "Roles": "roles",
    "Sections": "sections",
    "analyze": "dependences",
    "check_program": "proof",
    "decoded": "generators",
    "generator_of": "generators",
    "least_depths": "proof",
    "schedule_tree": "dependences",
    "space_loops": "dependences",
}
__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return list(__all__)

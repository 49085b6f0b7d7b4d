# Made by tools/checks/public_names.py from the package.
from cyclotron.compiler.dataflow import Dataflow
from cyclotron.compiler.dependences import analyze, schedule_tree, space_loops
from cyclotron.compiler.explain import Explanation
from cyclotron.compiler.generators import decoded, generator_of
from cyclotron.compiler.memory_map import MemoryMap
from cyclotron.compiler.pe_class import PeClass
from cyclotron.compiler.proof import check_program, least_depths
from cyclotron.compiler.roles import Roles
from cyclotron.compiler.routes import Routes
from cyclotron.compiler.sections import Sections

__all__ = [
    "Dataflow",
    "Explanation",
    "MemoryMap",
    "PeClass",
    "Roles",
    "Routes",
    "Sections",
    "analyze",
    "check_program",
    "decoded",
    "generator_of",
    "least_depths",
    "schedule_tree",
    "space_loops",
]

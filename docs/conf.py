"""The documentation site: Sphinx, with pages that are executed. `tools/docs` builds it into build/docs."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "extensions")]

import cyclotron  # noqa: E402 - the extensions stand on the path first

project = "Cyclotron"
author = "The Cyclotron developers"
project_copyright = author
release = version = cyclotron.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "refusals",
    "landing",
    "gallery",
    "mathml",
]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
exclude_patterns = ["extensions", "static"]

# A cell that fails ends the build, and so does a warning (tools/docs gives -W).
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True
nb_merge_streams = True
nb_render_error_lexer = "text"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_heading_slug_func = "refusal_directives.slug"

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name types, shapes and units
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

default_role = "code"
html_theme = "furo"
html_title = "Cyclotron"
html_static_path = ["static"]
html_css_files = ["cyclotron.css"]
html_js_files = [("accessibility.js", {"defer": "defer"})]
html_show_sourcelink = False
html_show_search_summary = False  # they are fetched, which browsers refuse for files
html_math_renderer = "mathml"
html_copy_source = False
templates_path: list[str] = []
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

"""The documentation site: Markdown pages, an executed gallery, and a reference made from the code.

`make docs` builds it into docs/_build/html. Nothing is fetched while it is built, and no page asks
another host for anything: `site_tools/offline.py` refuses such a page.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
# As the command line sets it: threads that spin while they wait take cores from each other.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from site_tools import api, offline, program  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402

from fairgear.version import installed_version  # noqa: E402

project = "fairgear"
author = "The fairgear maintainers"
version = release = installed_version()
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "gallery", "site_tools"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# An indented block is a formula or an output, not Python.
highlight_language = "text"

# Anchors are those of code-hosting sites, so that a link works there and here.
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = [
    # Generated tables of results begin with their datasets as headings of the third level.
    "myst.header",
]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
# Docstrings write code in single backticks, as Markdown does.
default_role = "code"
python_use_unqualified_type_names = True

# What is not ours is described elsewhere, and its inventories would need a network.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!fairgear)\S.*"),
    # Names inside the library that a signature mentions and that nobody outside uses.
    (
        "py:class",
        r"fairgear\.(auditing\.(adapters\.base\.Predictions|world\.Alternative)"
        r"|causal\.edges\.(candidates\.Missed|dyads\.DyadModel|model\.EdgeModel|weights\.WeightModel)"
        r"|egos\.batches\.Rows|nn\.graph_vae\.Latent|testing\.trial\.Answers"
        r"|registry\.(Registry|T)|links\.methods\.shared\.Sides"
        r"|graph\.(canonical\.Canonical|similarity\.SortedRows|tables\..*)"
        r"|methods\.(baselines\.whole_graph\.WholeGraphTask|ego_method\.EgoMethod|egos\.EgoGenerator"
        r"|heads\.Head))",
    ),
]

copybutton_prompt_text = "$ "
copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 60,
    "capture_repr": ("_repr_html_",),
    "image_scrapers": ("site_tools.pictures.scrape",),
    "reset_modules": (),
}

html_theme = "furo"
html_title = "fairgear"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1d5c87",
        "color-brand-content": "#1d5c87",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
        "font-stack--monospace": "ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7fbbe3",
        "color-brand-content": "#7fbbe3",
    },
}
linkcheck_timeout = 20
linkcheck_anchors = False

# Libraries warn at import of what they will change; a build must not depend on that.
warnings.filterwarnings("ignore", category=DeprecationWarning)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the pages that come from the code, complete others, and check the result."""
    api.write(DOCS / "reference" / "api")
    program.write(DOCS / "reference")
    app.connect("source-read", _title)
    app.connect("source-read", _gallery)
    app.connect("build-finished", offline.check)
    return {"parallel_read_safe": True}


_TITLES = {
    "table1": "Table 1, the datasets",
    "table2": "Table 2, all methods",
    "table3": "Table 3, parts left out",
    "tableS1": "Table S1, encoders",
    "figure5": "Figure 5, settings varied",
    "tradeoff": "AUROC against δCF and R²",
    "verdicts": "Verdicts on the paper's claims",
}


def _title(app: Sphinx, name: str, source: list[str]) -> None:
    """Tables of the reproduction are made for reports, and have no title of their own."""
    folder, _, table = name.rpartition("/")
    if folder == "results/reproduction":
        source[0] = f"# {_TITLES[table]}\n\n{source[0]}"


def _gallery(app: Sphinx, name: str, source: list[str]) -> None:
    """Pages link to the gallery's programs; here these are pages with what they print and draw."""
    text = source[0].replace("gallery/index.md", "examples/index.rst")
    source[0] = re.sub(r"gallery/(plot_\w+)\.py\)", r"examples/\1.rst)", text)

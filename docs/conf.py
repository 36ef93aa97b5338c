"""How Sphinx builds these pages: `make docs`, into docs/_build/html. Offline: nothing is fetched, no notebook is run.

The tutorial is the notebooks of the repository with the outputs they were saved with. They are copied beside the pages,
since Sphinx reads one folder only, with their links set right.
"""

from __future__ import annotations

import re
import shutil
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "nbresponses"
author = "the nbresponses contributors"
version = release = version_of("nbresponses")
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docstrings", "state_diagram"]
exclude_patterns = ["_build", "_extensions"]
default_role = "literal"  # docstrings quote names as Markdown does
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(?!nbresponses(\.|$)).*"),  # other packages' names, which no inventory here has
    ("py:.*", r"nbresponses\.errors\..*"),  # in docs/errors.md
    ("py:.*", r"nbresponses\.(client\.lane_hub|capture\.messages\.(Columns|Channel)|capture\.comparing\.HasCapture).*"),
]

nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # saved notebooks hold no widgets
myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]
myst_links_external_new_tab = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "nbresponses"
html_static_path = ["_static"]
html_css_files = ["frames.css"]
html_copy_source = False
html_show_sphinx = False


def copy_notebooks(_app: Sphinx, _config: object) -> None:
    """notebooks/*.ipynb → docs/notebooks/, where a link to `../docs/frames.md` is one to `../frames.md`."""
    copies = HERE / "notebooks"
    shutil.rmtree(copies, ignore_errors=True)
    copies.mkdir()
    for path in sorted((HERE.parent / "notebooks").glob("*.ipynb")):
        text = re.sub(r"\]\(\.\./docs/", "](../", path.read_text(encoding="utf-8"))
        (copies / path.name).write_text(text, encoding="utf-8")


def link_to_copies(_app: Sphinx, _page: str, source: list[str]) -> None:
    """A link to `../notebooks/x.ipynb`, which readers of the repository follow, leads to the copy beside the pages."""
    source[0] = source[0].replace("](../notebooks/", "](notebooks/")


def plain_prompts(_app: Sphinx, page: nodes.document) -> None:
    """The cell of a magic is text, not Python."""
    for block in page.findall(nodes.literal_block):
        if block.astext().startswith("%%"):
            block["language"] = "text"


def setup(app: Sphinx) -> None:
    app.connect("config-inited", copy_notebooks)
    app.connect("source-read", link_to_copies)
    app.connect("doctree-read", plain_prompts)

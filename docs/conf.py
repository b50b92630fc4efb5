"""Configuration of the documentation: Sphinx with MyST and the pydata theme.

    pip install ".[docs]" && sphinx-build -W -b html docs docs/_build

The scene reference, the joint reference and the Python reference are generated from the installed package.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("_ext")))

import pysim

project = "pysim"
author = "pysim developers"
copyright = "2026, pysim developers"  # noqa: A001, the name that Sphinx reads
release = version = pysim.__version__

extensions = [
    "docstring_markup",
    "element_reference",
    "joint_reference",
    "myst_parser",
    "notebook",
    "scene_gallery",
    "scene_reference",
    "sphinx.ext.autodoc",
    "sphinx-mathjax-offline",  # formulas without a network
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_mock_imports = ["jax", "torch"]  # of extras that this build does not need
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"  # shapes and units are in the text
autodoc_preserve_defaults = True
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = "pysim"
html_static_path = ["_static"]
html_css_files = ["pysim.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "navbar_persistent": ["search-button-field"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
html_sidebars: dict[str, list[str]] = {
    name: [] for name in ("index", "tutorial", "scenes", "gallery/index")
}
smartquotes_action = "D"
toc_object_entries = False

"""How the documentation is built: `make docs`, or `sphinx-build -n -W --keep-going docs site`.

Pages are MyST Markdown, notebooks and gallery examples run when the site is built, and the API reference comes from
docstrings. A reader needs no network: fonts, scripts and formulas are all part of the site.
"""

from __future__ import annotations

import sys
from pathlib import Path

import efge

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "efge"
author = "The efge developers"
project_copyright = author
version = release = efge.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "blocks",
    "commands",
    "mathml",
    "offline",
]
exclude_patterns = ["_build", "**/.ipynb_checkpoints", "gallery/*.ipynb", "gallery/*.py", "gallery/GALLERY_HEADER.*"]
templates_path = ["_templates"]
nitpicky = True
suppress_warnings = ["myst.header"]  # reproduction.md, which a program writes, skips a level

# Markdown.
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# Notebooks have no stored output: each runs when the site is built, and an error ends the build.
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

# The gallery: every file of examples/gallery runs, and its first figure is its thumbnail.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": True,
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "doc_module": ("efge",),
    "reference_url": {"efge": None},
    "thumbnail_size": (640, 448),  # twice the size at which it is shown
    "matplotlib_animations": False,
    "write_computation_times": False,
}

# The reference: one page for each public name, as numpydoc reads its docstring.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
add_module_names = False
python_use_unqualified_type_names = True

# Prompts and output are left out of what the copy button copies.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "efge"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_domain_indices = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "efge", "image_light": "_static/mark.svg", "image_dark": "_static/mark.svg"},
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "start": [], "gallery/index": ["sidebar-nav-bs"]}

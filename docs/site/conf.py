"""The documentation as a site: pages lie where the repository shows them, and links between them are checked."""

from importlib.metadata import version as package_version

project = "Snellen"
author = copyright = "The Snellen authors"
version = release = package_version("snellen")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "design/*.md",
    "docs/*.md",
    "docs/measurements/*.md",
    "docs/site/*.md",
    "examples/attention/README.md",
    "src/snellen/suites/*/README.md",
]
exclude_patterns = ["build/**", ".?*/**"]  # hidden folders; not "./index.html"
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "fieldlist"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"
html_theme = "furo"
html_title = "Snellen"
html_extra_path = ["root"]
html_copy_source = False

CHAPTERS = {
    "Tutorials": (
        "first-report",
        "gallery",
        "own-model",
        "own-images",
        "own-table",
        "image-sizes",
        "own-suite",
        "ci-guard",
        "sealed-exams",
    ),
    "How-to guides": (
        "installing",
        "building",
        "deciding",
        "sight",
        "thresholds",
        "towers",
        "training",
        "people",
        "serving",
        "reviewing",
        "judging",
        "exports",
        "recorded-answers",
        "logs",
        "cluster",
    ),
    "Reference": ("subjects", "chat", "conditions", "answers", "reports", "data-schema", "sources", "glossary"),
    "Explanation": (
        "footguns",
        "validity",
        "reliability",
        "threats",
        "benchmarks",
        "measurements/validity",
        "measurements/intervals",
        "measurements/grades",
        "measurements/deciding",
        "measurements/thresholds",
        "measurements/sight",
        "measurements/circles",
        "measurements/guard",
        "measurements/speed",
        "measurements/rendering",
        "measurements/towers",
        "measurements/datasets",
        "measurements/visonlyqa",
        "measurements/blind-arms",
        "measurements/traits",
        "measurements/phantoms",
        "mission",
        "coverage",
        "fidelity",
    ),
}
SUITES = ("combo", "vlm2_bench", "vfm_bench", "ava_bench", "thresholds", "questions")


def chapters(app, page, source):
    """Give the first page its table of contents: a directive would be noise where the page is read as it is."""
    if page != root_doc:
        return
    pages = {title: [f"/docs/{name}" for name in names] for title, names in CHAPTERS.items()}
    pages["Suites"] = [f"/src/snellen/suites/{name}/README" for name in SUITES]
    pages["Inside"] = [
        "/docs/site/reference",
        "/examples/attention/README",
        "/CONTRIBUTING",
        "/CHANGELOG",
        "/docs/site/design",
    ]
    for title, names in pages.items():
        source[0] += "\n".join(["", ":::{toctree}", ":hidden:", f":caption: {title}", *names, ":::", ""])


def setup(app):
    """Sphinx calls this."""
    app.connect("source-read", chapters)

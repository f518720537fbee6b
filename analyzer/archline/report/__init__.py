"""The report renders results as text, JSON, LaTeX, Markdown and HTML.

The package shares its name with the function `archline.report` of the Python API, so calling it calls that function.
A page is a `Document` (documents.py) of tables, sections and sentences, which `text`, `latex` and `markdown` render;
layout.py breaks lines and aligns columns. costs/ makes the pages of a cost from a `CostView` (cost_view.py);
energies/, comparisons.py, runs.py, changes.py and library.py make the others; json.py serialises results by the
names of their fields. checks/ has one module for each format of `archline check`, pictures/ draws with matplotlib.
Callers: api/ and cli/, which choose a view and a format, and papers/.
"""

from __future__ import annotations

from pathlib import Path

from archline.callable_package import make_callable
from archline.lazy_modules import load_on_use

load_on_use(__name__)

make_callable(__name__, "archline.api.reports")


def list_formats(kind: str) -> tuple[str, ...]:
    """Return the names of the modules in the folder `kind`, sorted: each is a format, and has a function `render`."""
    folder = Path(__file__).parent / kind
    return tuple(sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__"))

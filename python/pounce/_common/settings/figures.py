"""Options of libraries that draw: matplotlib, plotly, altair. seaborn's themes are options of matplotlib."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

# ---- matplotlib ----

_BACKEND, _COLOR = "backend", "color "
_FILES = frozenset(("agg", "cairo", "pdf", "pgf", "ps", "svg", "template"))  # backends that need no screen
_INLINE = "inline"
_OF_PAGES = ("widget", "ipympl", "nbagg", "notebook")  # their figures are drawn by the page


def matplotlib_options(library: Any) -> dict[str, Any]:
    """With the colors that seaborn gives to matplotlib's short names."""
    options = dict(dict.items(library.rcParams))  # without looking for a backend
    backend = _chosen(options.pop(_BACKEND))
    codes = library.colors.colorConverter.colors
    colors = {_COLOR + code: codes[code] for code in "bgrmyck"}
    return options | colors | {_BACKEND: backend if backend in _FILES else ""}


def usual_matplotlib(library: Any) -> dict[str, Any]:
    colors = {_COLOR + code: color for code, color in library.colors.BASE_COLORS.items()}
    return {**dict(dict.items(library.rcParamsDefault)), **colors, _BACKEND: ""}


def set_matplotlib(library: Any, changed: dict[str, Any]) -> None:
    options = {name: value for name, value in changed.items() if name != _BACKEND and not name.startswith(_COLOR)}
    library.rcParams.update(options)
    converter = importlib.import_module("matplotlib.colors").colorConverter
    for name, color in changed.items():
        if name.startswith(_COLOR):
            converter.colors[name[len(_COLOR):]] = color
            converter.cache.clear()
    if _BACKEND in changed:
        library.use(changed[_BACKEND] or os.environ.get("MPLBACKEND", "agg"))


def _chosen(backend: Any) -> str:
    """The backend that the person chose. Empty: the kernel's, or none yet. A program has no kernel that sets one: by
    itself matplotlib chooses agg, as it does on a worker, or one with a screen."""
    usual = os.environ.get("MPLBACKEND", "")
    name = backend.lower() if isinstance(backend, str) else ""
    if not usual:
        return name if name in _FILES - {"agg"} else ""
    return "" if name == usual.lower() or _INLINE in name else name


def matplotlib_left_out(library: Any) -> Iterator[tuple[str, str]]:
    backend = _chosen(dict.get(library.rcParams, _BACKEND))
    if not backend or backend in _FILES:
        return
    why = "a worker has no screen, so figures are pictures there"
    if any(name in backend for name in _OF_PAGES):
        why = "each worker has its own, which %matplotlib widget in a cell there chooses"
    yield f"matplotlib's backend {backend}", why


# ---- the pictures that a notebook shows ----

_KINDS = {"png": "image/png", "jpeg": "image/jpeg", "svg": "image/svg+xml", "pdf": "application/pdf"}
_PICTURES = ("figure_formats", "print_figure_kwargs", "close_figures")


def _inline(config: Any) -> Any:
    shell = importlib.import_module("IPython").get_ipython()
    return config.InlineBackend.instance(parent=shell) if shell is not None else None


def pictures(config: Any) -> dict[str, Any] | None:
    if not config.InlineBackend.initialized():
        return None
    options = {name: getattr(_inline(config), name) for name in _PICTURES}
    return options | {"figure_formats": _formats() or options["figure_formats"]}


def _formats() -> set[str]:
    """Those of the printers for figures: ``set_matplotlib_formats`` changes no more than them."""
    figures, shell = sys.modules.get("matplotlib.figure"), importlib.import_module("IPython").get_ipython()
    found = set()
    for name, kind in _KINDS.items():
        printer = shell.display_formatter.formatters[kind].type_printers.get(getattr(figures, "Figure", None))
        if isinstance(printer, functools.partial):
            found.add("retina" if printer.func.__name__ == "retina_figure" else name)
    return found


def usual_pictures(config: Any) -> dict[str, Any]:
    return {"figure_formats": {"png"}, "print_figure_kwargs": {"bbox_inches": "tight"}, "close_figures": True}


def set_pictures(config: Any, options: dict[str, Any]) -> None:
    inline = _inline(config)
    if "matplotlib" in sys.modules:  # its figures are shown so from now on; else when it is imported
        inline.shell = importlib.import_module("IPython").get_ipython()
    for name, value in options.items():
        setattr(inline, name, value)


# ---- plotly ----

_TEMPLATE = "template "
_TEMPLATES = frozenset(("ggplot2", "seaborn", "simple_white", "plotly", "plotly_white", "plotly_dark", "presentation",
                        "xgridoff", "ygridoff", "gridon", "none"))


def plotly_options(io: Any) -> dict[str, Any]:
    """With the templates that the person made. The page that shows figures decides on the renderer, so the worker's
    own guess does not count."""
    own = {_TEMPLATE + name: io.templates[name].to_plotly_json() for name in io.templates if name not in _TEMPLATES}
    return own | {"template": io.templates.default, "renderer": io.renderers.default}


def set_plotly(io: Any, options: dict[str, Any]) -> None:
    layout = importlib.import_module("plotly.graph_objects").layout
    for name, value in options.items():
        if name.startswith(_TEMPLATE):
            io.templates[name[len(_TEMPLATE):]] = layout.Template(value)
    if "template" in options:
        io.templates.default = options["template"]
    if options.get("renderer"):
        io.renderers.default = options["renderer"]


# ---- altair ----

ALTAIR: dict[str, Any] = dict.fromkeys(("theme", "data", "renderer"), ("default", {}, None))


def _registries(altair: Any) -> dict[str, Any]:
    theme = getattr(altair, "theme", None)  # since altair 5.5, of the registry's methods
    themes = theme.enable.__self__ if theme is not None else altair.themes
    return {"theme": themes, "data": altair.data_transformers, "renderer": altair.renderers}


def altair_options(altair: Any) -> dict[str, Any]:
    """Of each registry what is active, its options, and its function if that is the notebook's own."""
    return {name: (registry.active, registry.options, _own(registry.get()))
            for name, registry in _registries(altair).items()}


def _own(function: Any) -> Any:
    function = getattr(function, "func", function)  # with options it is a partial
    return function if getattr(function, "__module__", "") == "__main__" else None


def set_altair(altair: Any, options: dict[str, Any]) -> None:
    registries = _registries(altair)
    for name, (active, choices, function) in options.items():
        if function is not None:
            registries[name].register(active, function)
        registries[name].enable(active, **choices)

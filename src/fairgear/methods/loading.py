"""Saved models, of whatever method."""

from __future__ import annotations

from pathlib import Path

from fairgear.errors import FileError
from fairgear.methods.base import METHODS, Method
from fairgear.methods.saved import read_saved


def load_model(
    path: Path | str, *, device: str = "auto", method: type[Method] | str | None = None
) -> Method:
    """A fitted model of any method that is registered, from the folder that its `save` wrote.

    Args:
        path: the folder. Whatever it names, no code is imported but that of installed packages.
        device: "auto" (CUDA if available), "cpu" or "cuda".
        method: one that is not registered: its class, or MODULE:CLASS, which is imported.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.methods import METHODS
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> folder = METHODS["logistic"]().fit(graph).save("model")
        >>> fg.load_model("model").predict(graph)[:4].tolist()
        [0, 1, 1, 1]
    """
    saved = read_saved(Path(path))
    name = str(saved.about["method"])
    kind = METHODS.resolve(method) if isinstance(method, str) else method
    if kind is None or kind.name != name:
        if name not in METHODS:
            allowed = ", ".join(METHODS) if kind is None else f"{kind.name}, {', '.join(METHODS)}"
            step = "name its class if you trust it: --method MODULE:CLASS, or load_model(method=)"
            got = f"a model of the method {name!r}, which is not registered"
            raise FileError(f"model folder {path}", got, allowed, step)
        kind = METHODS[name]
    return kind._of(saved, device)

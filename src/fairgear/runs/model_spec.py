"""How the command line names a model: a saved one, Python code, a command, or its scores."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from fairgear.auditing import Adapter, CommandAdapter, ScoresAdapter, adapt
from fairgear.auditing.exchange.graph_files import check_format
from fairgear.auditing.exchange.manifest import MANIFEST
from fairgear.errors import FileError, ParameterError
from fairgear.evidence import FileHash, code_file, file_hash, folder_hashes
from fairgear.graph.tables import ENCODING, Encoding
from fairgear.methods import load_model
from fairgear.registry import import_object
from fairgear.runs.audit_config import is_scores

_CODE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def model_of(
    text: str,
    *,
    threshold: float | None = None,
    device: str = "auto",
    graph_format: str = "csv",
    timeout: float = 300.0,
    id: str = "",
    method: str | None = None,
) -> Adapter:
    """The model that `text` names.

    Args:
        text: the folder of a run or of a saved model, MODULE:NAME of a Python object, a command
            with {graph} in it, or a file of scores.
        threshold: label 1 is given to scores above it; the model's own, or 0.5, if not given.
        device: of saved models.
        graph_format: in which a command reads graphs.
        timeout: seconds that a command may take for one graph.
        id: the column of ids in the table of people, which a file of scores may have too.
        method: of a saved model whose method is not registered, as MODULE:CLASS.
    """
    check_format(graph_format)
    if is_scores(text):
        return ScoresAdapter(Path(text), threshold=threshold, id=id or None)
    if "{graph}" in text:
        return CommandAdapter(text, threshold=threshold, format=graph_format, timeout=timeout)
    folder = saved_model(text)
    if folder is not None:
        model = load_model(folder, device=device, method=method)
        return adapt(model, name=text, threshold=threshold)
    if _CODE.fullmatch(text):
        return adapt(import_object(text, "model"), name=text, threshold=threshold)
    if os.path.isfile(Path(text) / MANIFEST):
        got, step = "a folder of exported worlds", f"run fairgear audit score {text}"
        raise FileError(f"model {text}", got, "a model", step)
    allowed = (
        "the folder of a run or a saved model, MODULE:NAME of a Python object, a command with "
        "{graph} in it, or a file of scores"
    )
    step = "check the path; see fairgear audit --help for examples"
    raise ParameterError("MODEL", repr(text), allowed, step)


def files_of(*models: str | None) -> tuple[FileHash, ...]:
    """The files of models: of a saved one all, of Python code its source, of a command its scripts.

    A program that a command finds by its name alone, such as python, is not among them.
    """
    found = []
    for text in filter(None, models):
        folder, source = saved_model(text), code_file(text)
        if "{graph}" in text:
            paths = [Path(word) for word in shlex.split(text) if Path(word).is_file()]
            found += [file_hash(path, "script") for path in paths]
        elif folder is not None:
            found += folder_hashes(folder, "model")
        elif source is not None:
            found.append(file_hash(source, "model code"))
    return tuple({file.path: file for file in found}.values())


def saved_model(text: str) -> Path | None:
    """The folder of a saved model, given itself or by its run's; None where there is none."""
    for folder in (Path(text), Path(text) / "model"):
        if os.path.isfile(folder / "model.json"):
            return folder
    return None


def encoding_of(*models: str | None) -> Path | None:
    """The folder of the saved model by whose encoding a user's table must be read, if any.

    Two models that encode the same table in different ways cannot score the same graph.
    """
    saved = [saved_model(text) for text in models if text is not None]
    found = [folder for folder in saved if folder is not None and (folder / ENCODING).exists()]
    if len({Encoding.read(folder / ENCODING).text() for folder in found}) > 1:
        got = "models trained on tables that were encoded in different ways"
        allowed = "models trained on the same columns and values"
        raise ParameterError("two models to compare", got, allowed, "audit each by itself")
    return found[0] if found else None

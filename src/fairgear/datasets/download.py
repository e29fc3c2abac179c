"""Files of the datasets: from the user's own folder, from the cache, or from their source.

A file is accepted only if it has the SHA-256 written in the code.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import time
from collections.abc import Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from fairgear.caching import cache_folder, keep
from fairgear.errors import FileError
from fairgear.evidence import note_known
from fairgear.files import replacing, temporary_folder
from fairgear.progress import bar, log

NIFTY = "https://raw.githubusercontent.com/chirag126/nifty/main/dataset"
# Dai and Wang, WSDM 2021: NBA.
FAIRGNN = "https://raw.githubusercontent.com/EnyanDai/FairGNN/main/dataset"
# Seconds that the server may be silent, and that one file may take.
SILENCE = 30.0
PATIENCE = 600.0
_CHUNK = 1 << 16
# The role of such files among those that were read.
DATASET = "dataset"


@dataclass(frozen=True)
class RemoteFile:
    """A file that others publish and that must be exactly this one."""

    path: str
    """Below $FAIRGEAR_DATA and below the cache, such as "bail/bail.csv"."""
    url: str
    sha256: str
    size: int
    """In bytes."""


def nifty_file(path: str, *, sha256: str, size: int) -> RemoteFile:
    """One of Agarwal, Lakkaraju and Zitnik, UAI 2021: Bail, Credit and German."""
    return RemoteFile(path, f"{NIFTY}/{path}", sha256, size)


class _DownloadFailed(Exception):
    """Why a download failed; not an OSError, which would look like an unwritable file."""


def fetch(file: RemoteFile) -> Path:
    """The verified file: from $FAIRGEAR_DATA, from the cache, or downloaded."""
    found = _verified(file)
    note_known(DATASET, file.path, file.sha256, file.size)
    return found


def local(path: str) -> Path:
    """Where a file of a dataset is on this machine, by its path in `RemoteFile`, if it is."""
    own = _own_folder()
    if own is not None and (own / path).exists():
        return own / path
    return cache_folder() / "datasets" / path


def _verified(file: RemoteFile) -> Path:
    own = _own_folder()
    if own is not None and (found := _in_own_folder(own, file)) is not None:
        return found
    cached = cache_folder() / "datasets" / file.path
    if os.path.isfile(cached):
        if _sha256(cached) == file.sha256:
            return cached
        log(f"{cached} is damaged: downloading it again")
    try:
        return _download(file, cached)
    except _DownloadFailed as reason:
        looked, place = ("", "FOLDER") if own is None else (f" (it was looked for in {own})", own)
        by_hand = f"download it by hand to {place}/{file.path}"
        raise FileError(
            f"cannot download {file.path}{looked}",
            reason,
            f"{file.url} with SHA-256 {file.sha256}",
            by_hand if own else f"{by_hand} and set FAIRGEAR_DATA=FOLDER",
        ) from reason


def _own_folder() -> Path | None:
    named = os.environ.get("FAIRGEAR_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    if not os.path.isdir(folder):
        raise FileError(
            "FAIRGEAR_DATA",
            f"{named}, which is no folder",
            "a folder with files such as bail/bail.csv",
            "correct it, or unset it to download the files",
        )
    return folder


def _in_own_folder(folder: Path, file: RemoteFile) -> Path | None:
    path = folder / file.path
    if not os.path.exists(path):
        return None
    found = _sha256(path)
    if found != file.sha256:
        # The user named this folder, so do not silently use another one.
        raise FileError(
            f"{path}, in the folder that FAIRGEAR_DATA names",
            "a file that cannot be read" if found is None else f"SHA-256 {found}",
            f"SHA-256 {file.sha256}",
            f"replace it by {file.url}, or unset FAIRGEAR_DATA",
        )
    return path


def _sha256(path: Path) -> str | None:
    """None for a file that cannot be read."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def _download(file: RemoteFile, cached: Path) -> Path:
    def write(path: Path) -> None:
        with replacing(path, by_all=True) as temporary:
            _transfer(file, temporary)

    if keep(cached, write):
        return cached
    temporary = _temporary_folder() / file.path
    write(temporary)
    return temporary


@cache
def _temporary_folder() -> Path:
    """For files if the cache cannot be written; it is removed when the process ends."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(temporary_folder())


def _transfer(file: RemoteFile, path: Path) -> None:
    """Download to `path`; any other content raises `_DownloadFailed`."""
    digest, received = hashlib.sha256(), 0
    deadline = time.monotonic() + PATIENCE
    with (
        path.open("wb") as target,
        bar(f"downloading {file.path}", file.size) as shown,
        closing(_blocks(file.url)) as blocks,
    ):
        for block in blocks:
            received += len(block)
            if received > file.size:
                raise _DownloadFailed(f"more than the {file.size:,} bytes that it should have")
            if time.monotonic() > deadline:
                raise _DownloadFailed(f"only {received:,} bytes in {PATIENCE:g} s")
            digest.update(block)
            target.write(block)
            shown.advance(len(block))
    if digest.hexdigest() != file.sha256:
        raise _DownloadFailed(
            f"{received:,} of {file.size:,} bytes, with SHA-256 {digest.hexdigest()}"
        )


def _blocks(url: str) -> Generator[bytes, None, None]:
    """The body of the answer in blocks; every network error is a `_DownloadFailed`."""
    request = Request(url, headers={"User-Agent": "fairgear"})
    try:
        with urlopen(request, timeout=SILENCE) as answer:
            # Unlike read, read1 returns what there is, so that the deadline is checked.
            while block := answer.read1(_CHUNK):
                yield block
    except HTTPError as error:
        error.close()
        raise _DownloadFailed(f"HTTP status {error.code} ({error.reason})") from error
    except URLError as error:
        raise _DownloadFailed(f"no connection ({error.reason})") from error
    except TimeoutError as error:
        raise _DownloadFailed(f"silence for {SILENCE:g} s") from error
    except (HTTPException, OSError) as error:
        raise _DownloadFailed(f"a broken connection ({error})") from error

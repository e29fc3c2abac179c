"""Files of the datasets: from the user's own folder, from the cache, or from their source.

A file is accepted only if it has the SHA-256 written in the code.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from fairgear.caching import cache_folder, keep
from fairgear.errors import FileError
from fairgear.evidence import note_known
from fairgear.files import hold, remove_leftovers, replacing, temporary_folder
from fairgear.progress import bar, log

NIFTY = "https://raw.githubusercontent.com/chirag126/nifty/main/dataset"
# Dai and Wang, WSDM 2021: NBA.
FAIRGNN = "https://raw.githubusercontent.com/EnyanDai/FairGNN/main/dataset"
# Seconds until the first bytes of a file, and between two of its blocks; and for all of it.
SILENCE = 30.0
PATIENCE = 600.0
_CHUNK = 1 << 16
# The role of such files among those that were read.
DATASET = "dataset"
# Blocks that may wait to be written.
_WAITING = 16


@dataclass(frozen=True)
class RemoteFile:
    """A file that others publish and that must be exactly this one.

    Example:
        >>> from fairgear.datasets import DATASETS
        >>> file = DATASETS["bail"].files[0]
        >>> file.path, file.size
        ('bail/bail.csv', 820405)
    """

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
    """The verified file: from $FAIRGEAR_DATA, from the cache, or downloaded.

    Example:
        >>> import hashlib
        >>> import os
        >>> from pathlib import Path
        >>> from fairgear.datasets import RemoteFile, fetch
        >>> os.environ["FAIRGEAR_DATA"] = "data"
        >>> Path("data").mkdir()
        >>> people = Path("data", "people.csv")
        >>> size = people.write_bytes(b"id,sex")
        >>> sha256 = hashlib.sha256(b"id,sex").hexdigest()
        >>> fetch(RemoteFile("people.csv", "https://example.org/people.csv", sha256, size)).name
        'people.csv'
    """
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
        # Until it has been read, `fairgear cache clear` in another shell leaves it.
        hold(cached)
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
    # Unlike Path.expanduser, this leaves a user whom nobody knows as it is.
    folder = Path(os.path.expanduser(named))
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
    if not os.path.isfile(path):
        return None
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def _download(file: RemoteFile, cached: Path) -> Path:
    def write(path: Path) -> None:
        with replacing(path, by_all=True) as temporary:
            _transfer(file, temporary)

    if keep(cached, write) and hold(cached):
        # Of downloads that were killed.
        remove_leftovers(cached.parent)
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
        _Blocks(file) as blocks,
    ):
        while block := blocks.next(deadline, received):
            received += len(block)
            if received > file.size:
                raise _DownloadFailed(f"more than the {file.size:,} bytes that it should have")
            digest.update(block)
            target.write(block)
            shown.advance(len(block))
    if digest.hexdigest() != file.sha256:
        raise _DownloadFailed(
            f"{received:,} of {file.size:,} bytes, with SHA-256 {digest.hexdigest()}"
        )


class _Blocks:
    """The body of a server's answer in blocks, read by another thread.

    A server that sends a byte now and then keeps every call on its connection waiting: only
    somebody else can see how long the whole takes.
    """

    def __init__(self, file: RemoteFile) -> None:
        self._file = file
        # Blocks, then nothing or what went wrong.
        self._waiting: queue.Queue[bytes | Exception] = queue.Queue(_WAITING)
        self._left = threading.Event()

    def __enter__(self) -> _Blocks:
        # A daemon: the program may end while the connection still waits.
        threading.Thread(target=self._read, daemon=True, name="download").start()
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()

    def next(self, deadline: float, received: int) -> bytes:
        """The next block, empty at the end; every error is a `_DownloadFailed`."""
        left = deadline - time.monotonic()
        try:
            found = self._waiting.get(timeout=max(0.0, min(SILENCE, left)))
        except queue.Empty:
            if left <= SILENCE:
                found = _DownloadFailed(f"only {received:,} bytes in {PATIENCE:g} s")
            else:
                found = TimeoutError()
        if isinstance(found, Exception):
            raise _DownloadFailed(_reason(found)) from found
        return found

    def _read(self) -> None:
        try:
            for block in _body(self._file):
                if not self._put(block):
                    return
            self._put(b"")
        # What a server sends can make the libraries that read it raise anything.
        except Exception as error:
            self._put(error)

    def _put(self, found: bytes | Exception) -> bool:
        """Whether anybody still waits for it."""
        while not self._left.is_set():
            try:
                self._waiting.put(found, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False


def _body(file: RemoteFile) -> Iterator[bytes]:
    request = Request(file.url, headers={"User-Agent": "fairgear"})
    with build_opener(_Redirects).open(request, timeout=SILENCE) as answer:
        _check_length(answer.headers.get_all("Content-Length", []), file)
        # Unlike read, read1 returns what there is.
        while block := answer.read1(_CHUNK):
            yield block


class _Redirects(HTTPRedirectHandler):
    """Closes the connection where the address that a server redirects to is junk."""

    def http_error_302(self, req: Request, fp: Any, code: int, msg: str, headers: Any) -> Any:
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except ValueError:
            fp.close()
            raise

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _check_length(said: list[Any], file: RemoteFile) -> None:
    """Refuse an answer that says it is longer, or says nonsense, before its body is read."""
    for length in map(str, said):
        if not (length.isascii() and length.isdecimal() and len(length) < 20):
            raise _DownloadFailed(f"a Content-Length of {length!r}")
        if int(length) > file.size:
            raise _DownloadFailed(f"more than the {file.size:,} bytes that it should have")


def _reason(error: Exception) -> str:
    if isinstance(error, _DownloadFailed):
        return str(error)
    if isinstance(error, HTTPError):
        error.close()
        return f"HTTP status {error.code} ({error.reason})"
    if isinstance(error, TimeoutError):
        return f"silence for {SILENCE:g} s"
    if isinstance(error, URLError):
        if isinstance(error.reason, TimeoutError):
            return f"silence for {SILENCE:g} s"
        return f"no connection ({error.reason})"
    if isinstance(error, OSError | HTTPException):
        return f"a broken connection ({error})"
    return f"an answer that cannot be read ({error})"

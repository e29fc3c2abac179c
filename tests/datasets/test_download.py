from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fairgear.datasets import download
from fairgear.datasets.download import RemoteFile, fetch
from fairgear.errors import FileError

CONTENT = b"user_id,label\n" + b"1,0\n" * 50_000


class Server(ThreadingHTTPServer):
    """Answers by path; `asked` counts the requests."""

    daemon_threads = True
    asked = 0


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked += 1
        answer: Callable[[], None] = getattr(self, self.path.split("/")[1])
        # Some tests have the client leave in the middle.
        with suppress(ConnectionError):
            answer()

    def start(self, length: int, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def whole(self) -> None:
        self.start(len(CONTENT))
        self.wfile.write(CONTENT)

    def other(self) -> None:
        self.start(len(CONTENT))
        self.wfile.write(CONTENT.replace(b"0", b"1"))

    def longer(self) -> None:
        self.start(len(CONTENT) * 20)
        for _ in range(20):
            self.wfile.write(CONTENT)

    def truncated(self) -> None:
        self.start(len(CONTENT))
        self.wfile.write(CONTENT[: len(CONTENT) // 2])
        self.close_connection = True

    def missing(self) -> None:
        self.start(0, status=404)

    def silent(self) -> None:
        self.start(len(CONTENT))
        self.wfile.write(CONTENT[:1000])
        self.wfile.flush()
        time.sleep(1)

    def trickling(self) -> None:
        self.start(len(CONTENT))
        for byte in CONTENT[:400]:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(0.02)

    def headers_forever(self) -> None:
        self.send_response(200)
        for number in range(400):
            self.send_header(f"X-{number}", "x")
            self.flush_headers()
            time.sleep(0.02)

    def junk_address(self) -> None:
        self.send_response(302)
        self.send_header("Location", self.path.split("/", 2)[2])
        self.end_headers()

    def length(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", self.path.split("/")[2])
        self.end_headers()
        self.wfile.write(CONTENT)

    def steering(self) -> None:
        self.send_response(500, "\x1b[31mred\u009b")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    running = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("FAIRGEAR_DATA", raising=False)
    monkeypatch.setenv("FAIRGEAR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "datasets" / "some" / "table.csv"


def remote(server: Server, answer: str = "whole") -> RemoteFile:
    return RemoteFile(
        path="some/table.csv",
        url=f"http://127.0.0.1:{server.server_address[1]}/{answer}/table.csv",
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        size=len(CONTENT),
    )


def nothing_left(cached: Path) -> bool:
    return not cached.parent.exists() or not list(cached.parent.iterdir())


def test_downloaded_once_then_from_the_cache(server: Server, cached: Path) -> None:
    assert fetch(remote(server)) == cached
    assert cached.read_bytes() == CONTENT
    assert fetch(remote(server)) == cached
    assert server.asked == 1
    assert list(cached.parent.iterdir()) == [cached]


@pytest.mark.parametrize("damage", [b"", CONTENT[:-1], CONTENT.replace(b"0", b"1")])
def test_a_damaged_cache_heals_itself(
    damage: bytes, server: Server, cached: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch(remote(server))
    cached.write_bytes(damage)
    assert fetch(remote(server)).read_bytes() == CONTENT
    assert server.asked == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "damaged" in captured.err


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("other", "with SHA-256"),
        ("longer", "more than the 200,014 bytes"),
        ("truncated", "of 200,014 bytes"),
        ("missing", "HTTP status 404"),
        ("silent", "silence for 0.2 s"),
        ("trickling", "in 0.4 s"),
        ("headers_forever", "silence for 0.2 s"),
        ("junk_address/http://[", "an answer that cannot be read"),
        ("junk_address/file:///etc/passwd", "HTTP status 302"),
        ("length/-1", "a Content-Length of '-1'"),
        ("length/many", "a Content-Length of 'many'"),
        ("length/99999999999999999999999", "a Content-Length of"),
        ("length/200015", "more than the 200,014 bytes"),
        ("steering", "HTTP status 500"),
    ],
)
def test_what_goes_wrong_is_one_clear_error_and_leaves_nothing(
    answer: str, said: str, server: Server, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "SILENCE", 0.2)
    monkeypatch.setattr(download, "PATIENCE", 0.4 if answer == "trickling" else 60)
    file = remote(server, answer)
    begin = time.monotonic()
    with pytest.raises(FileError) as raised:
        fetch(file)
    assert time.monotonic() - begin < 5
    for part in (file.url, file.sha256, "by hand", "FAIRGEAR_DATA"):
        assert part in str(raised.value)
    assert re.search(said, str(raised.value))
    assert str(raised.value).isprintable()
    assert nothing_left(cached)
    # And once the source is right, so is the file.
    assert fetch(remote(server)).read_bytes() == CONTENT


def test_nobody_answers(server: Server, cached: Path) -> None:
    file = remote(server)
    server.shutdown()
    server.server_close()
    with pytest.raises(FileError, match="no connection"):
        fetch(file)
    assert nothing_left(cached)


def test_interrupted_halfway_leaves_nothing_and_goes_on_later(
    server: Server, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Impatient:
        def advance(self, steps: int) -> None:
            raise KeyboardInterrupt

    @contextmanager
    def bar(description: str, total: int) -> Iterator[Impatient]:
        yield Impatient()

    with monkeypatch.context() as patch:
        patch.setattr(download, "bar", bar)
        with pytest.raises(KeyboardInterrupt):
            fetch(remote(server))
    assert nothing_left(cached)
    assert fetch(remote(server)).read_bytes() == CONTENT


def test_an_unwritable_cache_stops_nobody(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("FAIRGEAR_CACHE", str(tmp_path / "taken"))
    assert fetch(remote(server)).read_bytes() == CONTENT
    assert capsys.readouterr().err.count("without a cache") == 1


class TestOwnFolder:
    @pytest.fixture
    def own(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        folder = tmp_path / "own"
        (folder / "some").mkdir(parents=True)
        monkeypatch.setenv("FAIRGEAR_DATA", str(folder))
        return folder

    def test_comes_first_and_asks_nobody(self, server: Server, own: Path, cached: Path) -> None:
        (own / "some" / "table.csv").write_bytes(CONTENT)
        assert fetch(remote(server)) == own / "some" / "table.csv"
        assert server.asked == 0
        assert not cached.exists()

    def test_a_wrong_file_is_refused(self, server: Server, own: Path) -> None:
        wrong = own / "some" / "table.csv"
        wrong.write_bytes(CONTENT + b"1,1\n")
        with pytest.raises(FileError, match="FAIRGEAR_DATA") as raised:
            fetch(remote(server))
        assert hashlib.sha256(wrong.read_bytes()).hexdigest() in str(raised.value)
        assert remote(server).sha256 in str(raised.value)
        assert server.asked == 0
        assert wrong.exists()

    def test_a_folder_in_place_of_the_file_is_refused(self, server: Server, own: Path) -> None:
        (own / "some" / "table.csv").mkdir()
        with pytest.raises(FileError, match="cannot be read"):
            fetch(remote(server))

    def test_a_missing_file_is_downloaded(self, server: Server, own: Path, cached: Path) -> None:
        assert fetch(remote(server)) == cached
        assert not (own / "some" / "table.csv").exists()

    def test_a_missing_file_that_cannot_be_downloaded(self, server: Server, own: Path) -> None:
        with pytest.raises(FileError) as raised:
            fetch(remote(server, "missing"))
        assert f"looked for in {own}" in str(raised.value)
        assert f"by hand to {own}/some/table.csv" in str(raised.value)

    def test_a_missing_folder_is_refused(
        self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAIRGEAR_DATA", str(tmp_path / "nowhere"))
        with pytest.raises(FileError, match="which is no folder"):
            fetch(remote(server))
        assert server.asked == 0


def test_a_file_in_the_cache_counts_only_with_its_own_hash(server: Server, cached: Path) -> None:
    fetch(remote(server))
    other = replace(remote(server), sha256=hashlib.sha256(b"other").hexdigest())
    with pytest.raises(FileError, match="SHA-256"):
        fetch(other)
    assert server.asked == 2

"""Downloads from a server on this machine that does everything wrong that servers do."""

import gzip
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import tiny_data
from typer.testing import CliRunner

from mjfl.cli.data import data_commands
from mjfl.learning.data import catalog, download, store
from mjfl.learning.data.errors import DataError
from mjfl.learning.data.load import load

CONTENT = bytes(range(256)) * 40  # 10,240 bytes


@dataclass
class Server:
    """What it serves, how it misbehaves, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=lambda: {"/file.gz": CONTENT})
    tag: str | None = '"1"'
    ranges: bool = True
    lengths: bool = True
    cuts: list[int] = field(default_factory=list)  # bytes of the body until the connection ends, answer by answer
    statuses: list[int] = field(default_factory=list)  # instead of an answer
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path, Range
    url: str = ""


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    plan: Server

    def do_GET(self) -> None:
        plan, wanted = self.plan, self.headers.get("Range")
        plan.asked.append((self.path, wanted))
        status = plan.statuses.pop(0) if plan.statuses else 200 if self.path in plan.files else 404
        if status != 200:
            self._send(status, b"", {})
            return
        content = plan.files[self.path]
        if not (wanted and plan.ranges and self.headers.get("If-Range") in (None, plan.tag)):
            self._send(200, content, {})
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if start >= len(content):
            self._send(416, b"", {"Content-Range": f"bytes */{len(content)}"})
        else:
            self._send(206, content[start:], {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        plan = self.plan
        self.close_connection = True
        self.send_response(status)
        if plan.tag:
            self.send_header("ETag", plan.tag)
        if plan.lengths:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.send_header("Content-Encoding", "gzip")  # as servers say of .gz files; the bytes must stay as they are
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: plan.cuts.pop(0)] if plan.cuts and body else body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("MJFL_DATA", str(tmp_path / "store"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(download, "_CHUNK", 1000)
    plan = Server()
    with ThreadingHTTPServer(("127.0.0.1", 0), type("PlannedAnswer", (Answer,), {"plan": plan})) as http:
        plan.url = f"http://127.0.0.1:{http.server_port}/"
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield plan
        http.shutdown()
        thread.join()


def fetched(server: Server, place: Path, told: list[tuple[str, int, int | None]] | None = None) -> bytes:
    def progress(file: str, done: int, total: int | None) -> None:
        if told is not None:
            told.append((file, done, total))

    return download.fetch(f"{server.url}file.gz", place, progress).read_bytes()


def ranges(server: Server) -> list[str | None]:
    return [wanted for _, wanted in server.asked]


def test_a_file_comes_whole_and_progress_is_told(server: Server, tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    assert fetched(server, tmp_path / "d", told) == CONTENT
    assert told[-1] == ("file.gz", 10_240, 10_240)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["file.gz"]
    assert fetched(server, tmp_path / "d") == CONTENT
    assert len(server.asked) == 1  # what is there is not asked for again


@pytest.mark.parametrize("tag", ['"1"', 'W/"1"', None])
def test_a_cut_connection_goes_on_where_it_was(server: Server, tmp_path: Path, tag: str | None) -> None:
    server.tag, server.cuts = tag, [5_000, 2_000]
    assert fetched(server, tmp_path / "d") == CONTENT
    assert ranges(server) == [None, "bytes=5000-", "bytes=7000-"]


def test_without_ranges_it_begins_again(server: Server, tmp_path: Path) -> None:
    server.ranges, server.cuts = False, [5_000, 2_000]
    assert fetched(server, tmp_path / "d") == CONTENT
    assert ranges(server) == [None, "bytes=5000-", "bytes=2000-"]


def test_without_a_length_it_takes_what_comes(server: Server, tmp_path: Path) -> None:
    server.lengths = False
    assert fetched(server, tmp_path / "d") == CONTENT


def test_the_next_call_goes_on_too(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PATIENCE", 1)
    server.cuts = [5_000, 0]
    with pytest.raises(DataError, match=r"http.*file.gz: could not be downloaded, 5000 bytes arrived: "):
        fetched(server, tmp_path / "d")
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["file.gz.part", "file.gz.tag"]
    assert fetched(server, tmp_path / "d") == CONTENT
    assert ranges(server)[-1] == "bytes=5000-"


def test_a_file_that_changed_meanwhile_is_not_mixed(server: Server, tmp_path: Path) -> None:
    place = tiny_data.write(tmp_path / "d", {"file.gz.part": b"old" * 10, "file.gz.tag": b'"0"'})
    assert fetched(server, place) == CONTENT
    place = tiny_data.write(tmp_path / "e", {"file.gz.part": bytes(20_000)})
    assert fetched(server, place) == CONTENT
    place = tiny_data.write(tmp_path / "f", {"file.gz.part": CONTENT})
    assert fetched(server, place) == CONTENT
    assert ranges(server) == ["bytes=30-", "bytes=20000-", None, "bytes=10240-"]


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.statuses = [503, 429, 500]
    assert fetched(server, tmp_path / "d") == CONTENT
    assert len(server.asked) == 4


def test_patience_ends(server: Server, tmp_path: Path) -> None:
    server.statuses = [503] * 9
    with pytest.raises(DataError, match="0 bytes arrived: the server answers 503"):
        fetched(server, tmp_path / "d")
    assert len(server.asked) == 5


def test_a_server_that_always_cuts_and_never_resumes_is_given_up(server: Server, tmp_path: Path) -> None:
    server.ranges, server.cuts = False, [5_000] * 9
    with pytest.raises(DataError, match="5000 bytes arrived"):
        fetched(server, tmp_path / "d")
    assert len(server.asked) == 6


def test_not_found_is_final(server: Server, tmp_path: Path) -> None:
    server.files = {}
    with pytest.raises(DataError, match=r"file.gz: the server answers 404 Not Found"):
        fetched(server, tmp_path / "d")
    assert len(server.asked) == 1


def test_nobody_answers(server: Server, tmp_path: Path) -> None:
    server.url = "http://127.0.0.1:1/"
    with pytest.raises(DataError, match=r"could not be downloaded, 0 bytes arrived: .*refused"):
        fetched(server, tmp_path / "d")


def known(monkeypatch: pytest.MonkeyPatch, server: Server, name: str, *mirrors: str) -> dict[str, bytes]:
    """Tiny files under a known name, expected from this server's folders."""
    files = tiny_data.idx_files(catalog.entry(name))
    entry = tiny_data.expecting(name, files, *(f"{server.url}{mirror}" for mirror in mirrors))
    monkeypatch.setattr(catalog, "ENTRIES", {**catalog.ENTRIES, name: entry})
    return files


def serve(server: Server, folder: str, files: dict[str, bytes]) -> None:
    server.files.update({f"/{folder}{name}.gz": gzip.compress(content) for name, content in files.items()})


def get(*names: str) -> str:
    result = CliRunner().invoke(data_commands, ["get", *names])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_get_downloads_checks_keeps_and_tidies(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(server, "m/", known(monkeypatch, server, "mnist", "m/"))
    server.cuts = [300, 200]
    assert "mnist: 40 + 20 images of the official 60,000 + 10,000" in get("mnist")
    assert len(load("mnist").train_labels) == 40
    assert not list((store.folder() / "downloads").iterdir())
    asked = len(server.asked)
    assert "mnist: is here already" in get("mnist", "mnist")
    assert len(server.asked) == asked


def test_wrong_bytes_send_it_to_the_next_mirror(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    files = known(monkeypatch, server, "mnist", "gone/", "wrong/", "right/")
    serve(server, "wrong/", tiny_data.idx_files(catalog.entry("mnist"), seed=1))
    serve(server, "right/", files)
    get("mnist")
    assert load("mnist").train_images.tobytes() == files["train-images-idx3-ubyte"][16:]


def test_every_mirror_is_wrong(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, server, "mnist", "gone/", "page/", "wrong/")
    names = [f"{name}.gz" for name in catalog.entry("mnist").files]
    server.files.update({f"/page/{name}": b"<html>Sign in</html>" for name in names})
    serve(server, "wrong/", tiny_data.idx_files(catalog.entry("mnist"), seed=1))
    with pytest.raises(DataError) as raised:
        get("mnist")
    message = str(raised.value)
    assert message.startswith("mnist: could not be downloaded.")
    assert "gone/train-images-idx3-ubyte.gz: the server answers 404" in message
    assert "is a web page" in message
    assert "has the sha256" in message
    assert store.record(catalog.entry("mnist")) is None


def test_what_two_data_sets_share_is_downloaded_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        for name in ("emnist-letters", "emnist-digits"):
            for file, content in known(monkeypatch, server, name, "e/").items():
                zipped.writestr(f"gzip/{file}.gz", gzip.compress(content))
    server.files["/e/gzip.zip"] = archive.getvalue()
    get("emnist-letters", "emnist-digits")
    assert (load("emnist-letters").classes, load("emnist-digits").classes) == (26, 10)
    assert len(server.asked) == 1

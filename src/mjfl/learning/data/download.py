"""Downloads that survive a cut connection: what has arrived is kept, and the rest is asked for (HTTP Range)."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pooch
import requests
import urllib3

from mjfl.learning.data import store
from mjfl.learning.data.catalog import Entry
from mjfl.learning.data.errors import DataError

Progress = Callable[[str, int, int | None], None]  # file, bytes so far, bytes in all if the server says

FIRST_PAUSE = 1.0  # seconds; doubled after every failure in a row
PATIENCE = 5  # failures in a row that bring nothing new
_TIMEOUT = (10.0, 30.0)  # to connect, between two packets
_CHUNK = 1 << 16
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})


class _Again(Exception):
    """Worth another try."""


@dataclass(frozen=True)
class Resuming:
    """A downloader for pooch. `part` keeps what has arrived, also from one call to the next."""

    part: Path
    progress: Progress

    def __call__(self, url: str, output_file: str, _: object) -> None:
        most, failures = self._arrived(), 0
        while True:
            try:
                self._attempt(url)
                break
            except (_Again, requests.RequestException, urllib3.exceptions.HTTPError) as error:
                failures = 0 if self._arrived() > most else failures + 1
                most = max(most, self._arrived())
                if failures == PATIENCE:
                    raise DataError(url, f"could not be downloaded, {most} bytes arrived: {error}") from None
                time.sleep(FIRST_PAUSE * 2**failures)
        self.part.replace(output_file)
        self._tag.unlink(missing_ok=True)

    def _attempt(self, url: str) -> None:
        with requests.get(url, headers=self._headers(), stream=True, timeout=_TIMEOUT) as response:
            if response.status_code == 416:
                self._end_of_file(response)
                return
            if response.status_code in _BUSY:
                raise _Again(f"the server answers {response.status_code} {response.reason}")
            if response.status_code not in (200, 206):
                raise DataError(url, f"the server answers {response.status_code} {response.reason}")
            self._receive(response)

    def _headers(self) -> dict[str, str]:
        """Bytes as they are stored; the rest of the file, if it is still the same file."""
        headers = {"Accept-Encoding": "identity"}
        if self._arrived():
            headers["Range"] = f"bytes={self._arrived()}-"
            if self._tag.exists():
                headers["If-Range"] = self._tag.read_text(encoding="utf-8")
        return headers

    def _receive(self, response: requests.Response) -> None:
        start = self._arrived() if response.status_code == 206 else 0
        if start and not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            self._forget()
            raise _Again("the server sends another part of the file than the one asked for")
        length = response.headers.get("Content-Length")
        total = start + int(length) if length else None
        self._remember(response)
        with self.part.open("ab" if start else "wb") as file:
            for chunk in response.raw.stream(_CHUNK, decode_content=False):
                file.write(chunk)
                self.progress(self.part.stem, file.tell(), total)
        if total is not None and self._arrived() != total:
            raise _Again(f"the connection ended after {self._arrived()} of {total} bytes")

    def _end_of_file(self, response: requests.Response) -> None:
        """The server has nothing after what has arrived: either that is all, or it was another file."""
        if response.headers.get("Content-Range") != f"bytes */{self._arrived()}":
            self._forget()
            raise _Again("the file has changed on the server")

    def _remember(self, response: requests.Response) -> None:
        tag = response.headers.get("ETag", "")
        tag = response.headers.get("Last-Modified", "") if not tag or tag.startswith("W/") else tag
        if tag:
            self._tag.write_text(tag, encoding="utf-8")
        else:
            self._tag.unlink(missing_ok=True)

    def _forget(self) -> None:
        self.part.unlink(missing_ok=True)
        self._tag.unlink(missing_ok=True)

    def _arrived(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    @property
    def _tag(self) -> Path:
        return self.part.with_suffix(".tag")


def fetch(url: str, place: Path, progress: Progress) -> Path:
    """The file at this address, from `place` if it is there already."""
    pooch.get_logger().setLevel("WARNING")
    name = Path(urlsplit(url).path).name
    downloader = Resuming(place / f"{name}.part", progress)
    try:
        return Path(pooch.retrieve(url, known_hash=None, fname=name, path=place, downloader=downloader))
    except OSError as error:
        raise DataError(place / name, f"cannot be written: {error.strerror or error}") from None


def get(entries: Iterable[Entry], progress: Progress) -> Iterator[tuple[Entry, store.Record]]:
    """Download, check and keep; what several data sets share is downloaded once, and removed when all are here."""
    entries = list(entries)
    for entry in entries:
        yield entry, _get(entry, progress)
    for entry in entries:
        for mirror in entry.mirrors:
            shutil.rmtree(_place(mirror), ignore_errors=True)


def _get(entry: Entry, progress: Progress) -> store.Record:
    failures = []
    for mirror in entry.mirrors:
        place = _place(mirror)
        try:
            for file in entry.downloads:
                fetch(mirror + file, place, progress)
            return store.import_from(entry, place)
        except DataError as error:
            failures.append(str(error))
            for file in entry.downloads:  # what cannot be used is not worth keeping; what is unfinished is
                (place / file).unlink(missing_ok=True)
    raise DataError(entry.name, "could not be downloaded.\n  " + "\n  ".join(failures))


def _place(mirror: str) -> Path:
    return store.folder() / "downloads" / urlsplit(mirror).netloc.replace(":", "_")

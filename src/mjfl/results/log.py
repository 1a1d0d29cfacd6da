"""The event log, schema 1: one JSON object a line, only ever appended to."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from mjfl.domain.events import Event
from mjfl.errors import RunFolderError

_FLUSH_BYTES = 1 << 16
_FLUSH_SECONDS = 0.25


class LogWriter:
    """Appends events; what `sync` returned from is on the disk."""

    def __init__(self, path: Path, clock: Callable[[], float], seq: int = 0, size: int = 0) -> None:
        """Go on after `seq` events in `size` bytes; whatever stands behind them is cut off."""
        self._clock, self.seq = clock, seq
        self._file = path.open("ab", buffering=0)
        self._file.truncate(size)
        self.size = size
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._flushed_at = clock()

    def write(self, event: Event) -> None:
        wall = self._clock()
        body = orjson.dumps(event, option=orjson.OPT_SERIALIZE_NUMPY)
        line = b'{"seq":%d,"kind":"%s","wall_seconds":%.3f,%s\n' % (self.seq, event.kind.encode(), wall, body[1:])
        self.seq += 1
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        if self._waiting_bytes > _FLUSH_BYTES or wall - self._flushed_at > _FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Hand over to the operating system: other programs can read it."""
        if self._waiting:
            data = b"".join(self._waiting)
            self._waiting.clear()
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
            self.size += len(data)
            self._waiting_bytes = 0
        self._flushed_at = self._clock()

    def sync(self) -> None:
        """Make sure that a power cut loses nothing."""
        self.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Hand over what can be handed over; a full disk has been reported already."""
        with suppress(OSError):
            self.flush()
        self._file.close()


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a log. A torn last line is left out; anything else that is no event is an error."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                event = orjson.loads(line)
            except orjson.JSONDecodeError:
                raise RunFolderError(f"{path}, line {number}: is no JSON object") from None
            if not isinstance(event, dict) or "kind" not in event:
                raise RunFolderError(f"{path}, line {number}: is no event")
            yield event

"""Worker processes that leave Ctrl-C and SIGTERM to the program that started them, and do not outlive it."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess

_LEFT_TO_THE_PARENT = (signal.SIGINT, signal.SIGTERM)
_GRACE_SECONDS = 10


class Worker(SpawnProcess):
    """It does not hear SIGTERM, so that a pool which must end it needs another way."""

    def terminate(self) -> None:
        self.kill()


class Workers(SpawnContext):
    """The multiprocessing context of such processes."""

    Process = Worker


@contextmanager
def started_deaf() -> Iterator[None]:
    """What is started within does not hear signals that go to the whole group, not even while it still imports."""
    resource_tracker.ensure_running()  # its first start would lift the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _LEFT_TO_THE_PARENT)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def prepare_worker() -> None:
    """Called by a worker at its start: it ends with its parent; its signals wait until something listens to them."""
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        threading.Thread(target=_end_after, args=(parent.pid,), daemon=True).start()


def _end_after(parent: int) -> None:
    """What listens to SIGTERM is a run, and saves itself; without it nothing would be lost."""
    while os.getppid() == parent:
        time.sleep(1)
    waited = 0
    while signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        if waited % _GRACE_SECONDS == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        waited += 1
        time.sleep(1)
    os._exit(1)

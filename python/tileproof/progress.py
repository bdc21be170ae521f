"""What is being done, on stderr, while it takes long."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Callable

FIRST = 0.3  # seconds before anything is shown


class Progress:
    """`how`: None shows a line where stderr is a terminal, True shows it
    anywhere, False never; a function is called with (done, all, text) instead."""

    def __init__(self, how: bool | Callable[..., None] | None = None):
        self.call = how if callable(how) else None
        self.shown = self.call is None and (sys.stderr.isatty() if how is None else bool(how))
        self.text, self.since, self.begun = "", time.monotonic(), time.monotonic()
        self.end = threading.Event()
        self.thread: threading.Thread | None = None

    def __call__(self, done: int, everything: int, text: str) -> None:
        if self.call:
            self.call(done, everything, text)
        count = f"{done + 1}/{everything} " if everything > 1 else ""
        self.text, self.since = f"tileproof: {count}{text}", time.monotonic()

    def __enter__(self) -> Progress:
        if self.shown:
            self.thread = threading.Thread(target=self._tick, daemon=True)
            self.thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.end.set()
        if self.thread:
            self.thread.join()

    def _tick(self) -> None:
        wrote = False
        while not self.end.wait(FIRST):
            seconds = time.monotonic() - self.since
            if self.text and time.monotonic() - self.begun >= FIRST:
                sys.stderr.write(f"\r\x1b[K{self.text}, {seconds:.0f} s")
                sys.stderr.flush()
                wrote = True
        if wrote:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

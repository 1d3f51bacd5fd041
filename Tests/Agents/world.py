"""What is known while clients and disturbances run side by side: counts, failures, and what may hold at a time."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

# How long anything may take, in seconds, however busy the machine is. Only what hangs reaches it.
PATIENCE = 120


class Wrong(Exception):
    """An answer that the model does not allow."""


class Tally:
    """How often each kind of request was made, and what was wrong. Threads wait here for the progress of all."""

    SHOWN = 20

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self._requests = 0
        self._is_over = False
        self._changed = threading.Condition()

    def case(self, kind: str, *, is_request: bool = True) -> None:
        with self._changed:
            self.counts[kind] += 1
            self._requests += is_request
            self._changed.notify_all()

    def fail(self, kind: str, text: object) -> None:
        with self._changed:
            self.failures[kind] += 1
            if self.failures.total() <= self.SHOWN:
                print(f"  FAILED {kind}: {text}", flush=True)

    def check(self, kind: str, holds: bool, text: str) -> None:
        """Counts a check that is not a request."""
        self.case(kind, is_request=False)
        if not holds:
            self.fail(kind, text)

    def end(self) -> None:
        """No client makes a further request."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    @property
    def requests(self) -> int:
        return self._requests

    def wait_for(self, requests: int) -> None:
        """Waits until so many requests were made, or no further one will be."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._requests >= requests)


class Switch:
    """Something that is on or off, and that one thread changes while others use it.

    A change takes a time, during which both may be seen. What a request may have seen follows from when it was sent and
    when it was answered.
    """

    def __init__(self, is_on: bool) -> None:
        self._initial = is_on
        # When each change began and ended, and what it led to; the end of one that goes on is infinite.
        self._changes: list[tuple[float, float, bool]] = []
        self._lock = threading.Lock()

    @contextmanager
    def change(self, to: bool) -> Iterator[None]:
        with self._lock:
            self._changes.append((time.monotonic(), float("inf"), to))
        try:
            yield
        finally:
            with self._lock:
                began, _, _ = self._changes[-1]
                self._changes[-1] = (began, time.monotonic(), to)

    def seen(self, sent: float, answered: float) -> set[bool]:
        """What a request may have seen that was sent and answered at these times."""
        values: set[bool] = set()
        with self._lock:
            for began, ended, value in reversed(self._changes):
                if ended <= answered or began <= answered:
                    values.add(value)
                if ended < sent:
                    return values
            values.add(self._initial)
        return values

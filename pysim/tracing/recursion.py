"""Detection of plugin code that calls itself, by loading its own scene or computing its own joint."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from pysim.errors import PysimError


class _Running(threading.local):
    def __init__(self) -> None:
        self.keys: set[Hashable] = set()


_running = _Running()


@contextmanager
def once(key: Hashable, error: Callable[[], PysimError]) -> Iterator[None]:
    """Run the block unless this thread is in one of the same key already.

    Raises:
        PysimError: what `error` returns, if it is.
    """
    if key in _running.keys:
        raise error()
    _running.keys.add(key)
    try:
        yield
    finally:
        _running.keys.discard(key)

"""Worker threads and available memory."""

from __future__ import annotations

from efge import parallel


def test_available_memory_is_known_without_meminfo(monkeypatch):
    available = parallel.available_memory()
    assert available is None or available > 0
    monkeypatch.setattr(parallel.Path, "read_text", lambda path: "")
    from_sysconf = parallel.available_memory()
    assert from_sysconf is None or from_sysconf > 0
    monkeypatch.delattr(parallel.os, "sysconf", raising=False)
    assert parallel.available_memory() is None

"""What differs between systems: each fallback, tried here by taking away what this system has."""

from __future__ import annotations

import builtins
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from efge import system
from efge.io.scratch import clear_scratch, lock_folder, map_temporary_file, scratch_file, scratch_folder


def test_available_memory_is_known_without_meminfo(monkeypatch):
    available = system.available_memory()
    assert available is None or available > 0
    monkeypatch.setattr(system.Path, "read_text", lambda path: "")
    from_sysconf = system.available_memory()
    assert from_sysconf is None or from_sysconf > 0
    monkeypatch.delattr(system.os, "sysconf", raising=False)
    assert system.available_memory() is None


def fake_cgroup(monkeypatch, folder, membership, files):
    for name, content in files.items():
        path = folder / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (folder / "membership").write_text(membership)
    monkeypatch.setattr(system, "_CGROUP_ROOT", folder / "cgroup")
    monkeypatch.setattr(system, "_CGROUP_OF_PROCESS", folder / "membership")
    monkeypatch.setattr(system.os, "sched_getaffinity", lambda process: set(range(64)), raising=False)


def test_threads_and_memory_follow_the_limits_of_a_container(monkeypatch, tmp_path):
    files = {
        "box/job/cpu.max": "max 100000\n",
        "box/cpu.max": "250000 100000\n",
        "box/job/memory.max": "1000000\n",
        "box/job/memory.current": "700000\n",
        "box/job/memory.stat": "anon 500000\ninactive_file 100000\n",
    }
    fake_cgroup(monkeypatch, tmp_path, "0::/box/job\n", files)
    assert system.available_threads() == 3
    assert system.available_memory() == 400_000


def test_limits_of_version_1_are_found_under_a_path_of_the_host(monkeypatch, tmp_path):
    files = {
        "cpu/cpu.cfs_quota_us": "150000\n",
        "cpu/cpu.cfs_period_us": "100000\n",
        "memory/memory.limit_in_bytes": "5000000\n",
        "memory/memory.usage_in_bytes": "4000000\n",
    }
    fake_cgroup(monkeypatch, tmp_path, "4:cpu,cpuacct:/docker/1a\n3:memory:/docker/1a\n2:pids:/docker/1a\n", files)
    assert system.available_threads() == 2
    assert system.available_memory() == 1_000_000


def test_without_limits_all_cores_are_used(monkeypatch, tmp_path):
    fake_cgroup(monkeypatch, tmp_path, "4:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000"})
    assert system.available_threads() == 64
    monkeypatch.delattr(system.os, "sched_getaffinity")
    monkeypatch.setattr(system.os, "cpu_count", lambda: None)
    assert system.available_threads() == 1


def without_fcntl(monkeypatch):
    real = builtins.__import__

    def fail(name, *arguments):
        if name == "fcntl":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", fail)


def test_without_locks_folders_are_used_and_nothing_is_cleared(monkeypatch, tmp_path):
    without_fcntl(monkeypatch)
    with lock_folder(tmp_path) as first, lock_folder(tmp_path) as second:
        assert first
        assert second
    left = tmp_path / ".v.npz.12345678.efge-tmp"
    left.write_bytes(b"")
    with scratch_file(tmp_path, "v.npz") as path:
        assert path.exists()
    assert list(tmp_path.iterdir()) == [left]


def test_where_folders_cannot_be_opened_they_are_used_all_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr("efge.io.scratch.open_to_lock", lambda path: None)
    with lock_folder(tmp_path) as acquired, scratch_folder(tmp_path, "v") as folder:
        assert acquired
        clear_scratch(tmp_path)
        assert folder.is_dir()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("has_fallocate", [True, False])
def test_a_mapped_file_has_all_its_disk_space(monkeypatch, tmp_path, has_fallocate):
    size = (1 << 21) + 5
    if not has_fallocate:
        monkeypatch.delattr(system.os, "posix_fallocate", raising=False)
    with (tmp_path / "file").open("w+b") as file:
        system.reserve_space(file, size)
        status = os.fstat(file.fileno())
    assert status.st_size == size
    assert getattr(status, "st_blocks", size) * 512 >= size
    monkeypatch.delattr("mmap.MADV_RANDOM", raising=False)
    memory = map_temporary_file(tmp_path, size)
    memory[-1:] = b"x"
    assert memory[:1] == b"\0"


def test_a_signal_that_is_ignored_from_the_start_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    received = []
    try:
        with system.handle_signals(lambda number, frame: received.append(number)):
            os.kill(os.getpid(), signal.SIGHUP)
            os.kill(os.getpid(), signal.SIGTERM)
        assert received == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_in_other_threads_signals_are_left_alone():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def look():
        with system.handle_signals(lambda number, frame: None), system.preserve_handlers():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [before]


def test_handlers_that_another_library_replaced_are_restored():
    before = signal.getsignal(signal.SIGTERM)
    with system.preserve_handlers():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_features_of_the_processor_are_those_the_compiler_uses(monkeypatch):
    here = system.cpu_features()
    assert here == system.cpu_features()
    monkeypatch.setattr("numba.core.config.CPU_NAME", "generic")
    monkeypatch.setattr("numba.core.config.CPU_FEATURES", "+sse2,-fma,+cx8")
    assert system.cpu_features() == "generic cx8 sse2"


@pytest.mark.parametrize(("platform", "name"), [("win32", "SwitchToThread"), ("linux", "sched_yield")])
def test_threads_give_way_by_the_function_of_their_system(platform, name):
    # Modules of the standard library come first: they look at the platform, too.
    first = "import sys, math, mmap, os, pathlib, signal, stat, threading, typing, contextlib"
    code = f"{first}; sys.platform = {platform!r}; from efge.system import YIELD_CORE; print(YIELD_CORE)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [name]


def test_only_the_system_module_asks_which_system_it_runs_on():
    asking = (
        "fcntl",
        "posix_fallocate",
        "O_NOFOLLOW",
        "hasattr(os",
        "os.name",
        "sys.platform",
        "hasattr(mmap",
        "hasattr(signal",
        "sched_getaffinity",
    )
    package = Path(system.__file__).parent
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if any(word in path.read_text("utf-8") for word in asking)
    }
    assert found == {"system.py"}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc")
def test_flushing_a_folder_leaves_no_file_open(tmp_path):
    def is_open():
        # Others of this process may be opened or closed at any time.
        return any(os.path.realpath(path) == str(tmp_path.resolve()) for path in Path("/proc/self/fd").iterdir())

    descriptor = os.open(tmp_path, os.O_RDONLY)
    assert is_open()
    os.close(descriptor)
    system.sync_folder(tmp_path)
    assert not is_open()


def test_the_name_of_a_control_group_may_contain_colons(monkeypatch, tmp_path):
    files = {"cpu/a:b/cpu.cfs_quota_us": "200000\n", "cpu/a:b/cpu.cfs_period_us": "100000\n"}
    fake_cgroup(monkeypatch, tmp_path, "4:cpu:/a:b\n", files)
    assert system.available_threads() == 2

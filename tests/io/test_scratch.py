"""Temporary files: cleared when their process is gone, never while it lives; files that keep what they had."""

from __future__ import annotations

import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from efge.io import scratch
from efge.io.atomic import atomic_build, atomic_write
from efge.io.scratch import clear_scratch, lock_folder, scratch_file, scratch_folder

posix = pytest.mark.skipif(os.name != "posix", reason="locks and owners are those of POSIX")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def leave(folder):
    """Leave a file and a folder behind, as a process that is killed."""
    with scratch_file(folder, "v.npz") as file, scratch_folder(folder, "partitions") as parts:
        file.write_bytes(b"half")
        (parts / "centers").write_bytes(b"half")
        os._exit(9)


def killed_run(folder):
    child = multiprocessing.get_context("fork").Process(target=leave, args=(folder,))
    child.start()
    child.join()
    assert child.exitcode == 9


@posix
def test_scratch_of_a_killed_process_is_cleared_by_the_next(tmp_path):
    killed_run(tmp_path)
    assert len(names(tmp_path)) == 2
    with atomic_write(tmp_path / "other.txt") as stream:
        stream.write(b"new")
    assert names(tmp_path) == ["other.txt"]
    killed_run(tmp_path)
    with scratch_folder(tmp_path, "partitions") as own:
        assert names(tmp_path) == sorted([own.name, "other.txt"])
    assert names(tmp_path) == ["other.txt"]


@posix
def test_scratch_of_a_living_process_stays(tmp_path):
    with scratch_file(tmp_path, "v.npz") as file, scratch_folder(tmp_path, "partitions") as folder:
        child = multiprocessing.get_context("fork").Process(target=clear_scratch, args=(tmp_path,))
        child.start()
        child.join()
        clear_scratch(tmp_path)
        assert file.exists()
        assert folder.exists()


@posix
def test_the_temporary_file_is_locked_until_it_has_its_final_name(tmp_path, monkeypatch):
    real, sources = Path.replace, []

    def replace(source, target):
        clear_scratch(tmp_path)
        sources.append(Path(source).exists())
        return real(source, target)

    monkeypatch.setattr(Path, "replace", replace)
    with atomic_write(tmp_path / "v.csv.gz") as stream:
        stream.write(b"x")
    assert sources == [True]


@posix
def test_files_that_only_look_like_scratch_of_others_are_left_alone(tmp_path, monkeypatch):
    others = [".v.npz.abc", "v.efge-tmp", ".hidden"]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    link = tmp_path / ".link.efge-tmp"
    link.symlink_to(tmp_path / ".hidden")
    clear_scratch(tmp_path)
    assert names(tmp_path) == sorted([*others, link.name])
    killed_run(tmp_path)
    monkeypatch.setattr("efge.io.scratch.is_own", lambda status: False)
    clear_scratch(tmp_path)
    assert len(names(tmp_path)) == len(others) + 3


@posix
def test_a_folder_that_another_process_deletes_at_once_is_made_again(tmp_path, monkeypatch):
    real, made = scratch.open_to_lock, []

    def open_deleted(path):
        made.append(path)
        if len(made) == 1:
            path.rmdir()
        return real(path)

    monkeypatch.setattr(scratch, "open_to_lock", open_deleted)
    with scratch_folder(tmp_path, "partitions") as folder:
        assert folder.is_dir()
        assert folder == made[1] != made[0]


@posix
def test_a_forked_process_does_not_keep_a_lock_that_was_released(tmp_path):
    """The child has the descriptor too; only an explicit release ends the lock for both."""
    context = multiprocessing.get_context("fork")
    end = context.Event()
    with lock_folder(tmp_path) as acquired:
        assert acquired
        child = context.Process(target=end.wait, args=(30,))
        child.start()
    try:
        with lock_folder(tmp_path) as again:
            assert again
    finally:
        end.set()
        child.join()


@posix
def test_scratch_that_could_not_be_deleted_is_cleared_later_though_a_forked_process_lives(tmp_path, monkeypatch):
    context = multiprocessing.get_context("fork")
    end = context.Event()
    with monkeypatch.context() as patch, scratch_folder(tmp_path, "work"):
        child = context.Process(target=end.wait, args=(30,))
        child.start()
        patch.setattr(scratch.shutil, "rmtree", lambda path, ignore_errors: None)
    try:
        assert len(names(tmp_path)) == 1
        clear_scratch(tmp_path)
        assert names(tmp_path) == []
    finally:
        end.set()
        child.join()


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_an_existing_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "v.npz"
    path.write_bytes(b"old")
    path.chmod(mode)
    with atomic_write(path) as stream:
        stream.write(b"new")
    assert (stat.S_IMODE(path.stat().st_mode), path.read_bytes()) == (mode, b"new")
    with atomic_build(path) as output:
        output.write_bytes(b"newer")
    assert (stat.S_IMODE(path.stat().st_mode), path.read_bytes()) == (mode, b"newer")


@posix
def test_a_new_file_has_the_permissions_of_the_user(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "v.npz") as stream:
            stream.write(b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "v.npz").stat().st_mode) == 0o640


@posix
def test_the_folder_is_flushed_to_the_disk_after_the_file_has_its_name(tmp_path, monkeypatch):
    synced = []

    def fsync(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        synced.append(("folder", (tmp_path / "v").exists()) if is_folder else "file")

    monkeypatch.setattr(os, "fsync", fsync)
    with atomic_write(tmp_path / "v") as stream:
        stream.write(b"x")
    assert synced == ["file", ("folder", True)]


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root can give a link to another user")
def test_another_users_link_in_a_shared_folder_is_refused(tmp_path):
    shared, target = tmp_path / "shared", tmp_path / "precious"
    shared.mkdir()
    shared.chmod(0o1777)
    target.write_bytes(b"precious")
    link = shared / "v.npz"
    link.symlink_to(target)
    os.lchown(link, 12345, 12345)
    with pytest.raises(PermissionError, match="this link belongs to another user"), atomic_write(link) as stream:
        stream.write(b"x")
    assert target.read_bytes() == b"precious"
    os.lchown(link, os.geteuid(), -1)
    with atomic_write(link) as stream:
        stream.write(b"mine")
    assert target.read_bytes() == b"mine"
    os.lchown(link, 12345, 12345)
    shared.chmod(0o755)
    with atomic_write(link) as stream:
        stream.write(b"in a folder of my own")
    assert target.read_bytes() == b"in a folder of my own"


def open_paths(folder):
    """Return the paths in a folder, and the folder itself, that this process has open, once for each time."""
    paths = (os.path.realpath(path) for path in Path("/proc/self/fd").iterdir())
    return sorted(path for path in paths if path.startswith(str(folder.resolve())))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc")
def test_no_file_stays_open_but_the_locks_that_are_held(tmp_path):
    (tmp_path / ".old.12345678.efge-tmp").write_bytes(b"")
    with scratch_file(tmp_path, "v.npz") as file:
        assert open_paths(tmp_path) == [str(file.resolve())]
        with scratch_folder(tmp_path, "v") as folder:
            assert open_paths(tmp_path) == sorted([str(file.resolve()), str(folder.resolve())])
    assert open_paths(tmp_path) == []
    with lock_folder(tmp_path) as first:
        with lock_folder(tmp_path) as second:
            assert (first, second) == (True, False)
        assert open_paths(tmp_path) == [str(tmp_path.resolve())]
    assert open_paths(tmp_path) == []
    assert list(tmp_path.iterdir()) == []

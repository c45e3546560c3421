"""Fixtures of data sets: a publisher on this machine, an empty cache, a folder of the user's."""

from dataclasses import replace

import pooch
import pytest

from efge.datasets import DATASETS
from published_files import Publisher


@pytest.fixture
def publisher(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    publisher = Publisher()
    yield publisher
    publisher.server.shutdown()
    publisher.server.server_close()


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache, and no folder of the user's."""
    monkeypatch.delenv("EFGE_DATA", raising=False)
    folder = tmp_path / "cache"
    monkeypatch.setattr(pooch, "os_cache", lambda _: folder)
    return folder


@pytest.fixture
def publish(monkeypatch, publisher, cache):
    """A function that publishes a data set on this machine, with changed information if need be."""

    def publish_dataset(name, content, **changes):
        path = f"/{DATASETS[name].file_name}"
        publisher.answers[path] = content
        address = publisher.address + path
        monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], **{"addresses": (address,), **changes}))
        return address

    return publish_dataset


@pytest.fixture
def user_folder(monkeypatch, tmp_path, cache):
    """A function that copies a data set's plain files into a folder that EFGE_DATA names."""

    def copy_files(source, without=()):
        folder = tmp_path / "user" / source.name
        folder.mkdir(parents=True)
        for path in source.iterdir():
            if path.name not in without:
                (folder / path.name).write_bytes(path.read_bytes())
        monkeypatch.setenv("EFGE_DATA", str(folder.parent))
        return folder

    return copy_files

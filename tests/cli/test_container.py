"""Commands in a container: a root that cannot be written, and hardly any shared memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import efge

# In mounts of its own, so that nothing else notices: everything is read-only but the folder that is given.
SCRIPT = """
set -e
case "$1" in /dev/shm/*) exit 77 ;; esac
mount --bind "$1" "$1"
for folder in / /tmp /var/tmp; do
    if mountpoint -q "$folder"; then mount -o remount,bind,ro "$folder"; fi
done
mount -t tmpfs -o size=64k tmpfs /dev/shm
cd "$1"
if touch /read-only-root 2> /dev/null; then exit 77; fi
shift
exec "$@"
"""


only_root = pytest.mark.skipif(
    shutil.which("unshare") is None or not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can mount, and only Linux has namespaces of mounts",
)


def run_in_container(folder, *arguments):
    """Run a command where only one folder can be written; it is the current one."""
    unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh", str(folder)]
    command = [*unshare, *arguments]
    # Whoever runs the tests may have named a folder for temporary files, on a disk that can be written to.
    environment = {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "TEMP", "TMP")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 77 or "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip(f"mounts cannot be made here: {done.stderr}")
    return done


@only_root
@pytest.mark.slow  # compiled code cannot be kept where nothing can be written
@pytest.mark.parametrize("options", [[], ["--partitions", "2"]], ids=" ".join)
def test_a_read_only_root_and_little_shared_memory_are_enough(tmp_path, options):
    (tmp_path / "graph.txt").write_text("a b\nb c\nc a\nc d\n")
    command = [sys.executable, "-m", "efge", "embed", "graph.txt", "-o", "v.npz", "--dim", "8", "--quiet", *options]
    done = run_in_container(tmp_path, *command, "--walks-per-node", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.txt", "v.npz", "v.npz.json"]


@only_root
@pytest.mark.slow
def test_exploring_needs_no_more(tmp_path):
    efge.Embedding(np.eye(4)).save(tmp_path / "v.npz")
    done = run_in_container(tmp_path, sys.executable, "-m", "efge", "--quiet", "explore", "v.npz", "-o", "page.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "page.html").is_file()


@only_root
def test_a_container_without_a_folder_for_temporary_files_is_told_to_set_one(tmp_path):
    (tmp_path / "graph.txt").write_text("a b\nb c\n")
    command = f"cd / && {sys.executable} -m efge embed {tmp_path}/graph.txt -o {tmp_path}/v.npz"
    done = run_in_container(tmp_path, "sh", "-c", command)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("efge: No usable temporary directory found in ")
    assert done.stderr.endswith("; set TMPDIR to a folder that can be written to\n")


def test_a_container_without_programs_that_count_cores_is_not_warned():
    script = """
import numpy as np
import efge
from efge.evaluation.clustering import cluster_nodes
from efge.explore.layout import lay_out

embedding = efge.Embedding(np.random.default_rng(0).normal(size=(60, 4)))
cluster_nodes(embedding, None, False, 0)
lay_out(embedding, "tsne", 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"PATH": ""}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")

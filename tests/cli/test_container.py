"""Commands in a container: a root that cannot be written, and hardly any shared memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

# In mounts of its own, so that nothing else notices: everything is read-only but the folder that is given.
SCRIPT = """
set -e
mount --bind "$1" "$1"
mount -o remount,bind,ro /
mount -t tmpfs -o size=64k tmpfs /dev/shm
cd "$1"
if touch /read-only-root 2> /dev/null; then exit 77; fi
shift
exec "$@"
"""


@pytest.mark.slow  # compiled code cannot be kept where nothing can be written
@pytest.mark.skipif(
    shutil.which("unshare") is None or not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can mount, and only Linux has namespaces of mounts",
)
@pytest.mark.parametrize("options", [[], ["--partitions", "2"]], ids=" ".join)
def test_a_read_only_root_and_little_shared_memory_are_enough(tmp_path, options):
    (tmp_path / "graph.txt").write_text("a b\nb c\nc a\nc d\n")
    command = [sys.executable, "-m", "efge", "embed", "graph.txt", "-o", "v.npz", "--dim", "8", "--quiet", *options]
    command += ["--walks-per-node", "2"]
    unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh", str(tmp_path)]
    done = subprocess.run([*unshare, *command], capture_output=True, text=True, check=False)
    if done.returncode == 77 or "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip(f"mounts cannot be made here: {done.stderr}")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph.txt", "v.npz", "v.npz.json"]

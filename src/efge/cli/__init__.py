"""The command line: one command for each task.

In come arguments, options and files. Results go to standard output or to a file, everything else to standard error. Bad
input ends a command with one line and exit code 2. This is the only package that prints; it may import every other one,
and does so inside the commands, because ``efge --help`` must start fast.
"""

from efge.cli.entry import main

__all__ = ["main"]

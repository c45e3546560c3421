"""The command line: a command a stage; the only rooms that print.

Results go to standard output or a file, everything else to standard error. Bad input is one line and exit code 2.
"""

from efge.cli.app import main

__all__ = ["main"]

"""``python -m efge`` is the command line."""

from efge.cli import main

main()

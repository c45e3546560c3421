"""Run the command line by ``python -m efge``."""

from efge.cli import main

main()

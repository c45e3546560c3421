"""The directive `{commands}`: every command of `efge` with its arguments and options, read from the program itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Commands(SphinxDirective):
    """A section for each command."""

    def run(self) -> list[nodes.Node]:
        """Ask the program for its commands."""
        from typer.main import get_command

        from efge.cli.app import app, load_command
        from efge.cli.commands import COMMANDS

        root: Any = get_command(app)
        # The program imports a command when it is called; until then, the root has only its name.
        root.commands = {name: load_command(name) for name in COMMANDS}
        return [self._section(path, command) for path, command in _commands(root, "efge")]

    def _section(self, path: str, command: Any) -> nodes.section:
        section = nodes.section(ids=[path.replace(" ", "-")], names=[path])
        section += nodes.title(path, "", nodes.literal(path, path))
        for paragraph in (command.help or "").split("\n\n"):
            if paragraph.strip():
                section += nodes.paragraph("", "", *_text(paragraph))
        if command.epilog:
            example = command.epilog.removeprefix("Example: ").strip()
            section += nodes.literal_block(example, f"$ {example}", language="console")
        shown = [one for one in command.params if not getattr(one, "hidden", False) and one.name != "help"]
        for panel in dict.fromkeys(_panel(one) for one in shown):
            section += nodes.rubric("", panel)
            section += _definitions([one for one in shown if _panel(one) == panel])
        return section


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from _commands(command, f"{path} {name}")


def _panel(parameter: Any) -> str:
    default = "Arguments" if parameter.param_type_name == "argument" else "Options"
    return getattr(parameter, "rich_help_panel", None) or default


def _definitions(parameters: list[Any]) -> nodes.definition_list:
    items = nodes.definition_list(classes=["options"])
    for one in parameters:
        term = nodes.term("", "", *_spelled(one))
        items += nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph("", "", *_help(one))))
    return items


def _spelled(parameter: Any) -> Iterator[nodes.Node]:
    """All spellings of an option, with the value that it takes."""
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
        yield nodes.literal(name, name)
        return
    for number, name in enumerate([*parameter.opts, *parameter.secondary_opts]):
        if number:
            yield nodes.Text(", ")
        yield nodes.literal(name, name)
    if not getattr(parameter, "is_flag", False):
        value = parameter.metavar or parameter.opts[0].lstrip("-").replace("-", "_").upper()
        yield nodes.Text(" ")
        yield nodes.emphasis(value, value)


def _help(parameter: Any) -> Iterator[nodes.Node]:
    yield from _text(getattr(parameter, "help", "") or "")
    default = parameter.default
    if getattr(parameter, "show_default", False) and isinstance(default, str | int | float) and default is not False:
        yield nodes.Text(f" Default: {default}.")


def _text(text: str) -> Iterator[nodes.Node]:
    """Plain text; options and quoted code as literals, defaults as a sentence."""
    text = re.sub(r"\s*\\?\[default: ([^]]+)\]", r" Default: \1.", " ".join(text.split()))
    for part in re.split(r"(`[^`]+`|(?<![\w-])--[a-z][\w-]*)", text):
        if part.startswith(("`", "--")):
            yield nodes.literal(part, part.strip("`"))
        elif part:
            yield nodes.Text(part)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the directive known to Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

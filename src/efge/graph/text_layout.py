"""The layout of an edge list, from its first lines: delimiter, header and columns; or what to do if it is not clear."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from efge.errors import GraphError, warn_user
from efge.graph.columns import (
    Columns,
    Head,
    count_columns,
    explain_ambiguity,
    is_number,
    pair_by_name,
    suggest_columns,
    warn_unread,
)
from efge.graph.kinds import are_column_names
from efge.graph.text_lines import WHITESPACE, Line
from efge.graph.text_numbers import NumberFormat

_SEPARATORS = {WHITESPACE: "white space", ord("\t"): "tab", ord(","): "comma", ord(";"): "semicolon"}
# What may stand between the two nodes of an edge.
_ARROWS = ("->", "-->", "=>", "<->", "--", "-", "→")

# The beginning of a file by which columns are proposed.
_SAMPLED_BYTES, _SAMPLED_ROWS = 1 << 16, 200

# How texts begin that are graphs, but no tables, and how to read them.
_OTHER_FORMATS = {
    r"<[^>]*>?[^\0]{0,2000}<graphml\b|<graphml\b": "GraphML, so pass format='graphml' (--format graphml)",
    r"<[^>]*>?[^\0]{0,2000}<gexf\b|<gexf\b": "GEXF, so pass networkx.read_gexf(file) to efge.as_graph",
    r"<(\?xml|!doctype|!--|html|svg|rdf:)": "XML or HTML, and no table of edges",
    r"(strict\s+)?(di)?graph\b[^\[\n]*\{": "DOT, so pass networkx.nx_pydot.read_dot(file) to efge.as_graph",
    r"(creator\b.*\s+)?(version\b.*\s+)?graph\s*\[": "GML, so pass format='gml' (--format gml)",
    r"\*(vertices|network)\b": "Pajek, so pass format='pajek' (--format pajek)",
    r"%%matrixmarket\b": "Matrix Market, so pass format='mtx' (--format mtx)",
    r"@(prefix|base)\b": "RDF in Turtle, so pass pairs of subject and object to efge.as_graph",
}


def explain_archive(label: str) -> str:
    """Say what a ZIP archive in place of a text probably is, and how to read it.

    Examples
    --------
    >>> explain_archive("edges.zip")
    'edges.zip: this is a ZIP archive; extract the graph from it first'
    """
    if Path(label).suffix.lower() in (".xlsx", ".xlsm", ".ods"):
        how = "save its sheet as CSV, or pass pandas.read_excel(file) to efge.as_graph"
        return f"{label}: this is a spreadsheet; {how}"
    return f"{label}: this is a ZIP archive; extract the graph from it first"


class TextFormat(NamedTuple):
    """The format of a table; None means to detect it from the first lines."""

    delimiter: str | None = None
    header: bool | None = None
    numbers: NumberFormat = NumberFormat()
    skip_bad: bool = False


class Layout(NamedTuple):
    """The delimiter and the columns of an edge list."""

    delimiter: int
    fields: int
    header: bool
    source: int
    target: int
    weight: int | None

    def describe(self, first: Line, text_format: TextFormat, columns: Columns) -> dict[str, str]:
        """Return what was guessed, in words."""
        names = first.fields(self.delimiter)
        shown = [names[number] if self.header else str(number) for number in (self.source, self.target)]
        weight = "" if self.weight is None else f", weights in {names[self.weight] if self.header else self.weight}"
        guesses = {
            "separator": _SEPARATORS.get(self.delimiter, repr(chr(self.delimiter & 0x7F))),
            "header": f"yes: {', '.join(names[:10])}" if self.header else "no",
            "columns": f"{' and '.join(shown)}{weight}",
        }
        given = {
            "separator": text_format.delimiter,
            "header": text_format.header,
            "columns": columns.source,
        }
        return {name: text for name, text in guesses.items() if given[name] is None}

    def end_names(self, first: Line) -> tuple[str, str] | None:
        """Return the names of the source and target columns; None without a header."""
        names = first.fields(self.delimiter)
        return (names[self.source].strip(), names[self.target].strip()) if self.header else None

    @property
    def has_quotes(self) -> bool:
        """Whether a quote at the beginning of a field is a mark; tabs and blanks often separate words as they are."""
        return self.delimiter not in (WHITESPACE, ord("\t"))

    @property
    def is_plain(self) -> bool:
        """Whether a line is two names and nothing else."""
        return (self.fields, self.source, self.target, self.weight) == (2, 0, 1, None)


def refuse_other_formats(label: str, sample: bytes) -> None:
    """Raise a GraphError if a text begins as one that is no table of edges."""
    beginning = sample[:4000].decode("utf-8", "replace").lstrip()
    kind = next((kind for rule, kind in _OTHER_FORMATS.items() if re.match(rule, beginning, re.IGNORECASE)), None)
    if kind is not None:
        raise GraphError(f"{label}: this file is {kind}")


def find_table(lines: list[Line], requested: str | None) -> int:
    """Return the number of lines at the beginning that have other fields than all below them, such as a title; or 0.

    The lines are some of the first ones of a file.
    """
    beginning = lines[0].text.decode("utf-8", "replace").strip()[:1] if lines else ""
    if beginning in ("", "{", "[", "<"):
        return 0
    delimiters = [choose_delimiter(lines[0], requested, range(2, 1 << 31))]
    delimiters += [] if requested is not None else [*b"\t;,", WHITESPACE]
    for delimiter in delimiters:
        widths = [_count_filled(line.fields(delimiter)) for line in lines]
        equal = len(list(next(groupby(reversed(widths)))[1]))
        above = set(widths[:-equal])
        if widths[-1] > 1 and not above:
            return 0
        if widths[-1] > 1 and widths[-1] not in above and (above == {1} or equal > 1):
            return len(widths) - equal
    return 0


def _count_filled(fields: list[str]) -> int:
    """Return the number of fields of a line; one if all but the first are empty, as in the title of a spreadsheet."""
    return len(fields) if any(fields[1:]) or not fields[0] else 1


def explain_title(lines: list[Line], count: int) -> str:
    """Say that the first lines do not belong to the table below them."""
    text = lines[0].text.decode("utf-8", "replace").strip().rstrip(",;\t")
    return f"{lines[0].place}: {text[:80]!r} has other fields than line {lines[count].number} and those below it"


def detect_layout(head: list[Line], sample: bytes, text_format: TextFormat, columns: Columns) -> Layout:
    """Return the layout of an edge list with these first lines; raise a GraphError if it is not clear.

    The sample is the beginning of the file, with these lines.
    """
    place = head[0].place
    likely = range(2, 4) if columns.source is None else range(2, 1 << 31)
    delimiter = choose_delimiter(head[0], text_format.delimiter, likely)
    first = head[0].fields(delimiter)
    second = head[1].fields(delimiter) if len(head) > 1 else []
    header = text_format.header
    if header is None:
        header = columns.are_named or (delimiter != WHITESPACE and _looks_like_header(first, second))
        if not header and delimiter != WHITESPACE and _is_unlike_nodes(first, second, sample):
            header = True
            what = f"{first[0]!r} and {first[1]!r} were read as names of columns"
            warn_user(f"{place}: {what}; if they are nodes, pass header=False (--no-header) to efge.as_graph")
    if len(first) < 2 or _is_json(head[0].text):
        hint = _explain_content(first) or _suggest_delimiter(head[0].text)
        raise GraphError(f"{place}: an edge has two node names; got {len(first)} field{hint}")
    if len(first) > 2 and columns.source is None and first[1] in _ARROWS:
        how = "pass source=0, target=2 (--source 0 --target 2)"
        raise GraphError(f"{place}: the second field is {first[1]!r} and names no node; {how}")
    is_pivot = text_format.header is None and delimiter != WHITESPACE and _is_pivot(first, second)
    if (
        (len(first) > 3 or (len(first) == 3 and is_pivot))
        and columns.source is None
        and not (header and pair_by_name(first))
    ):
        rows = _sample_rows(sample, delimiter)
        raise GraphError(f"{place}: {_explain_fields(first, second, rows, header, text_format.header)}")
    try:
        rows = _sample_rows(sample, delimiter) if len(first) == 3 else []
        choice = columns.choose(Head(first if header else (), second if header else first, rows), len(first))
    except GraphError as error:
        raise GraphError(f"{place}: {error}") from None
    if header:
        warn_unread(f"{place}: ", choice.unread)
    return Layout(delimiter, len(first), header, *choice[:3])


def _sample_rows(sample: bytes, delimiter: int) -> list[list[str]]:
    """Return the fields of the first lines, except the very first, roughly split: they only support a proposal."""
    lines = sample[:_SAMPLED_BYTES].decode("utf-8", "replace").splitlines()[1:_SAMPLED_ROWS]
    return [line.split(None if delimiter == WHITESPACE else chr(delimiter)) for line in lines]


def _explain_fields(
    first: list[str], second: list[str], rows: list[list[str]], header: bool, requested: bool | None
) -> str:
    """Explain that a line has too many fields, and which options would choose among them."""
    named = [field.strip() for field in first]
    if named[-1] == "." and named[1].startswith("<"):
        return "this looks like N-Triples; choose subject and object, as source=0, target=2 (--source 0 --target 2)"
    if len(second) == len(first) and named[1:2] == second[:1] and not is_number(named[1]):
        what = "this looks like an adjacency matrix with names"
        return f"{what}; pass pandas.read_csv(file, index_col=0) to efge.as_graph, or write it as a list of edges"
    kinds = "if rows and columns are two kinds of nodes, pass pandas.read_csv(file, index_col=0) to efge.as_graph, with"
    if header and not is_number(second[0]) and all(map(is_number, second[1:])):
        return f"{explain_ambiguity(Head(named, second, rows), len(first))}; {kinds} bipartite=True"
    if _is_pivot(first, second):
        choices = f"if the first line is an edge, choose columns, {suggest_columns(Head((), first), len(first))}"
        return f"{count_columns(named, len(first))}; {kinds} bipartite=True; {choices}"
    hint = _explain_content(first)
    if hint:
        return f"an edge has two node names and at most a weight; got {len(first)} fields{hint}"
    if header or requested is not None or any(map(is_number, first)):
        return explain_ambiguity(Head(named if header else (), second if header else first, rows), len(first))
    by_number, by_name = (
        suggest_columns(head, len(first)) for head in (Head((), first, rows), Head(named, second, rows))
    )
    choices = f"choose them, {by_number}; or, if the first line names the columns, {by_name}, in efge.as_graph"
    return f"{count_columns(named, len(first))}; {choices}"


def _is_pivot(first: list[str], second: list[str]) -> bool:
    """Whether two lines are a word and numbers above numbers: items that users below them have rated, if no edge."""
    numbers = [*first[1:], *second]
    return len(first) == len(second) and not is_number(first[0]) and all(map(is_number, numbers))


def _suggest_delimiter(line: bytes) -> str:
    """Say how to split a line of one field at a common mark; an empty text if there is none."""
    found = next((mark for mark in ("|", ",", ";", "\t", ":") if mark.encode() in line.strip()), None)
    return (
        ""
        if found is None
        else f"; if {found!r} separates the fields, pass delimiter={found!r} (--delimiter '{found}')"
    )


def _is_json(line: bytes) -> bool:
    """Whether a line is an object or a list in JSON, and not names."""
    text = line.strip().rstrip(b",")
    return bool(re.fullmatch(rb'\{\s*".*|\[\s*[\[{].*|\[.*\]', text))


def _explain_content(fields: list[str]) -> str:
    """Say how to read JSON, or attributes in braces, that is no list of edges; an empty text for other content."""
    if fields and fields[0].startswith(("{", "[")):
        return "; this looks like JSON, so pass format='json', or 'jsonl' for one object per line (--format json)"
    if any(field.startswith("{") for field in fields):
        return "; for attributes in braces, write the file again with networkx.write_weighted_edgelist"
    return ""


def choose_delimiter(line: Line, requested: str | None, likely: range) -> int:
    """Return the requested delimiter; otherwise a tab, semicolon or comma that gives a likely number of fields."""
    if requested in (" ", "whitespace"):
        return WHITESPACE
    if requested is not None:
        if len(requested) != 1 or not requested.isascii() or requested in '\n\r"':
            raise GraphError(f"{line.label}: a delimiter is one ASCII character or 'whitespace'; got {requested!r}")
        return ord(requested)
    for delimiter in b"\t;,":
        fields = line.fields(delimiter) if delimiter in line.text else []
        is_certain = delimiter == ord("\t") or ".csv" in line.label.lower() or pair_by_name(fields) is not None
        if len(fields) in likely or (is_certain and len(fields) > 1):
            return delimiter
    return WHITESPACE


def _looks_like_header(first: list[str], second: list[str]) -> bool:
    """Whether the first line has known column names, or words above numbers."""
    if pair_by_name(first) is not None:
        return True
    if len(second) != len(first) or any(map(is_number, first)):
        return False
    return all(map(_is_integer, second[:2])) or (len(second) > 2 and any(map(is_number, second)))


def _is_unlike_nodes(first: list[str], second: list[str], sample: bytes) -> bool:
    """Whether the first line has two names of columns, and the sample no name like them: a wrong guess drops an edge.

    Beside gene_a and gene_b, a node is like them that is called gene, gene_c or gene7.
    """
    first = [field.strip() for field in first]
    if len(first) != 2 or len(second) != 2 or not are_column_names(*first) or are_column_names(*second):
        return False
    stems = "|".join(re.sub("([A-Z]?[a-z]+|[A-Z]+).*", r"\1", field) for field in first)
    similar = rf"(?<!\w)((?:{stems})(?:[ _-]?\d+|[ _-]\w+|[A-Z])?|{'|'.join(map(re.escape, first))})(?!\w)"
    return len(re.findall(similar, sample.decode("utf-8", "replace"))) == 2


def _is_integer(field: str) -> bool:
    return field.lstrip("-").isdigit()

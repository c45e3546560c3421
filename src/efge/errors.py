"""What can be wrong with what a user gives us."""


class GraphError(ValueError):
    """Input that is not a graph, or not the graph it says it is; the message names the place and the rule.

    Examples
    --------
    >>> import efge
    >>> try:
    ...     efge.as_graph([("a", "b", -1)])
    ... except efge.GraphError as error:
    ...     print(error)
    edge 0 ('a', 'b'): a weight is finite and positive; got -1.0
    """

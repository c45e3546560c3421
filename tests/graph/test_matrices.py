"""Matrix Market files are read like SciPy reads them, and invalid ones are errors."""

from __future__ import annotations

import io

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import efge
from efge.graph.matrices import read_matrix_market
from efge.graph.text_lines import TextSource

MARKET = "%%MatrixMarket matrix "


@pytest.mark.filterwarnings("ignore:The default value for `spmatrix`:DeprecationWarning")
@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        ("coordinate real general", "3 3 3\n1 2 2.5\n2 3 -1e-3\n3 3 4\n", [[0, 2.5, 0], [0, 0, -1e-3], [0, 0, 4]]),
        ("coordinate Pattern SYMMETRIC", "% c\n\n3 3 2\n2 1\n3 3\n", [[0, 1, 0], [1, 0, 0], [0, 0, 1]]),
        ("coordinate integer skew-symmetric", "2 2 1\n2 1 7\n", [[0, -7], [7, 0]]),
        ("array real general", "2 2\n1\n2\n3\n4\n", [[1, 3], [2, 4]]),
        ("array real symmetric", "3 3\n1\n2\n3\n4\n5\n6\n", [[1, 2, 3], [2, 4, 5], [3, 5, 6]]),
        ("array integer skew-symmetric", "2 2\n7\n", [[0, -7], [7, 0]]),
    ],
)
def test_matrix_market_is_read_like_scipy_reads_it(write, header, body, expected):
    data = f"{MARKET}{header}\n{body}".encode()
    ours = read_matrix_market(TextSource(io.BytesIO(data), "a.mtx")).toarray()
    theirs = scipy.io.mmread(io.BytesIO(data))
    assert ours.tolist() == expected
    assert np.array_equal(ours, theirs.toarray() if scipy.sparse.issparse(theirs) else theirs)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("array real general\n2 2\n1\n2\n3\n", "has 4 values; got 3"),
        ("array real general\n2 2\n1\n2\n3\n4e", "line 6: a value is a number; got '4e'"),
        ("coordinate real general\n2 2 1\n1 3 1\n", "the entries are within the matrix of 2 x 2"),
        ("coordinate real general\n2 2 1\n1 2\n", "line 3: an entry has a row, a column and a value"),
        ("coordinate complex general\n2 2 1\n1 2 1 0\n", "real numbers; got complex ones"),
        ("coordinate real general\n2 2 2\n1 2 1\n", "the line of sizes announces 2 entries; got 1"),
        ("coordinate real general\n", "a matrix has a line of sizes; the file ends before it"),
        ("vector real general\n2 2 1\n1 2 1\n", "a layout is coordinate or array"),
    ],
)  # fmt: skip
def test_an_invalid_matrix_market_file_is_an_error(write, content, message):
    with pytest.raises(efge.GraphError, match=message):
        efge.read_graph(write("a.mtx", MARKET + content))

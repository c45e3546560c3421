"""Published networks by name, from a folder, the cache or their publisher.

In comes the name of a data set; out comes its graph and labels, checked against known counts and fingerprints. May
import errors, io and graph.

Examples
--------
>>> from efge.datasets import DATASETS
>>> [name for name, info in DATASETS.items() if info.multilabel]
['blogcatalog', 'ppi', 'wikipedia']
"""

from efge.datasets.catalogue import DATASETS, DatasetError, DatasetInfo
from efge.datasets.loading import Dataset, load_dataset

__all__ = ["DATASETS", "Dataset", "DatasetError", "DatasetInfo", "load_dataset"]

"""Published networks by name: from a folder, the cache or their publisher, and checked against what is known.

Examples
--------
>>> from efge.datasets import DATASETS
>>> [name for name, known in DATASETS.items() if known.multilabel]
['blogcatalog', 'ppi', 'wikipedia']
"""

from efge.datasets.catalogue import DATASETS, DatasetError, DatasetInfo
from efge.datasets.loading import Dataset, load_dataset

__all__ = ["DATASETS", "Dataset", "DatasetError", "DatasetInfo", "load_dataset"]

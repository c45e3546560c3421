"""The catalogue of data sets: where each is published, its counts, and whom to cite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from efge.errors import InputError


class DatasetError(InputError):
    """Raised if a data set is unknown, cannot be downloaded, or differs from the published one.

    Examples
    --------
    >>> from efge.datasets import DatasetError, load_dataset
    >>> try:
    ...     load_dataset("karate")
    ... except DatasetError as error:
    ...     print(error)
    no data set 'karate'; known: citeseer, cora, dblp, ...
    """


@dataclass(frozen=True)
class DatasetInfo:
    """Description of a data set, available without downloading it.

    Attributes
    ----------
    about : str
        What the nodes, edges and classes are.
    nodes, edges, self_loops, classes : int
        Counts; the edges include self-loops.
    components : int or None
        Number of connected components; None if it was never published.
    publisher, addresses : str, tuple of str
        Who publishes the file, and the addresses to try, the most likely first.
    reader : str
        Name of the reader of the publisher's file.
    citation : str
        Whom to cite.
    class_names : mapping of int to str
        Names of the classes, if the publisher's file has only their numbers.
    labels_published : bool
        Whether the publisher's file has the classes.
    multilabel, weighted : bool
        Whether a node can have several classes, and whether edges have weights.
    largest_component : bool
        Whether the data set is the largest component of the published graph.
    fingerprint, label_fingerprint : str or None
        Hashes of the graph and of the labels; None if they are not known yet.
    structure : str or None
        Hash of the graph and the labels without numbers and names, from another distributor's files; None if it is not
        known.

    Examples
    --------
    >>> from efge.datasets import DATASETS
    >>> info = DATASETS["dolphins"]
    >>> info.nodes, info.edges, info.file_name
    (62, 159, 'dolphins.zip')
    """

    about: str
    nodes: int
    edges: int
    publisher: str
    addresses: tuple[str, ...]
    reader: str
    citation: str
    self_loops: int = 0
    components: int | None = 1
    classes: int = 0
    class_names: Mapping[int, str] = field(default_factory=dict)
    labels_published: bool = True
    multilabel: bool = False
    weighted: bool = False
    largest_component: bool = False
    fingerprint: str | None = None
    label_fingerprint: str | None = None
    structure: str | None = None

    @property
    def file_name(self) -> str:
        """Name of the publisher's file."""
        return self.addresses[0].rpartition("/")[2]


_SNAP = "SNAP, Stanford University"
_LINQS = "LINQS, University of California, Santa Cruz"
_HARP = "the authors of HARP"
_NODE2VEC = "the authors of node2vec"

# The commit that added the files, then the current state of the branch.
_HARP_FILES = (
    "https://raw.githubusercontent.com/GTmac/HARP/71e3a97d23f64fecb23b7f58a614151ba15630c0/example_graphs/",
    "https://raw.githubusercontent.com/GTmac/HARP/master/example_graphs/",
)

_SEN = (
    "P. Sen, G. Namata, M. Bilgic, L. Getoor, B. Gallagher and T. Eliassi-Rad, Collective classification in network "
    "data, AI Magazine 29(3), 2008"
)
_CHEN = (
    "H. Chen, B. Perozzi, Y. Hu and S. Skiena, HARP: hierarchical representation learning for networks, AAAI 2018; "
    "the file comes with its code"
)
_LESKOVEC = (
    "J. Leskovec, J. Kleinberg and C. Faloutsos, Graph evolution: densification and shrinking diameters, ACM "
    "Transactions on Knowledge Discovery from Data 1(1), 2007; the file is SNAP's"
)
_GROVER = (
    "A. Grover and J. Leskovec, node2vec: scalable feature learning for networks, KDD 2016; the file is on its web page"
)

DATASETS: Mapping[str, DatasetInfo] = {
    "citeseer": DatasetInfo(
        about="papers and their citations; a class is a field of computer science",
        nodes=3312,
        edges=4660,
        self_loops=124,
        components=438,
        classes=6,
        publisher=_HARP,
        addresses=tuple(f"{base}citeseer/citeseer.mat" for base in _HARP_FILES),
        reader="matrix",
        citation=f"{_SEN}; and {_CHEN}",
        fingerprint="8387e562717ef20b8a1c249956b01a4c8a6c5e50fa13e192ae3bc9d1e481e9cc",
        label_fingerprint="2784d9962118d93ffeb1f4263a793697773f0089c91273c3b69d54216bd9d3d9",
    ),
    "cora": DatasetInfo(
        about="papers on machine learning and their citations; a class is a topic",
        nodes=2708,
        edges=5278,
        components=78,
        classes=7,
        publisher=_LINQS,
        addresses=("https://linqs-data.soe.ucsc.edu/public/lbc/cora.tgz",),
        reader="cora",
        citation=f"{_SEN}; the file is LINQS's",
        fingerprint="b7c88bc08c51fe62fa12eeea417df78a2ac2a32e65f32a67679b537644cbd2a4",
        label_fingerprint="cbede9d39ba4844131fad88681b109d50241fa39c9be0003d76c7a196909b85a",
    ),
    "dblp": DatasetInfo(
        about="authors linked by joint papers; a class is an author's main field",
        nodes=27199,
        edges=66832,
        components=2115,
        classes=4,
        class_names={0: "DB", 1: "DM", 2: "IR", 3: "ML"},
        publisher=_HARP,
        addresses=tuple(f"{base}dblp/dblp.mat" for base in _HARP_FILES),
        reader="matrix",
        citation=_CHEN,
        fingerprint="b732656f0cc8162fae965f0aa9a75059adc4ec6cf66bb05a05d63470176e9fca",
        label_fingerprint="525bbef3981b4ea38227fc57999d32a17782d16b11b14328cbf592d3ad067770",
    ),
    "astroph": DatasetInfo(
        about="authors linked by joint preprints on astrophysics; the largest component",
        nodes=17903,
        edges=197031,
        self_loops=59,
        publisher=_SNAP,
        addresses=("https://snap.stanford.edu/data/ca-AstroPh.txt.gz",),
        reader="edges",
        largest_component=True,
        citation=_LESKOVEC,
        fingerprint="17aa03c5b19e658ca13c419a62c659096adae0c8287cad4d6774007f926ecb20",
    ),
    "hepth": DatasetInfo(
        about="authors linked by joint preprints on high energy physics; the largest component",
        nodes=8638,
        edges=24827,
        self_loops=21,
        publisher=_SNAP,
        addresses=("https://snap.stanford.edu/data/ca-HepTh.txt.gz",),
        reader="edges",
        largest_component=True,
        citation=_LESKOVEC,
        fingerprint="fff828de81dc887e8e60ece316184a7b0d65a1e3f2d1b2624400bfa805f31960",
    ),
    "facebook": DatasetInfo(
        about="people and their friendships, from the ego networks of ten of them",
        nodes=4039,
        edges=88234,
        publisher=_SNAP,
        addresses=("https://snap.stanford.edu/data/facebook_combined.txt.gz",),
        reader="edges",
        citation="J. McAuley and J. Leskovec, Learning to discover social circles in ego networks, NIPS 2012; the file "
        "is SNAP's",
        fingerprint="48d6079a2061f64e5f40531acd5c76c8d5d9f122ad5fce67ebdcdb9c63ce2456",
    ),
    "grqc": DatasetInfo(
        about="authors linked by joint preprints on general relativity; the largest component",
        nodes=4158,
        edges=13428,
        self_loops=6,
        publisher=_SNAP,
        addresses=("https://snap.stanford.edu/data/ca-GrQc.txt.gz",),
        reader="edges",
        largest_component=True,
        citation=_LESKOVEC,
        fingerprint="5cfefee69c3c3b73d691f14a32e67b56b956e0afdff3a5de492ed45928b5abe7",
    ),
    "dolphins": DatasetInfo(
        about="dolphins of Doubtful Sound, linked if they are often seen together; a class is a community",
        nodes=62,
        edges=159,
        classes=2,
        publisher="M. Newman, University of Michigan",
        addresses=(
            "https://public.websites.umich.edu/~mejn/netdata/dolphins.zip",
            "https://websites.umich.edu/~mejn/netdata/dolphins.zip",
        ),
        reader="gml",
        citation="D. Lusseau, K. Schneider, O. J. Boisseau, P. Haase, E. Slooten and S. M. Dawson, The bottlenose "
        "dolphin community of Doubtful Sound features a large proportion of long-lasting associations, Behavioral "
        "Ecology and Sociobiology 54, 2003; the file is M. Newman's, without the communities: labels are None unless "
        "your own folder has them",
        labels_published=False,
        fingerprint="3b2676cc280c5633f6b25a147847945e06fdf1cc71dde1f91748b34e03ddc2a7",
        label_fingerprint="04ecc3a9b503317d29d3f22cbb12af4adec2ae15c5724c2d5054cff0d61728f5",
    ),
    "blogcatalog": DatasetInfo(
        about="bloggers and their friendships; a class is an interest, and a blogger has one or more",
        nodes=10312,
        edges=333983,
        classes=39,
        multilabel=True,
        publisher="Social Computing Data Repository, Arizona State University",
        addresses=(
            "https://datasets.syr.edu/uploads/1283153973/BlogCatalog-dataset.zip",
            "https://socialcomputing.asu.edu/uploads/1283153973/BlogCatalog-dataset.zip",
        ),
        reader="blogcatalog",
        citation="L. Tang and H. Liu, Relational learning via latent social dimensions, KDD 2009; the file is from the "
        "Social Computing Data Repository of R. Zafarani and H. Liu, 2009",
    ),
    "ppi": DatasetInfo(
        about="human proteins and their interactions; a class is a biological state, and a protein may have several",
        nodes=3890,
        edges=38739,
        self_loops=894,
        components=35,
        classes=50,
        multilabel=True,
        publisher=_NODE2VEC,
        addresses=("https://snap.stanford.edu/node2vec/Homo_sapiens.mat",),
        reader="matrix",
        citation=f"{_GROVER}; the interactions are BioGRID's: B.-J. Breitkreutz and others, Nucleic Acids "
        "Research 36, 2008",
        structure="ca48c605a1fab119b7070d16927108dfe29be670961fd677c1ec13cdcdfb7654",
    ),
    "wikipedia": DatasetInfo(
        about="words of Wikipedia, linked if they occur together, weighted by how often; a class is a part of speech",
        nodes=4777,
        edges=92517,
        self_loops=222,
        components=None,
        classes=40,
        multilabel=True,
        weighted=True,
        publisher=_NODE2VEC,
        addresses=("https://snap.stanford.edu/node2vec/POS.mat",),
        reader="matrix",
        citation=f"{_GROVER}; the text is from M. Mahoney's Large Text Compression Benchmark",
    ),
    "pubmed": DatasetInfo(
        about="papers on diabetes and their citations; a class is a type of diabetes",
        nodes=19717,
        edges=44327,
        self_loops=3,
        classes=3,
        class_names={
            1: "Diabetes Mellitus, Experimental",
            2: "Diabetes Mellitus Type 1",
            3: "Diabetes Mellitus Type 2",
        },
        publisher=_LINQS,
        addresses=("https://linqs-data.soe.ucsc.edu/public/Pubmed-Diabetes.tgz",),
        reader="pubmed",
        citation="G. Namata, B. London, L. Getoor and B. Huang, Query-driven active surveying for collective "
        "classification, Workshop on Mining and Learning with Graphs 2012; the file is LINQS's",
        structure="e0e5f04ca06672612c545d17db86245a79d1b044db5345adb6d5dd991cf148d9",
    ),
}

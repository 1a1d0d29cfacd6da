"""The data sets that are known by name: where they come from, what their files are, and what must be in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from mjfl.learning.data.errors import DataError

BUNDLED = "digits"


@dataclass(frozen=True)
class Entry:
    """One data set. Files are named as their authors name them, decompressed; so are their sha256 sums."""

    name: str
    source: str
    kind: Literal["idx", "cifar"]
    train_files: tuple[str, ...]  # idx: images, labels
    test_files: tuple[str, ...]
    shape: tuple[int, int, int]
    classes: int
    train: int  # images in the official files
    test: int
    mirrors: tuple[str, ...]  # the official address first
    downloads: tuple[str, ...]  # what to get from one of them
    sha256: Mapping[str, str] | None = None  # None: the authors publish none, so the sums at import are kept
    first_label: int = 0
    transposed: bool = False  # are rows and columns of the images exchanged?

    @property
    def files(self) -> tuple[str, ...]:
        return self.train_files + self.test_files


def names() -> list[str]:
    """All names, scikit-learn's digits first."""
    return [BUNDLED, *ENTRIES]


def entry(name: str) -> Entry:
    """The entry of a name that stands for official files."""
    if name in ENTRIES:
        return ENTRIES[name]
    if name == BUNDLED:
        raise DataError(name, "comes with scikit-learn; there are no files to get, import or verify")
    close = get_close_matches(name, names(), n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names())}, or a path to .npz"
    raise DataError(name, f"is no data set; {hint}")


_MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
_CIFAR_FILES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")


def _mnist(name: str, source: str, mirrors: tuple[str, ...], sums: tuple[str, str, str, str]) -> Entry:
    return Entry(
        name,
        source,
        "idx",
        _MNIST_FILES[:2],
        _MNIST_FILES[2:],
        (1, 28, 28),
        classes=10,
        train=60_000,
        test=10_000,
        mirrors=mirrors,
        downloads=tuple(f"{file}.gz" for file in _MNIST_FILES),
        sha256=dict(zip(_MNIST_FILES, sums, strict=True)),
    )


def _emnist(part: str, classes: int, first_label: int, train: int, test: int) -> Entry:
    train_files, test_files = (
        (f"emnist-{part}-{half}-images-idx3-ubyte", f"emnist-{part}-{half}-labels-idx1-ubyte")
        for half in ("train", "test")
    )
    return Entry(
        f"emnist-{part}",
        "Cohen, Afshar, Tapson, van Schaik, EMNIST: extending MNIST to handwritten letters, 2017",
        "idx",
        train_files,
        test_files,
        (1, 28, 28),
        classes,
        train,
        test,
        mirrors=("https://biometrics.nist.gov/cs_links/EMNIST/", "https://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/"),
        downloads=("gzip.zip",),
        first_label=first_label,
        transposed=True,
    )


ENTRIES: Mapping[str, Entry] = {
    each.name: each
    for each in (
        _mnist(
            "mnist",
            "LeCun, Cortes, Burges, The MNIST database of handwritten digits, 1998",
            ("http://yann.lecun.com/exdb/mnist/", "https://ossci-datasets.s3.amazonaws.com/mnist/"),
            (
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
        ),
        _mnist(
            "fashion-mnist",
            "Xiao, Rasul, Vollgraf, Fashion-MNIST, 2017",
            ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
            (
                "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            ),
        ),
        _emnist("letters", 26, 1, 124_800, 20_800),
        _emnist("digits", 10, 0, 240_000, 40_000),
        Entry(
            "cifar-10",
            "Krizhevsky, Learning multiple layers of features from tiny images, 2009",
            "cifar",
            _CIFAR_FILES[:5],
            _CIFAR_FILES[5:],
            (3, 32, 32),
            classes=10,
            train=50_000,
            test=10_000,
            mirrors=("https://www.cs.toronto.edu/~kriz/",),
            downloads=("cifar-10-binary.tar.gz",),
            sha256=dict(
                zip(
                    _CIFAR_FILES,
                    (
                        "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
                        "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
                        "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
                        "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
                        "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
                        "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
                    ),
                    strict=True,
                )
            ),
        ),
    )
}

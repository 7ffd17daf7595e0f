"""The registered data sets: descriptions, files, checksums and readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.readers.columns import Columns
from separatrix.readers.data_sets.download import File
from separatrix.readers.data_sets.iris_split import iris_split
from separatrix.readers.documents import read_class_files
from separatrix.readers.idx import read_idx_folder
from separatrix.readers.numpy_arrays import read_npy_folder
from separatrix.readers.separation import Origin, TableOptions, split_label
from separatrix.readers.source import LoadedTable
from separatrix.readers.svmlight import read_svmlight
from separatrix.readers.tables import read_table

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_UCI = "https://archive.ics.uci.edu/"
_ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
]
_A5A_FEATURES = 123  # the last feature does not occur in the file a5a


@dataclass(frozen=True)
class CatalogueEntry:
    """A registered data set: its description, its files, and their reader."""

    name: str
    about: str
    rows: int
    features: int
    classes: int
    split: str
    read: Callable[[list[Path]], LoadedTable]
    files: tuple[File, ...] = ()


def _from_scikit_learn(
    loader: str, *, words: bool = True, own: Callable[[], dict[str, list[int]]] | None = None
) -> Callable[[list[Path]], LoadedTable]:
    def read(_: list[Path]) -> LoadedTable:
        from sklearn import datasets

        found = getattr(datasets, loader)()
        y = found.target_names[found.target] if words else found.target
        names = [str(name) for name in found.feature_names]
        splits = own() if own else None
        return LoadedTable(found.data, np.asarray(y), names, [], own_splits=splits)

    return read


def _svmlight_pair(paths: list[Path]) -> LoadedTable:
    """Read a training file and a test file."""
    train, test = (read_svmlight(p, features=_A5A_FEATURES, zero_based=False) for p in paths)
    X = sp.vstack([train.X, test.X], format="csr")
    y, splits = np.concatenate([train.y, test.y]), _in_order(train.y, test.y)
    return LoadedTable(X, y, [], [], own_splits=splits)


def _idx(paths: list[Path]) -> LoadedTable:
    return read_idx_folder(_folder_of(paths))


def _arrays(paths: list[Path]) -> LoadedTable:
    return read_npy_folder(_folder_of(paths))


def _messages(paths: list[Path]) -> LoadedTable:
    table, y, _, notes = read_table(paths[0], header=False, delimiter="\t", label=0)
    return LoadedTable(_renamed(table, ["text"]), y, ["text"], notes)


def _reviews(paths: list[Path]) -> LoadedTable:
    return read_class_files(paths)


def _adult(paths: list[Path]) -> LoadedTable:
    options: dict[str, Any] = {"header": False, "delimiter": ",", "label": -1}
    train, test = (read_table(path, **options) for path in paths)
    tables = [_renamed(part.table, _ADULT_COLUMNS) for part in (train, test)]
    both = {name: np.concatenate([table[name] for table in tables]) for name in _ADULT_COLUMNS}
    both["income"] = np.concatenate([part.y for part in (train, test) if part.y is not None])
    loaded = split_label(Origin("adult"), both, TableOptions(label="income"))
    return replace(loaded, own_splits=_in_order(*tables))


def _renamed(table: Columns, new: list[str]) -> Columns:
    text = [name for name, old in zip(new, table) if table.kind(old) == "text"]
    return Columns({name: table[old] for name, old in zip(new, table)}, text=text)


def _in_order(train: Any, test: Any) -> dict[str, range]:
    return {"train": range(len(train)), "test": range(len(train), len(train) + len(test))}


def _folder_of(paths: list[Path]) -> Path:
    folders = {path.parent for path in paths}
    if len(folders) > 1:
        raise ValueError(
            f"All files must be in the same folder. Got {', '.join(map(str, sorted(folders)))} "
            "instead. Move them to one folder."
        )
    return folders.pop()


def _libsvm(name: str, sha256: str) -> File:
    return File(f"libsvm/{name}", sha256, _LIBSVM + name)


def _mnist(name: str, sha256: str) -> File:
    return File(f"mnist/{name}", sha256, _MNIST + name)


def _course(name: str, sums: str) -> tuple[File, ...]:
    files = [f"{part}_{role}.npy" for part in ("train", "val", "tst") for role in "xy"]
    return tuple(File(f"cs725/{name}/{f}", sha256) for f, sha256 in zip(files, sums.split()))


_OWN = "separate training and test files; validation is 10 % of the training rows"
_DRAWN = "80/10/10, stratified by label"
_COURSE = "separate training, validation and test files"

DATA_SETS = {
    data.name: data
    for data in [
        CatalogueEntry(
            "iris",
            "Iris flowers of three species, four measurements (Fisher 1936), from scikit-learn.",
            150,
            4,
            3,
            "100/25/25 rows, as in the course",
            _from_scikit_learn("load_iris", own=iris_split),
        ),
        CatalogueEntry(
            "wine",
            "Wines of three growers, thirteen measurements, from scikit-learn.",
            178,
            13,
            3,
            _DRAWN,
            _from_scikit_learn("load_wine"),
        ),
        CatalogueEntry(
            "breast-cancer",
            "Benign and malignant tumours, thirty measurements, from scikit-learn.",
            569,
            30,
            2,
            _DRAWN,
            _from_scikit_learn("load_breast_cancer"),
        ),
        CatalogueEntry(
            "digits",
            "Handwritten digits of 8 x 8 pixels, from scikit-learn.",
            1797,
            64,
            10,
            _DRAWN,
            _from_scikit_learn("load_digits", words=False),
        ),
        CatalogueEntry(
            "a5a",
            "Annual income above $50,000 or not, US census of 1994, 123 binary features.",
            32561,
            123,
            2,
            _OWN,
            _svmlight_pair,
            (
                _libsvm("a5a", "5cb3a6603de0a0eb43afcdd45b1820c71ee7f20da1c09f054696bb71cbc45ad8"),
                _libsvm(
                    "a5a.t", "9ddbc60c0a3c5a8249e51f663d7110c4050e40d67301640418e9f44186db1bd1"
                ),
            ),
        ),
        CatalogueEntry(
            "a9a",
            "The data of a5a with more training rows.",
            48842,
            123,
            2,
            _OWN,
            _svmlight_pair,
            (
                _libsvm("a9a", "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906"),
                _libsvm(
                    "a9a.t", "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9"
                ),
            ),
        ),
        CatalogueEntry(
            "mnist",
            "Handwritten digits of 28 x 28 pixels.",
            70000,
            784,
            10,
            _OWN,
            _idx,
            (
                _mnist(
                    "train-images-idx3-ubyte.gz",
                    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                ),
                _mnist(
                    "train-labels-idx1-ubyte.gz",
                    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                ),
                _mnist(
                    "t10k-images-idx3-ubyte.gz",
                    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                ),
                _mnist(
                    "t10k-labels-idx1-ubyte.gz",
                    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                ),
            ),
        ),
        CatalogueEntry(
            "sms-spam",
            "SMS messages, spam or ham (Almeida and Hidalgo 2011).",
            5574,
            1,
            2,
            _DRAWN,
            _messages,
            (
                File(
                    "text/sms.tsv",
                    "7d039a24a6083ed9ef0f806ebad56bbb976e3aeb8de05669173bfdc4996c239d",
                    _UCI + "static/public/228/sms+spam+collection.zip",
                    member="SMSSpamCollection",
                ),
            ),
        ),
        CatalogueEntry(
            "rt-polarity",
            "Sentences from film reviews, positive or negative (Pang and Lee 2005).",
            10662,
            1,
            2,
            _DRAWN,
            _reviews,
            (  # no address: the public archive has other line endings and tokens
                File(
                    "text/rt-polarity.pos",
                    "2da124ec187a9d5a29c9f04e91c540e02baed5af8868f550a26bd6fd4dbf8bf0",
                ),
                File(
                    "text/rt-polarity.neg",
                    "4ace77d558c3714723843f1d65b60c01e3417b208180f0728808d76ad0eeeaca",
                ),
            ),
        ),
        CatalogueEntry(
            "adult",
            "Annual income above $50,000 or not, US census of 1994, 14 mixed columns.",
            48842,
            14,
            2,
            _OWN,
            _adult,
            (
                File(
                    "adult/adult-train.csv",
                    "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                    _UCI + "ml/machine-learning-databases/adult/adult.data",
                ),
                File(
                    "adult/adult-test.csv",
                    "72567b94f5c1a6f8501377dd80f93892c3848ff071cf91ba47e00b0785a28074",
                    _UCI + "ml/machine-learning-databases/adult/adult.test",
                    skip_lines=1,
                ),
            ),
        ),
        CatalogueEntry(
            "cs725/iris",
            "The iris files of the course. The data set 'iris' has the same rows and no files.",
            150,
            4,
            3,
            _COURSE,
            _arrays,
            _course(
                "iris",
                "7f70bd883bd174f063cb5c708667bfa3da79fdf2b0df78a7dcc7ee0824f5b06f "
                "18f8f94256e298311f503e4b1886933981d599dc3b1e4b8d701ae288b8cbc497 "
                "8ab4a8f2c17571d0f603b8c48db89717f0ab0ccd13b6b9eda9fa237f4cbc375c "
                "23f10ce802c54195362780733780e894f39fa48a4a831bce0d36ffca2eb9e9d4 "
                "cc3de32b4d135a4d04bb987efd454417a35ee9384ae4f5ba757eb69ffa7daba4 "
                "8a19d51ed7004b0a0b650521dcaca62116b59a8e84337c187f069ed8280c1ac3",
            ),
        ),
        CatalogueEntry(
            "cs725/binary",
            "Two classes, two features, from a homework of the course.",
            300,
            2,
            2,
            _COURSE,
            _arrays,
            _course(
                "binary",
                "727677d06a858f8560e81ab2615e14fcea83d9dc9ff78a0c5e6035f903fc84f2 "
                "0e8c25713e4acb9fc204fe95e7d5a99f5d7376fddb1e861ae389323db6488153 "
                "2463a0612225f45a0371def95732013dedbc1f9469fd984dea937912da4d04ba "
                "3ecf55f4c6e4d304614448aa16cbc681c1022a0b9bb002502536ada95880918a "
                "0db83884d4a947ba0ae65b172c59a56404362094177269b8945ea8f222f34c5c "
                "7d664141403bf2f7dbb2dc0924cc5cf4441f0f6f97c09a87c2bce9e33c9a59cd",
            ),
        ),
    ]
}

"""Hostile files for the svmlight parser. Run it to try very many:

    python tests/support/fuzz_svmlight.py 1000000 [first seed]

Every file must give data that scikit-learn agrees with, or an error that names file and line. On a
disk, most of the time goes into writing the files: set TMPDIR to a folder in memory.
"""

import re
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from separatrix.readers.svmlight import read_svmlight

PIECES = [
    *[b"1", b"-1", b"0", b"+1", b"2.5", b"1:1", b"2:0.5", b"7:-1e-3", b"10:1", b"3:", b":4", b":"],
    *[b" ", b" ", b" ", b"\n", b"\n", b"\t", b"\r\n", b"\r", b"\v", b"\0", b"#", b"# x:1", b","],
    *[
        b"qid:3",
        b"qid:",
        b"qid",
        b"q",
        b"qid:99999999999999999999",
        b"1,2",
        b"nan",
        b"inf",
        b"-inf",
    ],
    *[b"1e400", b"1e-400", b"1e", b"e5", b".", b"-", b"+", b"--1", b"0x1p3", b"1_0", b"nan(1)"],
    *[b"1:nan", b"2:inf", b"9" * 25, b"9" * 25 + b":1", b"0" * 30 + b"5:1", b"2147483648:1"],
    *[
        b"1:" + b"1" * 400,
        b"1:0." + b"0" * 330 + b"1",
        b"8:9007199254740993",
        b"\xff",
        b"\xef\xbb\xbf",
    ],
    *[b"infinity", b"1:infinit", b"\xc3\xa9", b"1.5.2", b"4:5:6", b"999999999999999999:1", b"0:1"],
]
SENTENCE = re.compile(
    r", line [1-9][0-9]*: [^\n]+\.$"
    r"|^[^\n]+ has no rows\. [^\n]+\.$"
    r"|^[^\n]+ is UTF-16 text, [^\n]+\.$"
    r"|^[^\n]+ is compressed and damaged: [^\n]+\.$"  # some start like a compressed file
)


def hostile_files():
    """Valid and invalid pieces of rows in any order, valid files with changes, or random bytes."""
    pieces = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join)
    return pieces | st.binary(max_size=100) | st.builds(_damaged, st.integers(0, 2**32 - 1))


def _damaged(seed):
    return damaged(np.random.default_rng(seed))


def good_file(rng):
    """A few valid rows."""
    lines = []
    for _ in range(rng.integers(1, 6)):
        indices = np.cumsum(rng.integers(1, 5, rng.integers(0, 6)))
        lines.append(b"%d " % rng.integers(-1, 2))
        lines.append(b" ".join(b"%d:%.4g" % (j, rng.normal()) for j in indices) + b"\n")
    return b"".join(lines)


def damaged(rng):
    """A valid file with some bytes changed, removed or inserted, or with no change."""
    content = bytearray(good_file(rng))
    for _ in range(rng.integers(0, 4)):
        at = int(rng.integers(0, len(content) + 1))
        match rng.integers(0, 4):
            case 0:
                content[at : at + 1] = bytes([rng.integers(0, 256)])
            case 1:
                del content[at : at + int(rng.integers(1, 4))]
            case 2:
                content[at:at] = PIECES[rng.integers(0, len(PIECES))]
            case _:
                content = content[:at]
    return bytes(content)


def anything(rng):
    """One of the three kinds of hostile files, generated quickly."""
    match rng.integers(0, 3):
        case 0:
            chosen = rng.integers(0, len(PIECES), rng.integers(0, 30))
            return b"".join(PIECES[k] for k in chosen)
        case 1:
            return rng.bytes(int(rng.integers(0, 100)))
        case _:
            return damaged(rng)


def outcome(path, content):
    """Read a file: "data" if scikit-learn agrees, "sentence" for a clear error, else the error."""
    try:
        found = read_svmlight(path)
    except ValueError as error:
        said = str(error)
        return "sentence" if said.startswith(str(path)) and SENTENCE.search(said) else said
    X = type(found.X)(found.X, copy=True)  # drops the flags that the reader set about its order
    X.check_format(full_check=True)
    assert all(np.all(np.diff(row) > 0) for row in np.split(X.indices, X.indptr[1:-1]))
    assert len(found.y) == X.shape[0] <= content.count(b"\n") + 1
    assert X.nnz <= content.count(b":")
    if X.shape[1] < 2**31 and b"\0" not in content and not content.startswith(b"\xef\xbb\xbf"):
        theirs, y = load_svmlight_file(str(path))
        assert theirs.shape == X.shape
        assert np.array_equal(theirs.indices, X.indices)
        assert np.array_equal(theirs.indptr, X.indptr)
        assert np.array_equal(theirs.data, X.data, equal_nan=True)
        assert np.array_equal(y, found.y, equal_nan=True)
    return "data"


def main(cases, first=0):
    """Try `cases` files with seeds from `first`, and count the outcomes."""
    counts = Counter()
    start = time.perf_counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hostile.svm"
        for case in range(first, first + cases):
            content = anything(np.random.default_rng(case))
            path.write_bytes(content)
            began = time.perf_counter()
            try:
                came = outcome(path, content)
            except BaseException:
                print(f"case {case}: {content!r}", file=sys.stderr)
                raise
            if came not in ("data", "sentence"):
                sys.exit(f"case {case}: {content!r} gave {came}")
            counts[came] += 1
            slowest = max(slowest, time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{cases:,} files in {time.perf_counter() - start:.0f} s: {counts['data']:,} gave data, "
        f"{counts['sentence']:,} a sentence; the slowest took {slowest:.3f} s, "
        f"the process {peak:.0f} MiB at most."
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3] or ["10000"]))

"""Files in the svmlight format give the matrix of scikit-learn, or an error with file and line."""

import bz2
import gzip
import math
import re

import numpy as np
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from separatrix import get_threads, set_threads
from separatrix.readers.compression import size_limits
from separatrix.readers.svmlight import read_svmlight
from support.fuzz_svmlight import hostile_files, outcome

SMALL = b"1 1:0.5 3:-2\n-1 2:1e-3\n"


@pytest.fixture
def written(tmp_path):
    """Write the bytes of a file and return its path."""

    def write(content, name="rows.svm"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def same_matrix(ours, theirs):
    """Assert that shapes, indices and values are equal to the bit."""
    assert ours.shape == theirs.shape
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    np.testing.assert_array_equal(ours.indices, theirs.indices)
    assert ours.data.tobytes() == theirs.data.tobytes()


def same_as_scikit_learn(path, **options):
    ours = read_svmlight(path, **options)
    if "features" in options:
        options["n_features"] = options.pop("features")
    X, y = load_svmlight_file(str(path), **options)
    same_matrix(ours.X, X)
    assert ours.y.tobytes() == y.tobytes()
    return ours


@pytest.mark.data("libsvm/a5a", "libsvm/a5a.t", "libsvm/a9a", "libsvm/a9a.t")
@pytest.mark.parametrize("name", ["a5a", "a5a.t", "a9a", "a9a.t"])
def test_real_files_are_read_as_scikit_learn_reads_them(data_dir, name):
    found = same_as_scikit_learn(data_dir / "libsvm" / name, features=123)
    assert found.X.indices.dtype == found.X.indptr.dtype == np.int32
    assert found.first_index == 1


BLANKS = st.sampled_from([" ", "  ", "\t", " \t ", "\r", "\v", "\f"])
NUMBERS = st.one_of(
    st.floats().map(repr),
    st.floats(-1e3, 1e3).map(lambda x: f"{x:.4f}"),
    st.floats().map(lambda x: f"{x:+.17e}"),
    st.integers(-(10**30), 10**30).map(str),
    st.sampled_from(["1.", ".5", "-0", "1E5", "inf", "-Infinity", "NaN", "1e400", "-1e-400"]),
)


@st.composite
def files(draw):
    """Generate files that scikit-learn can read."""
    lines = []
    first = draw(st.integers(0, 1))
    for _ in range(draw(st.integers(1, 8))):
        words = [draw(NUMBERS)]
        if draw(st.booleans()):
            words.append(f"qid:{draw(st.integers(-5, 5))}")
        for index in sorted(draw(st.sets(st.integers(first, 2000), max_size=6))):
            words.append(f"{index:0{draw(st.integers(1, 5))}}:{draw(NUMBERS)}")
        line = draw(BLANKS).join(words)
        comment = draw(st.sampled_from(["", "#", " # 7:8 x", "# 1 2:3#"]))
        lines.append(draw(st.sampled_from(["", " ", "\t"])) + line + comment)
        lines += draw(st.lists(st.sampled_from(["", " ", "# 1 1:1", "\r"]), max_size=2))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode()


@given(files(), st.sampled_from([True, "auto"]))
@example(b"1\n", "auto")
@example(b"1 0:1\n2 5:0", "auto")
def test_generated_files_are_read_as_scikit_learn_reads_them(tmp_path_factory, content, zero_based):
    path = tmp_path_factory.getbasetemp() / "made.svm"
    path.write_bytes(content)
    same_as_scikit_learn(path, zero_based=zero_based)


@given(st.lists(st.floats() | st.floats(1e-310, 1e-300), min_size=1, max_size=5))
def test_numbers_come_back_bit_for_bit(tmp_path_factory, values):
    path = tmp_path_factory.getbasetemp() / "numbers.svm"
    path.write_text("".join(f"0 1:{x!r}\n0 1:{x:.25e}\n" for x in values))
    expected = [float(text) for x in values for text in (repr(x), f"{x:.25e}")]
    np.testing.assert_array_equal(read_svmlight(path).X.data, expected)


@given(st.integers(2**53, 2**54), st.integers(-330, 300), st.booleans())
def test_halfway_cases_round_as_python_does(tmp_path_factory, mantissa, power, more):
    """2m + 1 is halfway between two doubles; a digit far to the right decides."""
    path = tmp_path_factory.getbasetemp() / "halfway.svm"
    texts = [f"{2 * mantissa + 1}e{power}", f"{2 * mantissa + 1}.{'0' * 400}{int(more)}e{power}"]
    path.write_text("".join(f"{text} 1:{text}\n" for text in texts))
    found = read_svmlight(path)
    assert found.y.tolist() == found.X.data.tolist() == [float(text) for text in texts]


def test_numbers_beyond_the_type_are_infinite_or_zero(written):
    texts = ["1e309", "-1e309", "1e-400", "-1e-400", "0e999999999999999999999", "1e" + "9" * 30]
    texts += ["0." + "0" * 400 + "1", "0." + "0" * 400 + "1e800", "1" + "0" * 400, "1e-" + "9" * 30]
    path = written("".join(f"0 1:{text}\n" for text in texts).encode())
    expected = [float(text) for text in texts]
    assert read_svmlight(path).X.data.tolist() == expected
    assert np.array_equal(np.signbit(read_svmlight(path).X.data), np.signbit(expected))


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing(written):
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(40_000):
        indices = np.cumsum(rng.integers(1, 9, rng.integers(0, 9)))
        entries = " ".join(f"{j}:{x:.6g}" for j, x in zip(indices, rng.normal(size=len(indices))))
        lines.append(rng.choice(["", "# 1 1:1", f"1 qid:{rng.integers(9)} {entries}"]))
    path = written("\n".join(lines).encode() + b"\n" + b" " * 3_000_000)
    before = get_threads()
    try:
        set_threads(1)
        alone = same_as_scikit_learn(path)
        for threads in (2, 3, 7):
            set_threads(threads)
            together = read_svmlight(path)
            same_matrix(together.X, alone.X)
            assert together.y.tobytes() == alone.y.tobytes()
    finally:
        set_threads(before)


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, zstandard.compress], ids=["gz", "bz2", "zst"]
)
def test_compressed_files_are_recognised_by_content(written, pack):
    plain = read_svmlight(written(SMALL))
    same_matrix(read_svmlight(written(pack(SMALL), "packed")).X, plain.X)
    twice = read_svmlight(written(pack(SMALL) + pack(SMALL), "packed"))
    assert twice.X.shape == (4, 3)


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, zstandard.compress], ids=["gz", "bz2", "zst"]
)
def test_damaged_compressed_files_are_refused(written, pack):
    rows = np.random.default_rng(1).integers(0, 10**9, 50_000)
    whole = pack(b"".join(b"1 1:%d\n" % row for row in rows))
    half = len(whole) // 2
    turned = bytes(255 - byte for byte in whole[half : half + 64])
    bad = [whole[:cut] for cut in (6, half, len(whole) - 1)]
    bad.append(whole[:half] + turned + whole[half + 64 :])
    assert read_svmlight(written(whole)).X.data.tolist() == rows.tolist()
    for content in bad:
        with pytest.raises(ValueError, match=r"rows\.svm is compressed and damaged"):
            read_svmlight(written(content))


def test_a_file_that_would_fill_the_memory_is_refused(written, monkeypatch):
    monkeypatch.setattr(size_limits, "most_bytes", lambda: 1 << 22)
    bomb = written(gzip.compress(bytes(1 << 24)))
    with pytest.raises(ValueError, match="half of this machine's memory"):
        read_svmlight(bomb)


def test_query_ids_are_returned_or_ignored(written):
    path = written(b"1 qid:3 1:2\n2 qid:-4\n")
    assert read_svmlight(path, query_ids=True).query_ids.tolist() == [3, -4]
    assert read_svmlight(path).query_ids is None
    X, _, ids = load_svmlight_file(str(path), query_id=True)
    same_matrix(read_svmlight(path).X, X)
    assert ids.tolist() == [3, -4]


def test_large_indices_make_wide_matrices(written):
    path = written(b"1 2147483647:1\n")
    assert read_svmlight(path).X.indices.tolist() == [2**31 - 2]
    assert read_svmlight(path).X.indices.dtype == np.int32
    found = read_svmlight(written(b"1 1:1 999999999999999999:2\n2 5:1\n"))
    assert found.X.indices.tolist() == [0, 999999999999999998, 4]
    assert found.X.shape == (2, 999999999999999999)


def test_a_file_with_a_byte_order_mark_is_read(written):
    assert read_svmlight(written(b"\xef\xbb\xbf" + SMALL)).y.tolist() == [1.0, -1.0]
    assert read_svmlight(written(b"\xef\xbb\xbf1 1:2")).y.tolist() == [1.0]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (b"1 1:1\n1,3 2:1\n", 2, "expected one label, got '1,3'"),
        (b"# c\n\n3:1 4:1\n", 3, "the label before '3:1' is missing"),
        (b"1 1:1\nabc 2:1\n", 2, "expected a number as the label, got 'abc'"),
        (b"1 1:1\n1 17:abc\n", 2, "expected index:value, got '17:abc': 'abc' is not a number"),
        (b"1 1: 2\n", 1, "'' is not a number"),
        (b"1 1\n", 1, "expected index:value, got '1'"),
        (b"1 x:1\n", 1, "expected index:value, got 'x:1'"),
        (b"1 -1:1\n", 1, "expected index:value, got '-1:1'"),
        (b"1 3:1 3:2\n", 1, "the indices of a line must increase, but '3:2'"),
        (b"1 3:1 2:2\n", 1, "the indices of a line must increase, but '2:2'"),
        (b"1 1234567890123456789:2\n", 1, "is too large"),
        (b"1 qid:x 1:2\n", 1, "expected qid:number, got 'qid:x'"),
        (b"1 1:0x10\n", 1, "'0x10' is not a number"),
        (b"1 1:1_0\n", 1, "'1_0' is not a number"),
        (b"1 1:nan(1)\n", 1, "is not a number"),
        (b"1 1:1e\n", 1, "is not a number"),
        (b"1 1:1e+ 2:3\n", 1, "is not a number"),
        (b"1 1:.\n", 1, "is not a number"),
        (b"1 1:\xff\xfe\n", 1, "is not a number"),
        (b"1 1:1\x00\n", 1, "is not a number"),
        (b"1 " + b"9" * 5000 + b":1\n", 1, "is too large"),
        (b"1 1:1\r\n1 1:x\r\n", 2, "'x' is not a number"),
    ],
)
def test_errors_name_file_line_and_reason(written, content, line, words):
    path = written(content)
    with pytest.raises(ValueError, match=re.escape(words)) as error:
        read_svmlight(path)
    assert str(error.value).startswith(f"{path}, line {line}: ")


def test_options_that_contradict_the_file_are_refused(written):
    path = written(b"\n1 1:1\n# comment\n1 2:1 5:1 7:1\n")
    with pytest.raises(ValueError, match=r"rows\.svm, line 4: found feature 5, but features=4"):
        read_svmlight(path, features=4)
    with pytest.raises(ValueError, match=r"line 4: found feature 6,"):
        read_svmlight(path, features=5, zero_based=True)
    with pytest.raises(ValueError, match=r"line 2: the qid before '1:1' is missing"):
        read_svmlight(path, query_ids=True)
    with pytest.raises(ValueError, match=r"line 1: found index 0 in '0:1'"):
        read_svmlight(written(b"1 0:1\n"), zero_based=False)
    with pytest.raises(ValueError, match="features must be a whole number >= 1"):
        read_svmlight(path, features=0)
    with pytest.raises(ValueError, match="features must be a whole number >= 1"):
        read_svmlight(path, features="7")
    with pytest.raises(ValueError, match="zero_based must be"):
        read_svmlight(path, zero_based="yes")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# only a comment"])
def test_files_without_rows_are_refused(written, content):
    with pytest.raises(ValueError, match="has no rows"):
        read_svmlight(written(content))


def test_the_first_error_of_the_file_is_reported(written):
    good = b"1 1:1 2:1 3:1\n"
    content = bytearray(good * 300_000)
    for line in (250_001, 120_001, 299_999):
        content[line * len(good) - 2 : line * len(good) - 1] = b"x"
    with pytest.raises(ValueError, match=r"line 120001: .* got '3:x'"):
        read_svmlight(written(content))


def test_a_long_line_without_end_is_one_line(written):
    line = b"1 " + b" ".join(b"%d:1" % j for j in range(1, 600_000))
    assert read_svmlight(written(line)).X.shape == (1, 599_999)
    with pytest.raises(ValueError, match=r"line 2: the label before .* is missing"):
        read_svmlight(written(line + b"\n:" + line))


def test_writing_and_reading_gives_the_same_matrix(tmp_path):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((50, 20)) < 0.3, rng.normal(size=(50, 20)), 0.0)
    X[:, 19] = math.pi
    dump_svmlight_file(X, np.arange(50), str(tmp_path / "out.svm"), zero_based=False)
    found = same_as_scikit_learn(tmp_path / "out.svm")
    np.testing.assert_allclose(found.X.toarray(), X, rtol=1e-15)


@given(hostile_files())
@example(b"\x1f\x8bw\t")
@example(b"\xfe\xff")
def test_hostile_files_are_read_or_refused_with_a_message(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "hostile.svm"
    path.write_bytes(content)
    assert outcome(path, content) in ("data", "sentence")

"""Decompression bombs are stopped by a limit that is named and can be raised."""

import bz2
import gzip
import io
import struct
import zipfile
import zlib

import numpy as np
import pytest

from separatrix.readers import load
from separatrix.readers.compression import size_limits
from separatrix.readers.data_sets.download import File, _extracted
from separatrix.study.store.database import Store

MIB = 1 << 20


def zstd(content):
    return pytest.importorskip("zstandard").compress(content)


def blank_png(width, height):
    """Return a blank PNG image, compressed by a factor of about 1000."""

    def chunk(kind, content):
        return (
            struct.pack(">I", len(content))
            + kind
            + content
            + struct.pack(">I", zlib.crc32(kind + content))
        )

    packer = zlib.compressobj()
    line = bytes(1 + width)
    packed = b"".join(packer.compress(line) for _ in range(height)) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", packed), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.fixture(params=["gzip", "bzip2", "zstd", "npz", "parquet", "png"])
def bomb(request, tmp_path):
    """A file of less than 1.5 MiB that unpacks to about 300 MiB."""
    path = tmp_path / "bomb.csv"
    size = 300 * MIB
    if request.param in ("gzip", "bzip2", "zstd"):
        pack = {"gzip": gzip.compress, "bzip2": bz2.compress, "zstd": zstd}[request.param]
        path.write_bytes(pack(b"1,2\n" * (size // 400)) * 100)  # bzip2 is slow
    elif request.param == "npz":
        path = tmp_path / "bomb.npz"
        np.savez_compressed(path, X=np.zeros((size // 8, 1)), y=np.zeros(3))
    elif request.param == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        path = tmp_path / "bomb.parquet"
        column = pa.array(np.zeros(size // 16))
        pq.write_table(pa.table({"a": column, "b": column}), path)
    else:
        pytest.importorskip("PIL")
        path = tmp_path / "images"
        for name in ("a", "b"):
            (path / name).mkdir(parents=True)
            (path / name / "one.png").write_bytes(blank_png(20_000, size // 20_000))
    packed = sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())
    assert packed < 1.5 * MIB
    return path


@pytest.mark.slow
def test_every_kind_of_bomb_is_stopped_before_it_is_unpacked(bomb):
    with pytest.raises(size_limits.UnpackLimitError) as error:
        load(bomb)
    said = str(error.value)
    assert "bomb" in said or "one.png" in said
    assert "more than 256 MiB and to more than 200 times its size" in said
    assert "set SEPARATRIX_MAX_UNPACKED to the size to allow" in said


def test_the_variable_sets_another_limit(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a,b,label\n" + b"1,2,x\n3,4,y\n" * 1000))
    assert len(load(path)) == 2000
    monkeypatch.setenv("SEPARATRIX_MAX_UNPACKED", "2K")
    with pytest.raises(size_limits.UnpackLimitError, match=r"more than 2 KiB, set by SEPARATRIX"):
        load(path)
    monkeypatch.setenv("SEPARATRIX_MAX_UNPACKED", "1 MiB")
    assert len(load(path)) == 2000
    for wrong in ("much", "0", "-1", "1.5G"):
        monkeypatch.setenv("SEPARATRIX_MAX_UNPACKED", wrong)
        with pytest.raises(ValueError, match=f"such as 2000000000, 500M or 4G. Got '{wrong}'"):
            load(path)


def test_the_variable_lifts_the_limit_on_the_ratio(monkeypatch):
    with pytest.raises(size_limits.UnpackLimitError, match="200 times its size of 1 MiB"):
        size_limits.require_room("a.gz", MIB, 300 * MIB)
    size_limits.require_room("a.gz", 2 * MIB, 300 * MIB)
    monkeypatch.setenv("SEPARATRIX_MAX_UNPACKED", "400M")
    size_limits.require_room("a.gz", MIB, 300 * MIB)


def test_a_plain_file_has_no_limit(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_MAX_UNPACKED", "10")
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,b,label\n" + b"1,2,x\n3,4,y\n" * 10)
    assert len(load(path)) == 20


def test_the_limit_applies_to_downloaded_archives(monkeypatch):
    monkeypatch.setenv("SEPARATRIX_MAX_UNPACKED", "1M")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", bytes(2 * MIB))
    with pytest.raises(size_limits.UnpackLimitError, match="more than 1 MiB"):
        _extracted(File("a.csv", "0" * 64, "https://example.org/a.zip", "a.csv"), out.getvalue())


def test_the_limit_applies_to_arrays_in_a_store(tmp_path, monkeypatch):
    monkeypatch.setenv("SEPARATRIX_MAX_UNPACKED", "1M")
    out = io.BytesIO()
    np.savez_compressed(out, a=np.zeros(MIB))
    with Store(tmp_path / "a.db", write=True) as store, pytest.raises(ValueError, match="1 MiB"):
        store.arrays(out.getvalue(), "the state")

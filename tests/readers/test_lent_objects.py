"""No thread of pyarrow holds a Python object when a CSV file has been read.

Such a thread needs the interpreter to release the object, and aborts a process that ends just then.
"""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest

from separatrix.readers.delimited import fields

TYPES = {str(place): pa.float64() for place in range(3)}
GOOD = b"1,2,3\n" * 20_000
UNEVEN = GOOD[:60_000] + b"4,5\n" + GOOD[60_000:]


@pytest.fixture
def four_threads():
    before = pa.cpu_count()
    pa.set_cpu_count(4)
    yield
    pa.set_cpu_count(before)


@pytest.mark.parametrize("content", [GOOD, UNEVEN], ids=["good", "uneven"])
def test_the_calling_thread_releases_the_content(content, four_threads):
    released = []

    class Content(np.ndarray):
        def __del__(self):
            released.append(threading.get_ident())

    def read():
        lines = np.frombuffer(bytearray(content), np.uint8).view(Content)
        fields._read_csv(lines, ",", TYPES, 1 << 12, False)

    for _ in range(60):
        if content is GOOD:
            read()
        else:
            with pytest.raises(pa.ArrowInvalid):
                read()
    assert set(released) == {threading.get_ident()}

"""Load damaged, foreign and malicious model files.

Run by hand for many cases; a few of each kind are part of the tests:

    cd tests && python -m support.fuzz_modelfile --cases 1000000

Every case must end in a model that can predict or in a ValueError in words.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import random
import resource
import sys
import tempfile
import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

from separatrix import Bundle, load_model, save
from separatrix.model_files.container import read, write
from support.saved_models import MODELS, THREE, X, fitted
from support.saved_pipelines import PIPELINES, fitted_pipeline

KINDS = ["bytes"] * 2 + ["content"] * 4 + ["sealed", "noise", "json"]
SECONDS = 5.0  # for one case; more counts as a hang
MEMORY = 4 << 30  # bytes of address space in all

WORDS = ["", "coef_", "$array", "$float", "inf", "nan", "float64", "int8", "a" * 300, "\x00", "é"]
ODD_NUMBERS = [0, 1, -1, 2, 3, 4, 255, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, 5e-324]
TAGS = ["$float", "$tuple", "$pairs", "$scalar", "$array", "$strings", "$objects", "$x"]


def random_json(rng: random.Random, depth: int = 0) -> object:
    """Some JSON value, tagged ones among them."""
    kind = rng.randrange(10 if depth < 4 else 5)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind <= 2:
        return rng.choice(ODD_NUMBERS)
    if kind <= 4:
        return rng.choice(WORDS)
    if kind <= 6:
        return [random_json(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind <= 8:
        return {rng.choice(WORDS): random_json(rng, depth + 1) for _ in range(rng.randrange(4))}
    tag = rng.choice(TAGS)
    out = {tag: random_json(rng, depth + 1)}
    if tag == "$strings":
        out["width"] = rng.choice(ODD_NUMBERS)
    return out


def damaged(rng: random.Random, data: bytes) -> bytes:
    """The bytes of a file with some of them changed, removed or inserted."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 5, 50])):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(7)
        if kind <= 2 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 3:
            del out[at:]
        elif kind == 4:
            out[at:at] = rng.randbytes(rng.randrange(1, 20))
        elif kind == 5:
            del out[at : at + rng.randrange(1, 20)]
        else:
            out[:8] = rng.choice([len(out), 2**63, 2**26, at, 0]).to_bytes(8, "little")
    return bytes(out)


def misled(rng: random.Random, content: dict, arrays: dict) -> tuple[dict, dict]:
    """A content and its arrays with a few changes, to be signed again."""
    content, arrays = copy.deepcopy(content), dict(arrays)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if rng.randrange(3):
            _mislead_content(rng, content)
        elif arrays:
            _mislead_arrays(rng, arrays)
    return content, arrays


def _mislead_content(rng: random.Random, content: dict) -> None:
    node = content
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        inner = node[key]
        if isinstance(inner, (dict, list)) and inner and rng.randrange(4):
            node = inner
            continue
        kind = rng.randrange(4)
        if kind == 0:
            del node[key]
        elif kind == 1 and isinstance(node, dict):
            node[rng.choice(WORDS + TAGS)] = node.pop(key)
        elif kind == 2 and isinstance(inner, (int, float)):
            node[key] = rng.choice(ODD_NUMBERS)
        else:
            node[key] = random_json(rng)
        return


def _mislead_arrays(rng: random.Random, arrays: dict) -> None:
    name = rng.choice(list(arrays))
    array = arrays[name]
    kind = rng.randrange(6)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        types = ["?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8"]
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(rng.choice(types))
    elif kind == 2:
        arrays[name] = array.reshape(-1)[: rng.randrange(array.size + 1)]
    elif kind == 3:
        arrays[name] = array[None] if rng.randrange(2) else array.reshape(array.shape[::-1])
    elif kind == 4:
        other = rng.choice(list(arrays))
        arrays[name], arrays[other] = arrays[other], arrays[name]
    elif array.size:
        array = array.copy()
        with np.errstate(all="ignore"):
            odd = np.array(rng.choice([np.nan, np.inf, -1.0, 1e300, 2.0**31])).astype(array.dtype)
        array.reshape(-1)[rng.randrange(array.size)] = odd
        arrays[name] = array


def _loaded(path: Path) -> object:
    """Load a file and return its model or the error message; any other outcome is a failure."""
    try:
        return load_model(path)
    except ValueError as error:
        if str(path) not in str(error) or len(str(error)) > 2000:
            raise AssertionError(f"not a sentence about the file: {error}") from error
        return str(error)


def pipeline_outcome(path: Path, rows: object) -> str:
    """Load a pipeline and predict rows that it may be unable to read; return as `outcome` does."""
    model = _loaded(path)
    if isinstance(model, str):
        return model
    repr(model)
    # scikit-learn refuses rows that do not fit with errors of several types.
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        model.predict(rows)
    return "loaded"


def outcome(path: Path) -> str:
    """Load a file and return "loaded" or the error message; any other outcome is a failure."""
    model = _loaded(path)
    if isinstance(model, str):
        return model
    estimator = model.estimator if isinstance(model, Bundle) else model
    repr(estimator)
    if estimator.n_features_in_ == X.shape[1]:
        with np.errstate(all="ignore"):
            try:
                estimator.decision_function(X[:5])
            except ValueError:  # the kernel of rows up to 1e300 overflows, which scipy refuses
                if not hasattr(estimator, "factor_"):
                    raise
                return "loaded"
            assert len(estimator.predict(X[:5])) == 5
            _go_on(estimator)
    return "loaded"


def _go_on(estimator: object) -> None:
    """Continue training a loaded model, so that compiled code gets the contents of the file."""
    if getattr(estimator, "_state", None) is not None:
        with contextlib.suppress(ValueError, TypeError):  # for parameters that make no sense
            estimator.set_params(epochs=1).partial_fit(X, estimator.classes_[THREE % 2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = random.Random(options.seed)
    # In a memory file system if there is one, to spare the disk a million files.
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        path = Path(folder) / "case.sx"
        originals = []
        for name in MODELS:
            model = fitted(name)
            save(model, path)
            originals.append((outcome, path.read_bytes(), *read(path)))
            save(Bundle(model, fingerprint="0" * 64, metrics={"loss": float("nan")}), path)
            originals.append((outcome, path.read_bytes(), *read(path)))
        for name, (_, rows, _) in PIPELINES.items():
            save(fitted_pipeline(name), path)
            ending = partial(pipeline_outcome, rows=rows)
            originals.append((ending, path.read_bytes(), *read(path)))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        slowest, began = 0.0, time.perf_counter()
        for case in range(options.cases):
            ending, data, content, arrays = rng.choice(originals)
            kind = rng.choice(KINDS)
            if kind == "bytes":
                path.write_bytes(damaged(rng, data))
            elif kind == "content":
                _seal(path, *misled(rng, content, arrays))
            elif kind == "noise":
                path.write_bytes(rng.randbytes(rng.randrange(200)))
            elif kind == "sealed":
                _seal(path, {"model": random_json(rng), "bundle": random_json(rng)}, arrays)
            else:
                header = json.dumps(random_json(rng)).encode()
                path.write_bytes(len(header).to_bytes(8, "little") + header)
            start = time.perf_counter()
            try:
                end = ending(path)
            except BaseException:
                keep = Path(tempfile.gettempdir()) / f"case-{options.seed}-{case}.sx"
                keep.write_bytes(path.read_bytes())
                print(
                    f"case {case} of seed {options.seed}, {kind}: kept in {keep}", file=sys.stderr
                )
                raise
            took = time.perf_counter() - start
            slowest = max(slowest, took)
            assert took < SECONDS, f"case {case} took {took:.1f} seconds"
            ends[f"{kind}: {'loaded' if end == 'loaded' else 'refused'}"] += 1
        seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.cases} cases in {seconds:.0f} s, the slowest {slowest * 1e3:.0f} ms,", end=" ")
    print(f"at most {peak:.0f} MB, seed {options.seed}")
    for end, count in sorted(ends.items()):
        print(f"  {end} {count}")


def _seal(path: Path, content: dict, arrays: dict) -> None:
    """Write a file with `write`, or an empty file if it refuses."""
    try:
        write(path, content, arrays)
    except ValueError:
        path.write_bytes(b"")


if __name__ == "__main__":
    main()

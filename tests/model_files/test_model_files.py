"""A loaded model equals the saved one, and only valid model files are loaded."""

import dataclasses
import errno
import json
import os
import pickle
import random
import resource
import struct
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold

from separatrix import (
    LOSSES,
    Bundle,
    GradientDescentClassifier,
    LinearSVC,
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    load_model,
    save,
)
from separatrix.features.preparation import Preparation
from separatrix.features.settings import Settings
from separatrix.model_files import bundle as modelfile
from separatrix.model_files.classifier_table import TABLE
from separatrix.model_files.container import FORMAT, KEY, UPGRADES, read, upgrade, write
from separatrix.model_files.estimator_state import from_state, to_state
from separatrix.packing import pack, unpack
from separatrix.readers.columns import Columns
from support.fuzz_modelfile import damaged, misled, outcome, random_json
from support.same_values import assert_same
from support.saved_models import FRAME, MODELS, THREE, TWO, X, fitted

GOLDEN = Path(__file__).parents[1] / "golden"


def same_order(attributes):
    return dict(sorted(attributes.items()))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.sx"


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_equals_the_saved_one(name, path):
    model = fitted(name)
    model.save(path)
    loaded = load_model(path)
    # All attributes are compared, to find attributes that are missing from the table.
    assert_same(same_order(vars(model)), same_order(vars(loaded)))
    data = FRAME if hasattr(model, "feature_names_in_") else X
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            assert_same(getattr(model, method)(data), getattr(loaded, method)(data), method)
        else:
            assert not hasattr(loaded, method)
    assert repr(loaded) == repr(model)
    assert loaded.objective() == model.objective()
    if hasattr(model, "certificate_"):
        assert str(loaded.certificate_) == str(model.certificate_)
        assert list(map(str, loaded.diagnoses_)) == list(map(str, model.diagnoses_))
    assert_same(loaded.get_params(), model.get_params())
    assert repr(clone(loaded)) == repr(clone(model))


@pytest.mark.parametrize("name", MODELS)
def test_saving_a_loaded_model_writes_the_same_bytes(name, path, tmp_path):
    save(fitted(name), path)
    save(load_model(path), tmp_path / "again.sx")
    assert path.read_bytes() == (tmp_path / "again.sx").read_bytes()


def test_every_estimator_of_the_table_is_tested():
    assert {type(fitted(name)) for name in MODELS} == set(TABLE)
    assert {fitted(name)._loss.name for name in MODELS} >= set(LOSSES)


@pytest.mark.parametrize("name", [name for name in MODELS if "continued" in name])
def test_training_continues_from_a_loaded_model_bit_for_bit(name, path):
    save(fitted(name), path)
    ours, theirs = load_model(path), MODELS[name]()
    for _ in range(2):
        ours.partial_fit(X, THREE)
        theirs.partial_fit(X, THREE)
    assert_same(ours.coef_, theirs.coef_)
    assert ours.n_iter_ == theirs.n_iter_ == 5


def test_a_warm_start_from_a_loaded_model_equals_one_from_the_original(path):
    model = LogisticRegression(10.0, warm_start=True).fit(X, THREE)
    save(model, path)
    loaded = load_model(path)
    assert_same(loaded.fit(X, THREE).coef_, model.fit(X, THREE).coef_)
    assert loaded.n_iter_ == model.n_iter_ < LogisticRegression(10.0).fit(X, THREE).n_iter_


GOLDEN_ROWS = np.array([[5.0, 3.5, 1.5, 0.2], [6.0, 2.8, 4.5, 1.4], [6.5, 3.0, 5.8, 2.2]])
# Expected results for files that version 0.1.0 wrote in format 1, with models of all iris rows. The
# files are never regenerated: a version that cannot read them cannot read its users' files.
GOLDEN_ANSWERS = {
    "logistic-1.sx": (
        ["setosa", "versicolor", "virginica"],
        [
            [0.0, -4.64611617987538, -28.002204373506896],
            [0.0, 6.74530793504397, 3.774914035460746],
            [0.0, 10.780620794427639, 17.497425556020232],
        ],
        [0.990492451468, 0.001117749787, 2.5144e-08],
    ),
    "svc-1.sx": (
        [0, 0, 1],
        [-5.002895832061768, -0.46848320960998535, 1.6016559600830078],
        [0.999999978371, 0.892127190467, 0.0068244457],
    ),
    "gradient-1.sx": (
        [0, 1, 2],
        [
            [3.6984469937760016, 0.5038928068877602, -4.443662188888933],
            [-2.6221295537581417, 1.3802501029123735, 0.9682284146614806],
            [-5.186074022657143, 1.4222956732758585, 3.2424734797796457],
        ],
        [0.960360343557, 0.010872486785, 0.000188036289],
    ),
}


@pytest.mark.parametrize("name", GOLDEN_ANSWERS)
def test_files_of_earlier_versions_are_still_read(name):
    labels, scores, first = GOLDEN_ANSWERS[name]
    bundle = load_model(GOLDEN / name)
    assert bundle.predict(GOLDEN_ROWS).tolist() == labels
    np.testing.assert_allclose(bundle.decision_function(GOLDEN_ROWS), scores, rtol=1e-6)
    np.testing.assert_allclose(bundle.predict_proba(GOLDEN_ROWS)[:, 0], first, rtol=1e-4)
    assert bundle.fingerprint == "0123456789abcdef" * 4
    assert bundle.metrics == {"train": {"rows": 150, "accuracy": 0.96, "log loss": np.inf}}


def test_older_formats_are_upgraded_one_step_at_a_time():
    def step(number):
        return lambda content, arrays: (content | {f"step {number}": True}, arrays)

    steps = {1: step(1), 2: step(2), 3: step(3)}
    assert upgrade({}, {}, 2, steps, 4) == ({"step 2": True, "step 3": True}, {})
    assert upgrade({}, {}, 4, steps, 4) == ({}, {})


def test_the_losses_of_format_1_become_parameters():
    model = fitted("gradient margin")
    content, arrays = to_state(model)
    loss = content["parameters"].pop("loss")["$loss"]
    old = {name: content[name] for name in ("estimator", "parameters", "fitted")}
    old = {"model": old | {"losses": {"loss": loss}}, "bundle": None}
    new, arrays = upgrade(old, arrays, 1, UPGRADES, FORMAT)
    assert_same(from_state(new["model"], arrays), model)


def with_document(path, text, arrays=None):
    save_file(arrays or {"x": np.zeros(2)}, path, metadata={KEY: text})


def test_a_newer_format_is_refused_with_the_version_that_wrote_it(path):
    versions = {"separatrix": "9.1.0"}
    with_document(path, json.dumps({"format": FORMAT + 1, "versions": versions, "content": {}}))
    with pytest.raises(ValueError, match=r"format 3, written by separatrix '9\.1\.0'.*up to 2"):
        load_model(path)


FOREIGN = {
    "empty": b"",
    "short": b"abc",
    "text": b"coef_,intercept_\n1,2\n" * 40,
    "pickle": pickle.dumps(list(range(100))),
    "zip": b"PK\x03\x04" + bytes(100),
    "deep": struct.pack("<Q", 100_000) + b"[" * 100_000,
    "long header": struct.pack("<Q", 2**62) + b"{}",
    "long shape": struct.pack("<Q", 77)
    + b'{"a":{"dtype":"F64","shape":[4611686018427387904,8],"data_offsets":[0,0]}}   ',
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_refused_by_name(kind, path):
    path.write_bytes(FOREIGN[kind])
    with pytest.raises(ValueError, match=r"model\.sx is damaged or is not a Separatrix model file"):
        load_model(path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not valid JSON"),
        ("[1]", "not a JSON object"),
        ("[" * 100_000, "not valid JSON"),
        ('{"format": NaN}', "NaN"),
        ('{"format": "1"}', "'1'"),
        ('{"format": 0}', "whole number >= 1"),
        ('{"format": 1}', "no content"),
        ('{"format": 1, "content": {}, "sha256": "0"}', "checksum"),
        ('{"format": 1, "content": {}, "x": ' + "9" * 5000 + "}", "not valid JSON"),
    ],
)
def test_a_safetensors_file_with_a_bad_document_is_refused_with_the_reason(text, reason, path):
    with_document(path, text)
    with pytest.raises(ValueError, match=reason):
        load_model(path)


def test_another_safetensors_file_is_refused(path):
    save_file({"x": np.zeros(2)}, path)
    with pytest.raises(ValueError, match="without the entry 'separatrix'"):
        load_model(path)


def test_folders_and_pipes_are_refused_without_blocking(tmp_path):
    os.mkfifo(tmp_path / "pipe.sx")
    for path in (tmp_path, tmp_path / "pipe.sx"):
        with pytest.raises(ValueError, match="a folder, a pipe or a device"):
            load_model(path)
    with pytest.raises(FileNotFoundError, match=r"none\.sx"):
        load_model(tmp_path / "none.sx")


def test_one_changed_bit_of_a_weight_is_detected(path):
    save(fitted("logistic two"), path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="do not match their checksum"):
        load_model(path)


@pytest.mark.slow
def test_a_file_cut_short_anywhere_is_refused(path):
    save(fitted("perceptron two"), path)
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match=r"model\.sx"):
            load_model(path)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """Return a path, and the bytes, content and arrays of some files."""
    path = tmp_path_factory.mktemp("fuzz") / "case.sx"
    files = []
    for name in ("logistic sparse", "svc probability three", "gradient continued adam", "svc cv"):
        save(Bundle(fitted(name), metrics={"accuracy": 0.5}), path)
        files.append((path.read_bytes(), *read(path)))
    return path, files


@given(seed=st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore")
def test_damaged_files_are_refused_or_contain_the_same_model(cases, seed):
    path, files = cases
    rng = random.Random(seed)
    data, content, arrays = rng.choice(files)
    path.write_bytes(damaged(rng, data))
    if outcome(path) == "loaded":
        there, theirs = read(path)
        assert there == content
        assert_same(theirs, arrays)


@given(seed=st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore")
def test_manipulated_files_are_refused_or_contain_a_model_that_predicts(cases, seed):
    path, files = cases
    rng = random.Random(seed)
    _, content, arrays = rng.choice(files)
    try:
        write(path, *misled(rng, content, arrays))
    except ValueError:
        return
    outcome(path)


@given(seed=st.integers(0, 2**32))
def test_random_documents_are_refused(cases, seed):
    path, _ = cases
    rng = random.Random(seed)
    write(path, {"model": random_json(rng), "bundle": random_json(rng)}, {})
    with pytest.raises(ValueError, match=r"case\.sx"):
        load_model(path)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.floats(width=32).map(np.float32)
    | st.integers(-128, 127).map(np.int8)
    | st.lists(st.floats(), max_size=3).map(np.array)
    | st.lists(st.text(st.characters(exclude_characters="\0"), min_size=1), min_size=1).map(
        np.array
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            st.text().filter(lambda key: "." not in key) | st.integers(), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@pytest.mark.slow
@given(value=PLAIN)
def test_plain_values_are_restored_unchanged(value):
    arrays = {}
    text = json.dumps(pack(value, "value", arrays), allow_nan=False)
    assert_same(unpack(json.loads(text), "value", arrays), value)


BAD_FITTED = {
    "classes_": ({"$strings": ["b", "a"], "width": 1}, "classes_ must be an array of two"),
    "n_features_in_": (5, r"coef_ is not consistent with 3 classes, 3 outputs and 5 features"),
    "_loss": ({"name": "os.system", "margin": 0.0, "one_vs_rest": False}, "must be one of"),
    "coef_": ({"$array": "intercept_"}, "coef_ has no array"),
    "stop_reason_": (3, "stop_reason_ must be text"),
    "n_iter_": (2**31, "n_iter_ must be an integer from 0 to"),
    "certificate_": ({"kind": "duality_gap"}, "certificate_ must have exactly the parts"),
    "threshold_": ({"$float": "nan"}, "threshold_ must be a number"),
    "evil": (1, "the attribute 'evil' of LogisticRegression is unknown"),
}


@pytest.mark.parametrize("name", BAD_FITTED)
def test_errors_name_the_invalid_attribute(name):
    bad, reason = BAD_FITTED[name]
    content, arrays = to_state(fitted("logistic three"))
    content["fitted"][name] = bad
    with pytest.raises(ValueError, match=reason):
        from_state(content, arrays)


def test_weights_that_are_not_finite_are_neither_written_nor_read(path):
    content, arrays = to_state(fitted("logistic three"))
    arrays["coef_"] = np.full_like(arrays["coef_"], np.nan)
    with pytest.raises(ValueError, match="coef_ must be a matrix of finite numbers"):
        from_state(content, arrays)
    model = LogisticRegression().fit(X, TWO)
    model.intercept_[0] = np.inf
    with pytest.raises(ValueError, match=r"cannot be saved, .* intercept_"):
        save(model, path)
    assert not path.exists()


def test_class_names_are_looked_up_in_the_table_only():
    content, arrays = to_state(fitted("perceptron two"))
    for name in ("os.system", "LinearClassifier", "SVC", 3, None, ["Perceptron"]):
        with pytest.raises(ValueError, match="its estimator must be one of"):
            from_state(content | {"estimator": name}, arrays)


def test_a_parameter_that_is_not_a_plain_value_is_refused_with_a_remedy(path):
    model = LogisticRegressionCV(Cs=2, cv=StratifiedKFold(3)).fit(X, TWO)
    with pytest.raises(ValueError, match=r"'cv' parameter .* StratifiedKFold.* set_params\(cv="):
        save(model, path)
    save(model.set_params(cv=3), path)
    assert load_model(path).C_ == model.C_


def test_a_custom_loss_is_refused(path):
    own = dataclasses.replace(LOSSES["hinge"], name="mine")
    model = GradientDescentClassifier(own, epochs=2).fit(X, TWO)
    with pytest.raises(ValueError, match="The loss 'mine' is not part of this library"):
        save(model, path)


def test_only_fitted_classifiers_of_this_library_are_saved(path):
    class Mine(LogisticRegression):
        pass

    for other in (Mine().fit(X, TWO), "model", None):
        with pytest.raises(TypeError, match=r"Classes that can be saved: .*LogisticRegression"):
            save(other, path)
    with pytest.raises(NotFittedError):
        save(Perceptron(), path)
    assert not list(path.parent.glob("*.tmp"))


@contextmanager
def full_disk():
    """Limit the size of files to 1000 bytes; only briefly, because it also limits pytest."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_an_existing_file_is_unchanged_if_the_disk_is_full(path):
    save(fitted("perceptron two"), path)
    before = path.read_bytes()
    model = fitted("logistic three")
    refusal = r"model\.sx was not written: .* an existing file is unchanged"
    with pytest.raises(OSError, match=refusal) as error, full_disk():
        save(model, path)
    assert error.value.errno == errno.EFBIG
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_errors_name_a_path_that_cannot_be_written(tmp_path):
    model = fitted("perceptron two")
    (tmp_path / "folder.sx").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder\.sx was not written"):
        save(model, tmp_path / "folder.sx")
    with pytest.raises(FileNotFoundError, match=r"none/model\.sx was not written"):
        save(model, tmp_path / "none" / "model.sx")
    assert os.listdir(tmp_path) == ["folder.sx"]


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    target = tmp_path / "target.sx"
    save(fitted("perceptron two"), target)
    target.chmod(0o640)
    save(fitted("logistic two"), target)
    assert target.stat().st_mode & 0o777 == 0o640
    assert isinstance(load_model(target), LogisticRegression)


def test_a_symbolic_link_is_refused_and_its_target_is_unchanged(tmp_path):
    target, link = tmp_path / "target.sx", tmp_path / "link.sx"
    save(fitted("perceptron two"), target)
    before = target.read_bytes()
    link.symlink_to(target)
    with pytest.raises(FileExistsError, match=r"link\.sx is a symbolic link to .*target\.sx"):
        save(fitted("logistic two"), link)
    assert link.is_symlink()
    assert target.read_bytes() == before


class Doubling:
    """A minimal preparation."""

    def __init__(self, names, scale):
        self.names, self.scale = names, scale

    def transform(self, table, notes=None):
        if notes is not None:
            notes.append("doubled")
        return np.asarray(table) * self.scale

    def to_state(self):
        return {"names": self.names, "nested": [{"a": 1.5}]}, {"0.scale": self.scale}

    @classmethod
    def from_state(cls, state, arrays):
        if state["nested"] != [{"a": 1.5}]:
            raise ValueError("nested")
        return cls(state["names"], arrays["0.scale"])


def test_a_bundle_keeps_the_preparation(path, monkeypatch):
    monkeypatch.setitem(modelfile.PREPARATIONS, "Doubling", __name__)
    preparation = Doubling(["é", "b", "c", "d"], np.array([2.0, 1.0, 0.5, 3.0]))
    model = LinearSVC(probability=3).fit(preparation.transform(X), TWO)
    bundle = Bundle(model, preparation, "ab" * 32, {"test": {"f1": np.float64(0.5)}})
    bundle.save(path)
    loaded = load_model(path)
    assert_same(vars(loaded.preparation), vars(preparation))
    assert (loaded.fingerprint, loaded.metrics) == (bundle.fingerprint, bundle.metrics)
    assert_same(loaded.classes_, model.classes_)
    for method in ("predict", "predict_proba", "decision_function"):
        assert_same(getattr(loaded, method)(X), getattr(bundle, method)(X))
        assert_same(getattr(loaded, method)(X), getattr(model, method)(preparation.transform(X)))
    notes = []
    loaded.transform(X, notes)
    assert notes == ["doubled"]


def test_a_bundle_accepts_only_preparations_of_this_library(path):
    with pytest.raises(TypeError, match="Got Doubling"):
        save(Bundle(fitted("logistic two"), Doubling([], np.ones(4))), path)
    save(Bundle(fitted("logistic two")), path)
    content, arrays = read(path)
    content["bundle"]["preparation"] = {"kind": "os.system", "state": {}, "arrays": {}}
    write(path, content, arrays)
    with pytest.raises(ValueError, match="its preparation must be one of Preparation"):
        load_model(path)


def test_an_invalid_fingerprint_is_refused(path):
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        save(Bundle(fitted("logistic two"), fingerprint="abc"), path)


def test_a_bundle_with_a_preparation_of_tables_predicts_from_raw_tables(path):
    table = Columns(
        {
            "age": [39.0, 50.0, None, 28.0, 41.0, 33.0],
            "job": ["clerk", "smith", "clerk", "baker", "smith", "clerk"],
            "note": [
                "a long note on it",
                "free money now",
                "see you then",
                "win free",
                "",
                "hi you",
            ],
        },
        text=["note"],
    )
    preparation = Preparation.fit(table, Settings(standardise=True))
    notes = []
    model = LogisticRegression().fit(preparation.transform(table, notes), [0, 1, 0, 1, 1, 0])
    save(Bundle(model, preparation), path)
    loaded = load_model(path)
    ours, theirs = (b.transform(table, notes) for b in (loaded, Bundle(model, preparation)))
    assert_same(ours.toarray(), theirs.toarray())
    assert_same(model.predict_proba(theirs), loaded.estimator.predict_proba(ours))

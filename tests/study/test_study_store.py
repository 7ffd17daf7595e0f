"""The store: concurrent readers and writers, damage, locks, full disks, old versions."""

import json
import os
import random
import resource
import shutil
import sqlite3
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from separatrix import GradientDescentClassifier, Study
from separatrix.study import Store, StoreError, read_facts
from separatrix.study.store import database as store_module
from separatrix.study.store import writer as writer_module
from separatrix.study.store.database import MIGRATIONS, migrate
from separatrix.study.store.encoding import from_bytes, to_bytes
from separatrix.study.store.ownership import process_start
from separatrix.study.store.writer import claim_study, delete_study
from support.studies import (
    CONTEXT,
    assert_same,
    facts_of,
    iris,
    make,
    run_in_process,
    study_of,
    without_seconds,
)

GOLDEN = Path(__file__).parents[1] / "golden"
NOBODY = 65534


def small_study(store, name="small", **options):
    grid = {"learning_rate": [0.1, 0.01], "epochs": [3, 5]}
    return Study(name, GradientDescentClassifier(), grid, store=store, **options)


@pytest.fixture
def stored(tmp_path):
    """A store with one small study."""
    path = tmp_path / "a.db"
    small_study(path).run(*iris())
    return path


@pytest.fixture
def public():
    """A folder that every user can read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@contextmanager
def not_as_root():
    """Give up the rights of root, for whom nothing is read-only."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_arrays_are_stored_as_npy_bytes_without_pickles():
    a = np.arange(6.0).reshape(2, 3)
    assert from_bytes(to_bytes(a)).tolist() == a.tolist()
    with pytest.raises(ValueError, match="allow_pickle"):
        to_bytes(np.array([object()]))


def test_the_file_is_a_plain_database_with_valid_references(stored):
    connection = sqlite3.connect(stored)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    # Four configurations are two models with two histories.
    assert connection.execute("SELECT count(*) FROM histories").fetchone() == (2,)
    connection.close()


def test_deleting_a_study_deletes_all_its_rows(stored):
    small_study(stored, "other").run(*iris())
    with Store(stored, write=True) as store:
        delete_study(store, "small")
        assert store.names() == ["other"]
        for table, count in {"runs": 4, "histories": 2, "checkpoints": 0, "writers": 0}.items():
            assert store.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"] == count


# several processes


def hold(path, ready, done):
    with Store(path, write=True) as store, claim_study(store, store.study("small")):
        ready.set()
        done.wait(60)


def test_a_checkpoint_in_several_pieces_is_reassembled(stored, monkeypatch):
    monkeypatch.setattr(writer_module, "PIECE", 1000)
    arrays = {"a": np.arange(1000.0), "b": np.array(["x"])}
    with Store(stored, write=True) as store, claim_study(store, store.study()) as writer:
        for _ in range(2):
            writer.checkpoint(0, 1, arrays, 0.0)
        assert len(store.rows("SELECT piece FROM checkpoints")) > 8
        found = writer.last_checkpoint(0)
        assert {name: a.tolist() for name, a in found.items()} == {
            name: a.tolist() for name, a in arrays.items()
        }


def unfinished(path):
    """Turn the study into an unfinished one."""
    with Store(path, write=True) as store, store.writing() as connection:
        connection.execute("UPDATE studies SET finished = 0")
        connection.execute("UPDATE runs SET found = NULL, history = NULL")
        connection.execute("DELETE FROM histories")


@pytest.mark.slow
def test_a_second_writer_is_refused(stored):
    unfinished(stored)
    ready, done = CONTEXT.Event(), CONTEXT.Event()
    child = run_in_process(hold, stored, ready, done)
    assert ready.wait(60)
    with pytest.raises(StoreError, match=f"is being written by process {child.pid}"):
        small_study(stored).run(*iris(), resume=True)
    with Store(stored, write=True) as store, pytest.raises(StoreError, match="being written"):
        delete_study(store, "small")
    small_study(stored, "other").run(*iris())  # other studies can be written
    done.set()
    child.join()
    assert small_study(stored).run(*iris(), resume=True).facts().finished


@pytest.mark.slow
def test_a_killed_writer_does_not_block_the_next_one(stored):
    unfinished(stored)
    ready, done = CONTEXT.Event(), CONTEXT.Event()
    child = run_in_process(hold, stored, ready, done)
    assert ready.wait(60)
    child.kill()
    child.join()
    assert small_study(stored).run(*iris(), resume=True).facts().finished


def test_a_later_process_with_the_same_number_is_not_the_writer(stored):
    unfinished(stored)
    with Store(stored, write=True) as store:
        claim_study(store, store.study())
        with store.writing() as connection:
            number, born = os.getppid(), process_start(os.getppid())
            connection.execute("UPDATE writers SET process = ?, born = ?", (number, born))
        with pytest.raises(StoreError, match=f"by process {number}"):
            claim_study(store, store.study())
        with store.writing() as connection:
            connection.execute("UPDATE writers SET born = '12345'")
        assert claim_study(store, store.study()).name == "small"


def test_a_writer_on_another_host_is_recognised_by_its_heartbeat(stored):
    unfinished(stored)
    with Store(stored, write=True) as store:
        claim_study(store, store.study())
        with store.writing() as connection:
            connection.execute("UPDATE writers SET host = 'elsewhere'")
        with pytest.raises(StoreError, match="on elsewhere"):
            claim_study(store, store.study())
        with store.writing() as connection:
            connection.execute("UPDATE writers SET heartbeat = heartbeat - 1000")
        assert claim_study(store, store.study()).name == "small"


def test_a_writer_whose_study_was_taken_over_stops_writing(stored):
    unfinished(stored)
    with Store(stored, write=True) as store, Store(stored, write=True) as other:
        writer = claim_study(store, store.study())  # not entered, like a writer taken for dead
        with claim_study(other, other.study()):
            with pytest.raises(StoreError, match="taken over by another process"):
                writer.checkpoint(0, 1, {}, 0.0)
            assert not store.rows("SELECT 1 FROM checkpoints")


def read_many(path, count, found):
    found.put([len(facts_of(path).rows) for _ in range(count)])


@pytest.mark.slow
def test_two_processes_read_while_one_writes(tmp_path):
    path = tmp_path / "a.db"
    with Store(path, write=True):
        pass
    writer = run_in_process(make, path)
    while True:
        with Store(path) as store:
            if store.names():
                break
        assert writer.is_alive() or writer.exitcode == 0
    found = CONTEXT.Queue()
    readers = [run_in_process(read_many, path, 5, found) for _ in range(2)]
    lists = [found.get(timeout=60) for _ in readers]
    for process in (*readers, writer):
        process.join()
        assert process.exitcode == 0
    assert lists == [[44] * 5] * 2
    assert facts_of(path).finished


def add_studies(path, names, start):
    start.wait(60)
    for name in names:
        small_study(path, name).run(*iris())


@pytest.mark.slow
def test_two_processes_write_studies_into_one_file(tmp_path):
    path, start = tmp_path / "a.db", CONTEXT.Event()
    names = [[f"{letter}{k}" for k in range(4)] for letter in "ab"]
    all_names = [name for some in names for name in some]
    children = [run_in_process(add_studies, path, some, start) for some in names]
    start.set()
    for child in children:
        child.join()
        assert child.exitcode == 0
    with Store(path) as store:
        assert sorted(store.names()) == sorted(all_names)
    first = without_seconds(facts_of(path, "a0").table())
    assert all(without_seconds(facts_of(path, name).table()) == first for name in all_names)


def open_stores(folder, start):
    start.wait(60)
    for k in range(60):
        with Store(folder / f"{k}.db", write=True) as store:
            assert store.names() == []


@pytest.mark.slow
def test_several_processes_can_create_the_same_stores_simultaneously(tmp_path):
    start = CONTEXT.Event()
    children = [run_in_process(open_stores, tmp_path, start) for _ in range(4)]
    start.set()
    for child in children:
        child.join()
        assert child.exitcode == 0


# errors


def test_reading_does_not_create_a_store(tmp_path):
    with pytest.raises(StoreError, match="There is no store"):
        Store(tmp_path / "a.db")
    assert not list(tmp_path.iterdir())
    with pytest.raises(StoreError, match="does not exist"):
        Store(tmp_path / "nowhere" / "a.db", write=True)


def test_a_store_in_a_read_only_folder_can_be_read(public):
    path = public / "a.db"
    small_study(path).run(*iris())
    before = path.read_bytes()
    path.chmod(0o444)
    public.chmod(0o555)
    with not_as_root():
        assert facts_of(path, "small").finished
        with pytest.raises(StoreError, match="read-only"):
            small_study(path, "more").run(*iris())
        with pytest.raises(StoreError, match="read-only"):
            small_study(public / "new.db").run(*iris())
    assert path.read_bytes() == before
    assert [child.name for child in public.iterdir()] == ["a.db"]


def test_a_locked_store_can_be_read_but_not_written(stored):
    lock = sqlite3.connect(stored, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    try:
        with Store(stored, write=True, patience=0.05) as store:
            with pytest.raises(StoreError, match="is locked"):
                delete_study(store, "small")
            assert read_facts(store).finished
    finally:
        lock.execute("ROLLBACK")
        lock.close()
    assert facts_of(stored, "small").finished


@pytest.mark.parametrize("text", [b"", b"not a database, but some text\n" * 40])
def test_other_files_are_refused_and_not_changed(tmp_path, text):
    path = tmp_path / "a.db"
    path.write_bytes(text)
    with pytest.raises(StoreError, match=r"not a store"):
        facts_of(path, "small")
    if text:
        with pytest.raises(StoreError, match="not a store"):
            small_study(path).run(*iris())
    assert path.read_bytes() == text


def test_a_database_of_another_program_is_not_changed(tmp_path):
    path = tmp_path / "a.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs (title)")
    connection.close()
    with pytest.raises(StoreError, match="database of another program"):
        small_study(path).run(*iris())
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("songs",)]
    connection.close()


def test_a_damaged_file_gives_a_store_error_or_the_facts(stored):
    """A damaged file raises no other error than a StoreError."""
    whole, rng = stored.read_bytes(), random.Random(0)
    refused = 0
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(rng.choice([1, 20, 400])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        if rng.random() < 0.2:
            del damaged[rng.randrange(len(damaged)) :]
        stored.write_bytes(damaged)
        try:
            facts_of(stored, "small")
        except StoreError:
            refused += 1
        assert stored.read_bytes() == damaged
    assert refused > 30


def make_in_little_room(path, size, told):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        make(path)
    except StoreError as error:
        told.put(str(error))


def test_an_error_in_the_verdict_is_not_reported_as_damage(stored, monkeypatch):
    def judge(*_):
        raise ValueError("a slip of the program")

    monkeypatch.setattr("separatrix.study.store.reader.judge", judge)
    with pytest.raises(ValueError, match="a slip of the program") as slip:
        facts_of(stored, "small")
    assert not isinstance(slip.value, OSError)


@pytest.mark.slow
def test_a_full_disk_is_reported_and_stored_runs_are_kept(tmp_path):
    study_of(tmp_path / "b.db").run(*iris())
    path, told = tmp_path / "a.db", CONTEXT.Queue()
    child = run_in_process(make_in_little_room, path, 1_000_000, told)
    sentence = told.get(timeout=60)
    child.join()
    assert child.exitcode == 0
    assert "disk is full" in sentence
    assert "Everything stored so far is kept" in sentence
    facts = facts_of(path)
    assert not facts.finished
    assert facts.rows
    make(path)
    assert_same(facts_of(path), facts_of(tmp_path / "b.db"))


# versions


def test_a_store_of_the_first_version_can_be_read(tmp_path):
    path = tmp_path / "v1.db"
    shutil.copy(GOLDEN / "study-v1.db", path)
    facts = facts_of(path, "golden")
    expected = json.loads((GOLDEN / "study-v1.json").read_text())
    table = without_seconds(facts.table())
    # The first version did not store whether a run converged, but its observations say it.
    for row in table:
        assert row.pop("converged") == (row["observations"][0].split()[0] == "Converged:")
    assert table == without_seconds(expected["table"])
    assert facts.verdict.sentences[:2] == expected["sentences"][:2]
    assert facts.histories[0][0]["train_loss"].tolist() == expected["train_loss"]


def test_a_migration_runs_once_and_keeps_all_data(stored, monkeypatch):
    before = facts_of(stored, "small")
    newer = (*MIGRATIONS, "ALTER TABLE studies ADD COLUMN colour TEXT DEFAULT 'blue';\n")
    monkeypatch.setattr(store_module, "MIGRATIONS", newer)
    for write in (False, True, False):
        with Store(stored, write=write) as store:
            assert store.study()["colour"] == "blue"
    assert_same(facts_of(stored, "small"), before)


def test_a_migration_that_fails_changes_nothing(stored):
    connection = sqlite3.connect(stored, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, (*MIGRATIONS, "CREATE TABLE extra (a);\nDROP TABLE nowhere;\n"))
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'extra'").fetchall()
    connection.close()


def test_a_newer_store_is_refused(stored):
    connection = sqlite3.connect(stored, isolation_level=None)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for write in (False, True):
        with pytest.raises(StoreError, match="store of version 99"):
            Store(stored, write=write)

"""Studies are started, watched, stopped, killed and resumed through the lab."""

import asyncio
import http.client
import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import typer

from separatrix.cli.app import app
from separatrix.errors import ParameterError
from separatrix.lab.serve import HOST
from separatrix.lab.studies import study_watch
from separatrix.lab.studies.study_jobs import RESUMED, JobState, resumed_words
from separatrix.lab.studies.study_snapshots import study_progress, study_snapshot
from separatrix.lab.studies.study_watch import EventStream, StudyWatch
from separatrix.study import Store, read_facts
from separatrix.web.study_page import study_page

LONG = {"learning_rate": "0.001, 0.01", "momentum": "0", "l2": "0", "epochs": "15000"}


def stored_page(lab, name):
    """Return the page of the stored study as JSON values."""
    with Store(lab.store) as store:
        return json.loads(json.dumps(study_page(read_facts(store, name))))


def events(lab, name, count, last=None):
    """Return the keys and the values of the next events of a study."""
    connection = http.client.HTTPConnection(HOST, lab.port, timeout=30)
    headers = {"Cookie": lab.cookie} | ({"Last-Event-ID": last} if last else {})
    connection.request("GET", f"/api/studies/{name}/events", headers=headers)
    answer = connection.getresponse()
    assert answer.getheader("content-type").startswith("text/event-stream")
    found, key = [], None
    for line in answer:
        if line.startswith(b"id: "):
            key = line[4:].strip().decode()
        elif line.startswith(b"data: "):
            found.append((key, json.loads(line[6:])))
            if len(found) == count:
                break
    connection.close()
    return found


def run(work):
    """Run a coroutine in a thread of its own: the browser of other tests has a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


def test_the_list_and_the_page_have_json_twins(lab):
    _, found = lab.json("/api/studies")
    rates = next(one for one in found["studies"] if one["name"] == "rates")
    assert (rates["state"], rates["runs"], rates["data"]) == ("finished", 6, "iris")
    _, card = lab.json("/api/studies/rates/card")
    assert "learning rate" in card["best"]
    assert 2 <= len(card["curve"]) <= 62
    _, snapshot = lab.json("/api/studies/rates")
    assert snapshot["page"] == stored_page(lab, "rates")
    assert snapshot["progress"]["state"] == "finished"
    assert snapshot["progress"]["diverged"] == 2
    assert lab.json("/api/new")[1]["sources"][0]["name"] == "iris"


def test_a_snapshot_is_built_once_for_all_clients_and_not_for_those_that_have_it(lab):
    found, threads = [], []
    with_first = threading.Barrier(5)

    def watch():
        with_first.wait()
        found.extend(events(lab, "rates", 1))

    threads = [threading.Thread(target=watch) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 5
    assert all(value["page"] == stored_page(lab, "rates") for _, value in found)
    assert len({key for key, _ in found}) <= 2  # one, unless all had left before the last came


def test_one_build_serves_many_clients_and_only_changes_are_built(lab, monkeypatch):
    builds = []

    def counted(*arguments):
        builds.append(arguments)
        return study_snapshot(*arguments)

    monkeypatch.setattr(study_watch, "study_snapshot", counted)
    monkeypatch.setattr(study_watch, "INTERVAL", 0.01)

    async def client(watch):
        async with watch:
            first = await watch.newer("")
            with pytest.raises(TimeoutError):  # nothing changes
                await asyncio.wait_for(watch.newer(first.key), 0.3)
            return first

    async def all_clients():
        watch = StudyWatch(lab.store, "rates", lambda name: JobState(False))
        return await asyncio.gather(*(client(watch) for _ in range(50)))

    found = run(all_clients)
    assert len(builds) == 1
    assert len(set(map(id, found))) == 1


def test_a_client_that_falls_asleep_is_dropped_and_keeps_nothing_waiting(lab, monkeypatch):
    monkeypatch.setattr(study_watch, "SLOW", 0.05)
    sent = []

    async def send(message):
        sent.append(message)
        if len(sent) > 2:
            await asyncio.Event().wait()  # the client does not read any more

    async def receive():
        await asyncio.Event().wait()

    async def stream():
        watch = StudyWatch(lab.store, "rates", lambda name: JobState(False))
        await asyncio.wait_for(EventStream(watch, "")({}, receive, send), 5)
        return watch

    watch = run(stream)
    assert watch.clients == 0
    assert watch.snapshot is None
    assert sum(len(message.get("body", b"")) for message in sent) < 2 * study_watch.PIECE


@pytest.mark.slow
def test_a_study_is_started_killed_stopped_and_resumed_to_its_end(lab):
    form = {"source": {"name": "digits"}, "name": "long", "values": LONG}
    assert lab.json("/api/new", form) == (200, {"name": "long"})
    until = time.monotonic() + 120
    while lab.json("/api/studies/long")[1]["progress"]["share"] < 0.02:
        assert time.monotonic() < until
        time.sleep(0.05)
    running = lab.json("/api/studies/long")[1]
    assert running["progress"]["state"] == "running"
    assert running["progress"]["alive"] == 2
    assert running["page"]["curves"]["numbers"] == [0, 1]
    assert {row["stopped"] for row in running["page"]["rows"]} == {"in training"}
    assert lab.json("/api/new", form)[0] == 400  # the name is taken

    os.kill(lab.studies.jobs._jobs["long"].process.pid, signal.SIGKILL)
    killed = lab.wait_for("long", "stopped")
    assert killed["progress"]["resumable"]
    assert {row["stopped"] for row in killed["page"]["rows"]} == {"stopped"}
    assert "ended with code" in killed["progress"]["problem"]
    assert lab.json("/api/studies/long/resume", {}) == (200, {})
    lab.wait_for("long", "running")
    assert lab.json("/api/studies/long/stop", {}) == (200, {})
    assert lab.wait_for("long", "stopped")["progress"]["problem"] == ""
    assert lab.json("/api/studies/long/stop", {})[0] == 400
    assert lab.json("/api/studies/long/resume", {}) == (200, {})
    last, seen = None, []
    while not seen or seen[-1]["progress"]["state"] != "finished":
        ((last, value),) = events(lab, "long", 1, last)
        seen.append(value)
    assert not seen[-1]["progress"]["stoppable"]
    assert seen[-1]["page"] == stored_page(lab, "long")
    shares = [value["progress"]["share"] for value in seen]
    assert shares == sorted(shares)


@pytest.mark.slow
def test_a_study_of_an_uploaded_file_keeps_the_file_beside_the_store(lab):
    rows = [f"{k % 7},{(k * k) % 5},{'up' if k % 7 > 3 else 'down'}" for k in range(60)]
    body = "\n".join(["a,b,way", *rows]).encode()
    status, _, answer = lab.ask("/api/new/file?name=..%2F..%2Fmy%20rows.csv", "POST", body)
    assert status == 200
    key = json.loads(answer)["file"]
    source = {"source": {"file": key}}
    _, described = lab.json("/api/new/data", source)
    assert described["label"] == "way"
    assert described["name"] == "my-rows"
    assert described["words"].startswith("my-rows.csv: ")
    assert [(one["name"], one["kind"]) for one in described["columns"]] == [
        ("a", "numbers"), ("b", "numbers")]  # fmt: skip
    assert described["rows"][0] == ["0", "0"]
    _, other = lab.json("/api/new/data", source | {"label": "b"})
    assert [one["name"] for one in other["columns"]] == ["a", "way"]
    form = source | {"name": "my rows", "values": {"learning_rate": "0.1,1", "epochs": "20"}}
    status, plan = lab.json("/api/new/plan", form)
    assert status == 200
    assert plan["runs"] % 2 == 0
    assert lab.json("/api/new", form)[0] == 200
    lab.wait_for("my%20rows", "finished")
    (kept,) = (lab.store.parent / "separatrix-files").glob("*/*")
    assert kept.name == "my-rows.csv"
    assert kept.read_bytes() == body
    assert str(kept) in stored_page(lab, "my rows")["reproduce"][0]["text"]


def test_the_best_so_far_names_its_rule(lab):
    with Store(lab.store) as store:
        facts = read_facts(store, "rates")
    plan = {"parameters": {"epochs": 1}, "grid": [row.parameters for row in facts.rows]}
    progress = study_progress(facts, plan, {}, running=True)
    assert progress["best"].startswith("Best so far: ")
    assert facts.rows[facts.verdict.best].mark == "best"
    training = replace(
        facts,
        rows=[replace(row, state="training", mark="") for row in facts.rows],
        verdict=replace(facts.verdict, best=None),
    )
    progress = study_progress(training, plan, {}, running=True)
    assert progress["best"].startswith(
        "Highest validation accuracy so far (the verdict compares losses, too): "
    )


@pytest.mark.slow
def test_a_study_that_fails_says_why(lab):
    lab.studies.jobs.start("broken", "no-such-file.csv", [])
    failed = lab.wait_for("broken", "failed")
    assert "There is no file" in failed["progress"]["problem"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("", "run in Python"),
        ("separatrix fit iris", "its command is not known"),
        ("rm -r /", "its command is not known"),
        ("separatrix study --log=/tmp/x iris", "its command is not known"),
        ("separatrix study iris --log=/tmp/x", "the option --log"),
        ("separatrix study iris --report x.html", "the option --report"),
        ("separatrix study iris --dask tcp://elsewhere:8786", "the option --dask"),
        ("separatrix study iris 'unclosed", "its command is not known"),
    ],
)
def test_only_commands_that_write_nothing_else_are_resumed(command, words):
    with pytest.raises(ParameterError, match=words):
        resumed_words(command)


def test_all_options_of_a_study_that_select_data_or_parameters_are_resumed():
    command = typer.main.get_command(app).commands["study"]
    flags = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    own = {"--log", "--mlflow", "--report", "--no-report", "--name", "--resume", "--store"}
    others = {"--memory", "--threads", "--json", "--quiet", "--debug"}
    others.add("--dask")  # an address from a file is never connected to
    assert {flag for flag in flags if flag.startswith("--")} - RESUMED == own | others
    assert flags >= RESUMED

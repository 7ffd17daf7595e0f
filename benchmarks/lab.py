"""Measure the lab: frames a second of the playground, and what 50 clients cost a running study.

    python benchmarks/lab.py [--only frames clients] [--repeats 3] [--epochs 5000] [--clients 50]

frames    100 models on 1,000 points play in headless Chromium. The numbers are the median and the
          95th percentile of the time between two animation frames, best of several, and the time
          that the scripts take to draw one.
clients   A study runs in the lab, alone and with clients that receive its page through server-sent
          events, in turns. The processor time of the study's process is compared, best of several,
          and the last page of every client must be the stored study. All connections are to this
          machine, and all processes end with the benchmark.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from separatrix.study import Store, read_facts
from separatrix.web.study_page import study_page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WATCHED = 8.0  # seconds of playing
LONGEST = 240.0  # seconds of one study
MODELS = (
    "#data=moons&count=1000&features=linear&speed=60"
    "&acrossValues=0.01,0.02,0.05,0.1,0.2,0.5,1,1.5,2,3"
    "&downValues=0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9"
)
TIMED = """const ask = requestAnimationFrame;
window.spent = [];
window.requestAnimationFrame = draw => ask(now => {
  const began = performance.now();
  draw(now);
  window.spent.push(performance.now() - began);
});"""
DRAWN = "window.spent.filter(time => time > 1)"  # frames with a new epoch
FRAMES = """seconds => new Promise(done => {
  const times = [];
  const frame = now => {
    times.push(now);
    if (now - times[0] < 1000 * seconds) requestAnimationFrame(frame);
    else done(times.slice(1).map((time, k) => time - times[k]));
  };
  requestAnimationFrame(frame);
})"""


@dataclass(frozen=True)
class Lab:
    """A lab in a process of its own."""

    address: str
    host: str
    port: int
    cookie: str
    store: Path

    def ask(self, path: str, value: Any = None) -> Any:
        data = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(f"http://{self.host}{path}", data)
        request.add_header("Cookie", self.cookie)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)


@contextmanager
def started_lab() -> Iterator[Lab]:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "studies.db"
        words = ["lab", "--no-browser", "--json", "--store", str(store)]
        environment = os.environ | {"SEPARATRIX_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "separatrix", *words],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        try:
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["address"]
            host, _, token = address.removeprefix("http://").partition("/?token=")
            port = int(host.partition(":")[2])
            yield Lab(address, host, port, f"separatrix-{port}={token}", store)
        finally:
            process.terminate()
            process.wait(30)


def measure_frames(repeats: int) -> None:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print(f"frames: none of {', '.join(BROWSERS)} is installed")
        return
    with started_lab() as lab, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(TIMED)
        found = []
        for _ in range(repeats):
            page.goto(lab.address)
            page.goto(f"http://{lab.host}/play{MODELS}")
            page.wait_for_selector(".plane small:not(:empty)")
            page.reload()
            page.wait_for_selector(".plane small:not(:empty)")
            words = page.inner_text("#summary")
            page.click("text=▶ play")
            times = sorted(page.evaluate(FRAMES, WATCHED))
            epoch = page.input_value("input[aria-label=epoch]")
            spent = page.evaluate(DRAWN)
            found.append((statistics.median(times), times[int(0.95 * len(times))]))
            print(
                f"  {words}, epoch {epoch}: median {1000 / found[-1][0]:.0f} frames/s, "
                f"95 % of frames within {found[-1][1]:.0f} ms; scripts take "
                f"{statistics.median(spent):.1f} ms (median)"
            )
        browser.close()
    print(f"frames: {1000 / min(found)[0]:.0f} frames/s (best median of {repeats})")


async def watch(lab: Lab, name: str) -> tuple[int, dict[str, Any]]:
    """Return the number of events of a study, and the last one."""
    reader, writer = await asyncio.open_connection("127.0.0.1", lab.port, limit=1 << 26)
    head = f"GET /api/studies/{name}/events HTTP/1.1\r\nHost: {lab.host}\r\n"
    writer.write(f"{head}Cookie: {lab.cookie}\r\n\r\n".encode())
    body, events = bytearray(), 0
    await reader.readuntil(b"\r\n\r\n")
    try:
        while True:
            size = int((await reader.readline()).strip() or b"0", 16)
            if not size:
                raise ConnectionError("The stream has ended before the study.")
            body += await reader.readexactly(size)
            await reader.readline()
            if not body.endswith(b"\n\n"):
                continue
            start = body.find(b"data: ", 0, 100) + len(b"data: ")
            if body.startswith(b"id: "):
                events += 1
                if b'"state":"finished"' in body[start : start + 100]:
                    return events, json.loads(body[start:])
            body.clear()
    finally:
        writer.close()


def processor_time(process: int) -> float | None:
    """Return the seconds of processor time of a process, or None if it has ended."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    if fields[0] == "Z":
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def run_study(lab: Lab, name: str, epochs: int, clients: int) -> tuple[float, float, int]:
    """Run a study; return processor time and wall time of its process, and events of a client."""
    values = {"learning_rate": "0.01,0.03,0.1,0.3", "momentum": "0,0.9", "l2": "0,0.01,0.1",
              "epochs": str(epochs)}  # fmt: skip
    form = {"source": {"name": "digits"}, "name": name, "values": values}
    await asyncio.to_thread(lab.ask, "/api/new", form)
    began = time.monotonic()
    watching = [asyncio.create_task(watch(lab, name)) for _ in range(clients)]
    process, spent = None, 0.0
    while time.monotonic() - began < LONGEST:
        await asyncio.sleep(0.1)
        if process is None and lab.store.exists():
            with Store(lab.store) as store:
                rows = store.rows(
                    "SELECT process FROM writers JOIN studies ON id = study WHERE name = ?", (name,)
                )
            process = rows[0]["process"] if rows else None
        elif process is not None:
            now = processor_time(process)
            if now is None:
                break
            spent = now
    wall = time.monotonic() - began
    async with asyncio.timeout(60):
        seen = await asyncio.gather(*watching)
    with Store(lab.store) as store:
        stored = json.loads(json.dumps(study_page(read_facts(store, name))))
    equal = sum(value["page"] == stored for _, value in seen)
    if equal != clients:
        raise AssertionError(f"only {equal} of {clients} final pages equal the stored study")
    return spent, wall, min((events for events, _ in seen), default=0)


def measure_clients(repeats: int, epochs: int, clients: int) -> None:
    alone, watched = [], []
    with started_lab() as lab:
        for k in range(repeats):
            for found, count in ((alone, 0), (watched, clients)):
                name = f"{'watched' if count else 'alone'}-{k}"
                spent, wall, events = asyncio.run(run_study(lab, name, epochs, count))
                found.append(spent)
                said = f", {events} events, all final pages equal" if count else ""
                print(
                    f"  {count:2d} clients: {spent:.2f} s of processor time in {wall:.0f} s{said}"
                )
    growth = min(watched) / min(alone) - 1.0
    print(f"clients: {100 * growth:+.1f} % processor time with {clients} (best of {repeats})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=["frames", "clients"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5000)
    parser.add_argument("--clients", type=int, default=50)
    options = parser.parse_args()
    if "frames" in options.only:
        measure_frames(options.repeats)
    if "clients" in options.only:
        measure_clients(options.repeats, options.epochs, options.clients)


if __name__ == "__main__":
    main()

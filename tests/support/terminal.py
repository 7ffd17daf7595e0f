"""Run the program in a real terminal."""

import fcntl
import json
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("separatrix")
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SECONDS = 120.0
# Ctrl-C reaches the processes whose controlling terminal it was pressed in, unless they were told
# to ignore it, as all are that a script starts in the background.
TAKE_OVER = """
import fcntl, os, signal, sys, termios
signal.signal(signal.SIGINT, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


# Many commands in one process, each as if it were the only one: starting a process is slow.
MANY = """
import json, sys
from separatrix.cli import main
codes = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["separatrix", *words]
    try:
        main()
    except SystemExit as end:
        codes.append(end.code or 0)
    except Exception:
        sys.excepthook(*sys.exc_info())
        codes.append(1)
    print(f"\\n<<end of {len(codes)}>>", flush=True)
print("codes", json.dumps(codes))
"""


def run_many(commands, folder, **variables):
    """Return what each of many commands shows in a terminal, and its exit code."""
    words = ["-c", MANY, json.dumps(commands)]
    shown, code = run(words, folder, program=sys.executable, **variables)
    assert code == 0, shown[-2000:]
    return split_many(shown, commands)


def split_many(shown, commands):
    """Split the output of `MANY` by command, each with its exit code."""
    *parts, last = re.split(r"\r?\n<<end of \d+>>\r?\n", shown)
    codes = json.loads(last.partition("codes ")[2])
    assert len(parts) == len(codes) == len(commands)
    return zip(commands, parts, codes)


def run(words, folder, *, columns=80, interrupt_at=None, program=PROGRAM, **variables):
    """Run the program in a terminal; press Ctrl-C when it has shown `interrupt_at`."""
    terminal, inside = os.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR", "CI")}
    child = subprocess.Popen(
        [sys.executable, "-c", TAKE_OVER, str(program), *words],
        cwd=folder,
        env=env | {"TERM": "xterm-256color"} | variables,
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    )
    os.close(inside)
    shown, pressed, began = b"", False, time.monotonic()
    while time.monotonic() - began < SECONDS:
        if interrupt_at and not pressed and interrupt_at in shown.decode(errors="ignore"):
            os.write(terminal, b"\x03")
            pressed = True
        if not select.select([terminal], [], [], 0.05)[0]:
            continue
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(terminal)
    return shown.decode(), child.wait(SECONDS)

"""How far a reader walks to follow one message: which modules call which while a turn is answered.

`python -m benchmarks walk` traces one scripted turn with one message and one memory reference in this code; with
`--beside FOLDER`, in another state of it as well. A *stop* is a change of module from one call to the next; a *return*
is a change into a module that the walk has left before. Only first entries into functions count: going on in a
generator, and coming back to a caller, are not calls. The upkeep, which is at work meanwhile, doesn't count: neither
its threads nor what begins its work on the loop, of which there is more the longer the turn takes. A turn of the same
kind goes before the traced one: what the first of them prepares (statements, templates) is on nobody's way.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.live_server import ROOT

from ..fake_model import running, settings_for
from ..figures import Figure
from ..seeded import Bench

_ROUNDS = 3
# Runs in the folder of the state that is looked at, knows it by its HTTP interface alone, and prints the walk.
_TRACED = """
import json, sys, threading
from pathlib import Path

root, walk, listening, lock = Path.cwd(), [], threading.Event(), threading.Lock()
OTHERS = (".venv", "benchmarks", "documentation", "examples", "interface", "setup", "tests")
names = {}

def module_of(code):
    if code not in names:
        path = Path(code.co_filename)
        inside = path.is_relative_to(root) and path.relative_to(root)
        ours = inside and inside.parts[0] not in OTHERS
        names[code] = str(inside) if ours and not code.co_name.startswith("<") else None
    return names[code]

def is_of_upkeep(frame):
    if threading.current_thread().name.startswith("upkeep"):
        return True
    for _ in range(4):
        if frame is not None and frame.f_code.co_filename.endswith("upkeep.py"):
            return True
        frame = frame and frame.f_back
    return False

def note(frame, event, _argument):
    if event == "call" and listening.is_set() and frame.f_lasti < 16:
        module = module_of(frame.f_code)
        if module is not None and not is_of_upkeep(frame):
            with lock:
                walk.append(module)

threading.setprofile(note)
from server import create_app

app = create_app()
client = app.test_client()
own = {"Origin": "http://localhost"}

def post(path, **body):
    return client.post(path, json=body, headers=own)

assert post("/setup", email="ann@example.org", password="correct horse battery", name="Ann").status_code < 400
told = post("/create_conversation/assistant/").get_json()["conversation_id"]
lines = post(f"/send_message/{told}", messageText="The watering plan is two litres a day.").get_data().splitlines()
claim = post("/pkb/claims", statement="I water in the morning.").get_json()["claim"]
name = client.get(f"/get_conversation_details/{told}").get_json()["conversation_friendly_id"]
text = f"Does @conversation_{name}_message_1 fit @{claim['friendly_id']}?"
before, asking = (post("/create_conversation/assistant/").get_json()["conversation_id"] for _ in range(2))
post(f"/send_message/{before}", messageText=text).get_data()
sys.setprofile(note)
listening.set()
events = [json.loads(line) for line in post(f"/send_message/{asking}", messageText=text).get_data().splitlines()]
listening.clear()
sys.setprofile(None)
fates = [entry["status"] for event in events for entry in event.get("references") or []]
assert fates[:2] == ["resolved", "resolved"], fates
print(json.dumps(walk))
"""


def walk(bench: Bench) -> Iterator[Figure]:
    """The shortest of a few walks: threads that meet differently make some longer."""
    states = {"": ROOT} if bench.beside is None else {"": ROOT, f" in {bench.beside.name}": bench.beside}
    for name, root in states.items():
        walks = [_walked(bench.scratch("walk"), root) for _ in range(_ROUNDS)]
        stops, returns = min(_counted(each) for each in walks)
        yield Figure(name=f"stops of a turn{name}", value=stops, unit="", samples=_ROUNDS)
        yield Figure(name=f"returns of a turn{name}", value=returns, unit="", samples=_ROUNDS)
        yield Figure(name=f"modules of a turn{name}", value=len(set(walks[0])), unit="", samples=_ROUNDS)


def _counted(modules: list[str]) -> tuple[int, int]:
    stops = returns = 0
    left: set[str] = set()
    last = None
    for module in modules:
        if module != last:
            stops += 1
            returns += module in left
            if last is not None:
                left.add(last)
            last = module
    return stops, returns


def _walked(folder: Path, root: Path) -> list[str]:
    with running() as address:
        environ = settings_for(address, "quick") | {
            "ANAPHORA_EMBEDDING_MODEL": "none",
            "ANAPHORA_DATA_DIR": str(folder),
        }
        command = [sys.executable, "-c", _TRACED]
        traced = subprocess.run(command, cwd=root, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    found: list[str] = json.loads(traced.stdout.splitlines()[-1])
    return found

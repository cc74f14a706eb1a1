"""Runs one client of tests/e2e/clients in the interpreter that has it.

usage: client_child.py FILE BOX

FILE is the client's `with_*.py`, BOX the fields of client_box.Box as JSON. Then each line on stdin is a call, {"verb",
"arguments"}, answered by a line on stdout: {"result"} or {"error": a traceback}; at the end `stop` is called, if the file
has it. What the client itself prints goes to
stderr. Needs only the standard library, for it runs in other environments than the tests.
"""

import base64
import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path

import client_box


def load(file):
    sys.path.append(str(Path(file).parent))
    specification = importlib.util.spec_from_file_location(Path(file).stem, file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def plain(value):
    """bytes as {"base64"}; the rest is JSON's own."""
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    box = client_box.Box(**json.loads(sys.argv[2]))
    module = None
    for line in sys.stdin:
        call = json.loads(line)
        try:
            module = module or load(sys.argv[1])
            answer = {"result": plain(getattr(module, call["verb"])(box, *call["arguments"]))}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)
    if hasattr(module, "stop"):
        module.stop(box)
    # Some clients crash while the interpreter clears up; nothing of that is tested here.
    sys.stderr.flush()
    os._exit(0)


main()

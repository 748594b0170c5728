#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""any_number.py XIO_GOLDEN FILE: puts numbers that are out of any range in each place of a golden file that holds one.

Each kind of place (a member's name, in a case or in what the file is made with) gets every value once, in the first case that
has it. The replayer may pass, fail or refuse the case: exit status 0, 1 or 2. It may not crash, nor take long.
"""

import copy
import json
import resource
import subprocess
import sys

VALUES = (0, 1 << 32, (1 << 64) - 1, "99999999999999999999999")
LIMIT = 60  # seconds
MEMORY = 8 << 30


def is_number(value):
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or isinstance(value, str) and value[:1].isdigit() and all(
        c in "0123456789abcdefABCDEFxX" for c in value)


def places(value, path=()):
    """Paths of all numbers."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, path + (key,))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from places(inner, path + (i,))
    elif is_number(value):
        yield path


def store(value, path, new):
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = new


def kind(path):
    return tuple(step for step in path if isinstance(step, str))


def variants(file):
    """Files of one case each, with one number changed."""
    frame = {key: value for key, value in file.items() if not isinstance(value, list)}
    seen = set()
    for section, cases in file.items():
        if not isinstance(cases, list):
            continue
        for case in cases:
            made_with = {key: value for key, value in frame.items() if key in ("ring_info", "config_info", "configs")}
            config = case.get("config") if isinstance(case, dict) else None
            for name in ("config_info", "configs"):
                if name in made_with and config in made_with[name]:
                    made_with[name] = {config: made_with[name][config]}
            for where, root in (("case", case), ("frame", made_with)):
                for path in places(root):
                    # Of the frame, what a section makes of it counts, not which configuration it is.
                    what = (section, where, kind(path)[-1:] if where == "frame" else kind(path))
                    if what in seen:
                        continue
                    seen.add(what)
                    for value in VALUES:
                        changed = {**copy.deepcopy(frame), section: [copy.deepcopy(case)]}
                        store(changed[section][0] if where == "case" else changed, path, value)
                        yield f"{section} {case.get('id')} {where} {'.'.join(map(str, path))} = {value!r}", changed


def main():
    golden, name = sys.argv[1:]
    with open(name, encoding="utf-8") as stream:
        file = json.load(stream)
    tried = wrong = 0
    for what, changed in variants(file):
        tried += 1
        try:
            status = subprocess.run([golden, "/dev/stdin"], input=json.dumps(changed).encode(), timeout=LIMIT,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))).returncode
        except subprocess.TimeoutExpired:
            status = f"nothing within {LIMIT} s"
        if status not in (0, 1, 2):
            wrong += 1
            print(f"{what}: {status}")
    print(f"{name}: {tried} numbers out of range, {wrong} that the replayer cannot bear")
    return 1 if wrong or tried < 20 else 0


if __name__ == "__main__":
    sys.exit(main())

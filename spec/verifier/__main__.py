"""The verifier's command line. Run it in spec/:

    python3 -m verifier check-vectors DIR          every statement of the vectors in DIR
    python3 -m verifier run RUN [--replay DATA]    a run against its roots; with DATA, every element of it computed again
    python3 -m verifier element FILE CASE OUTPUT INDEX [ENTRY]
                                                   one element of a case written as tests/vectors/README.md says
    python3 -m verifier judge EVIDENCE             the verdict on an evidence file, as one JSON object
    python3 -m verifier --self-test                the verifier's own unit tests

Exit codes: 0 all holds, 1 something does not (with judge always: somebody is wrong, or nobody can say), 2 bad usage or no such file.
"""
import json
import pathlib
import sys
import unittest

from . import vectors
from .numbers import Refused
from .evidence import judge
from .replay import Replay
from .runs import check_run


def check_vectors(folder):
    statements, complaints = vectors.check_folder(folder)
    for text in complaints:
        print(text)
    print(f"verifier: {statements} statements, {len(complaints)} do not hold")
    return 1 if complaints else 0


def run(folder, *rest):
    if rest and (len(rest) != 2 or rest[0] != "--replay"):
        return usage()
    try:
        found = check_run(folder)
        if rest:
            Replay(found, rest[1]).all()
    except Refused as why:
        print(f"refused: {why}")
        return 1
    entries = sum(len(bits) for leaf in found.log for bits in leaf.values())
    print(f"job {found.job_id.hex()}\nrun {found.id.hex()}\nroot {found.root.hex()}")
    print(f"{len(found.leaf)} leaves, {entries} entries, snapshots of steps {', '.join(map(str, found.snapshots))}"
          f"{', every element computed again' if rest else ''}: all fits")
    return 0


def element(path, name, output, index, entry="-"):
    case = None
    for line in pathlib.Path(path).read_text().splitlines():
        words = line.split(" ")
        if words[0] == "case":
            if case:
                break
            case = vectors.Case(name) if words[1] == name else None
        elif case and line and line[0] != "#":
            case.set(words[0], words[1:])  # its own statements are not asked
    if not case:
        print(f"{path}: no case {name}")
        return 2
    try:
        meaning, word = case.element(int(output), int(index), None if entry == "-" else int(entry))
    except Refused as why:
        print(f"refused: {why}")
        return 1
    print(f"{meaning} {word:08x} ({vectors.f32(word):g})")
    return 0


def judge_file(path):
    ruling, reason, known = judge(pathlib.Path(path).read_bytes())
    print(json.dumps({"verdict": ruling, "text": reason, **known}))
    return 1


def self_test():
    suite = unittest.defaultTestLoader.discover(str(pathlib.Path(__file__).parent / "tests"),
                                                top_level_dir=str(pathlib.Path(__file__).parents[1]))
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


def usage():
    print(__doc__, file=sys.stderr)
    return 2


COMMANDS = {"check-vectors": (check_vectors, 1, 1), "run": (run, 1, 3), "element": (element, 4, 5), "judge": (judge_file, 1, 1),
            "--self-test": (self_test, 0, 0)}


def main(words):
    command, least, most = COMMANDS.get(words[0] if words else "", (None, 0, 0))
    if not command or not least <= len(words) - 1 <= most:
        return usage()
    try:
        return command(*words[1:])
    except OSError as why:
        print(f"{why.filename}: {why.strerror}", file=sys.stderr)
        return 2


sys.exit(main(sys.argv[1:]))

"""Where tests find the data sets that are too large for this repository.

A set lies in a folder of its name below $LOCKSTEP_DATA, else below ../shared/data seen from the repository, where that
exists, else below the folder that Debian's packages use.
"""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBIAN = pathlib.Path("/usr/share/datasets")
PLACES = [pathlib.Path(p) for p in (os.environ.get("LOCKSTEP_DATA"), ROOT.parent / "shared" / "data", DEBIAN) if p]


def above(name):
    """The first of the places that has a folder `name`; the first that exists where none has."""
    places = [place for place in PLACES if place.is_dir()]
    return next((place for place in places if (place / name).is_dir()), (places + PLACES)[0])


def missing(name, file):
    """Nothing, or the loud line to skip with: the set's file is in none of the places."""
    if (above(name) / name / file).exists():
        return None
    return f"*** SKIPPED: found no {name}/{file} below {', '.join(map(str, PLACES))}; LOCKSTEP_DATA names another place"

"""The pages, the verifier and the vectors speak of the same things."""
import hashlib
import pathlib
import re
import struct
import unittest

from verifier import functions
from verifier.ops import TABLE

SPEC = pathlib.Path(__file__).resolve().parents[2]
ELEMENTS = SPEC.parent / "tests" / "vectors" / "elements"


class Pages(unittest.TestCase):
    def test_every_op_is_defined_and_no_other(self):
        text = (SPEC / "ops.md").read_text().split("## From a job to its programs")[0]
        defined = {name for line in re.findall(r"^(\*\*[a-z0-9_]+\*\*(?:, \*\*[a-z0-9_]+\*\*)*) —", text, re.M)
                   for name in re.findall(r"[a-z0-9_]+", line)}
        self.assertEqual(defined, set(TABLE))

    def test_every_op_has_cases_and_refusals(self):
        asked, refused = set(), set()
        for path in ELEMENTS.glob("*.txt"):
            for case in path.read_text().split("\n\n"):
                kind = re.search(r"^op (\S+)", case, re.M)
                if kind:
                    (refused if "\nrefuse" in case else asked).add(kind[1])
        self.assertEqual(asked, set(TABLE))
        self.assertEqual(set(TABLE) - refused, set())

    def test_the_digest_of_the_logarithm_s_table(self):
        rows = b"".join(struct.pack("<3d", *functions._log_row(i)) for i in range(128))
        digest = hashlib.sha256(rows).hexdigest()
        self.assertIn(digest, (SPEC / "arithmetic.md").read_text())

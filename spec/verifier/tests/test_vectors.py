"""The vector reader notices what does not hold."""
import pathlib
import tempfile
import unittest

from verifier import vectors

CASE = """case c
input f32 1x2 words 3f800000 33800000
input f32 2x1 words 3f800000 3f800000
op matmul 2
ints 0 0
output f32 32 1x1
check 0 0 - value 3f800000
twin 0 0 0
"""


def complaints(text, table=None):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "v.txt"
        path.write_text(text)
        return len(vectors.check_file(path, table)[1])


class Cases(unittest.TestCase):
    def test_good(self):
        self.assertEqual(complaints(CASE), 0)

    def test_each_changed_line_is_noticed(self):
        for old, new in (("value 3f800000", "value 3f800001"), ("- value", "1 redundant"), ("1x1\n", "1x2\n"),
                         ("words 3f8", "words 3f9"),
                         ("twin 0 0 0", "refuse"), ("op matmul 2", "op matmul 1"), ("ints 0 0", "ints 0 2"),
                         ("33800000", "33800001"),
                         ("check", "chekc"), ("f32 32", "f32 16"), ("twin 0 0 0", "record " + 64 * "0")):
            self.assertGreater(complaints(CASE.replace(old, new)), 0, new)

    def test_statements(self):
        self.assertEqual(complaints("exp 3f800000 = 402df854\n", vectors.NUMBERS), 0)
        self.assertEqual(complaints("exp 3f800000 = 402df855\n", vectors.NUMBERS), 1)
        self.assertEqual(complaints("exp 3f800000\nexq 3f800000 = 402df854\n", vectors.NUMBERS), 2)

    def test_an_empty_folder_is_no_success(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(vectors.check_folder(folder), (0, [f"{folder}: no vectors in it"]))

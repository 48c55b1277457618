"""Trees, proofs, frames, heads and job bytes: what is made is accepted, what is changed is refused."""
import hashlib
import unittest

from verifier import entries, jobs, leaves, merkle, models
from verifier.numbers import Refused
from verifier.program import Program, read_program, read_record


def recursion(items):
    """RFC 9162, section 2.1.1, as it is written there."""
    if len(items) == 1:
        return hashlib.sha256(b"\0" + items[0]).digest()
    k = 1
    while 2 * k < len(items):
        k *= 2
    return hashlib.sha256(b"\1" + recursion(items[:k]) + recursion(items[k:])).digest()


class Trees(unittest.TestCase):
    def test_heads(self):
        for n in range(1, 70):
            items = [bytes([i]) * (i % 5) for i in range(n)]
            self.assertEqual(merkle.head(items), recursion(items))

    def test_a_changed_proof_is_refused(self):
        for size in (1, 2, 3, 6, 7, 8, 13):
            hashes = [merkle.leaf_hash(bytes([i])) for i in range(size)]
            root = merkle.head_of_hashes(hashes)
            for index in range(size):
                proof = merkle.inclusion_proof(hashes, index)
                merkle.check_inclusion(root, size, index, hashes[index], proof)
                for other in range(len(proof)):
                    bent = proof[:other] + [bytes([proof[other][0] ^ 1]) + proof[other][1:]] + proof[other + 1:]
                    self.assertRaises(Refused, merkle.check_inclusion, root, size, index, hashes[index], bent)
                self.assertRaises(Refused, merkle.check_inclusion, root, size, index, hashes[index],
                                  proof + proof[:1] + [root])
                for wrong in range(size):
                    if wrong != index:
                        self.assertRaises(Refused, merkle.check_inclusion, root, size, wrong, hashes[index], proof)

    def test_multiproofs_of_every_set(self):
        for size in range(1, 8):
            hashes = [merkle.leaf_hash(bytes([i])) for i in range(size)]
            root = merkle.head_of_hashes(hashes)
            for chosen in range(1, 1 << size):
                given = {i: hashes[i] for i in range(size) if chosen >> i & 1}
                proof = merkle.multiproof(hashes, list(given))
                merkle.check_multiproof(root, size, given, proof)
                first = min(given)
                self.assertRaises(Refused, merkle.check_multiproof, root, size, {**given, first: hashes[first][::-1]},
                                  proof)
                self.assertRaises(Refused, merkle.check_multiproof, root, size, given, proof + [root])


class Frames(unittest.TestCase):
    def test_each_byte_string_of_two_bytes(self):
        """Either refused, or the canonical bytes of what it says."""
        accepted = 0
        for elements, encoding in ((3, "sparse"), (3, "dense"), (7, "sparse")):
            for value in range(1 << 16):
                data = value.to_bytes(2, "big")
                try:
                    found = entries.decode(data, elements, encoding)
                except Refused:
                    continue
                accepted += 1
                self.assertEqual(entries.encode(found, elements, encoding), data)
        self.assertGreater(accepted, 30)


def job(**changes):
    fields = {f.path: f.default for f in jobs.FIELDS}
    fields |= {"name": "n", "model.arch": "mlp", "model.classes": 3, "model.hidden": [4], "model.pool": "max", "model.activation": "relu",
               "model.width": 1.0,
               "model.head": "cifar", "data.format": "idx", "data.limit": 0, "data.mean": [0.0], "data.std": [255.0],
               "train.steps": 5,
               "train.batch": 2, "train.seed": 1, "train.commit_every": 1, "optimizer.name": "sgd", "optimizer.lr": 0.1,
               "optimizer.momentum": 0.5, "optimizer.weight_decay": 0.0, "optimizer.nesterov": 0,
               "schedule.name": "constant",
               "schedule.warmup": 0, "arithmetic.mode": "logged", "arithmetic.grid": 32, "arithmetic.state_grid": 32}
    fields |= {key: bytes(32) for key in jobs.BINDING} | {"channels": 1, "height": 2, "width": 2, "samples": 8, "steps": 5}
    return fields | changes


class Jobs(unittest.TestCase):
    def test_bytes_come_back(self):
        data = jobs.encode(job())
        self.assertEqual(jobs.decode(data), job())

    def test_no_flipped_byte_means_the_same_job(self):
        data = jobs.encode(job())
        for at in range(len(data)):
            bent = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
            try:
                self.assertNotEqual(jobs.decode(bent), job())
            except Refused:
                pass
        for bent in (data[:-1], data + b"\0"):
            self.assertRaises(Refused, jobs.decode, bent)

    def test_refused_jobs(self):
        for changes in ({"train.epochs": 1}, {"train.steps": 0}, {"steps": 6}, {"samples": 1}, {"schedule.gamma": 0.5},
                        {"arithmetic.grid": 33}, {"arithmetic.compute": "fp32"}, {"model.hidden": [0]},
                        {"data.shape": [1, 2]},
                        {"optimizer.lr": -0.0}, {"name": "-n"}, {"arithmetic.mode": "pinned", "arithmetic.depth": 3},
                        {"arithmetic.mode": "other"}, {"schedule.name": "step"}):
            self.assertRaises(Refused, jobs.decode, jobs.encode(job(**changes)))

    def test_text(self):
        text = 'lockstep: 1\nname: n\n'
        lines = jobs.yaml_lines(job())
        jobs.check_yaml("\n".join(lines) + "\n", job())
        jobs.check_yaml("\n".join(lines[:9] + ['  path: "a b"'] + lines[9:]) + "\n", job())
        self.assertRaises(Refused, jobs.check_yaml, text, job())
        self.assertRaises(Refused, jobs.check_yaml, "\n".join(lines), job())
        self.assertRaises(Refused, jobs.check_yaml, "\n".join(lines).replace("seed: 1", "seed: 2") + "\n", job())


class Programs(unittest.TestCase):
    def test_records_are_read_back(self):
        _, step = models.programs(job())
        records = [step.record(i) for i in range(len(step.ops))]
        state = [(v.name, v.shape) for v in step.values[:step.states]]
        again = read_program(records, state, 32, 32)
        self.assertEqual(again.digest(), step.digest())
        self.assertRaises(Refused, read_program, records[:-1], state, 32, 32)
        self.assertRaises(Refused, read_program, records[1:], state, 32, 32)
        self.assertRaises(Refused, read_program, records, state[:-1], 32, 32)

    def test_a_changed_record_is_refused_or_another_program(self):
        _, step = models.programs(job())
        records = [step.record(i) for i in range(len(step.ops))]
        state = [(v.name, v.shape) for v in step.values[:step.states]]
        for which in (0, 3, len(records) - 1):
            for at in range(len(records[which])):
                bent = records[which][:at] + bytes([records[which][at] ^ 4]) + records[which][at + 1:]
                try:
                    program = read_program(records[:which] + [bent] + records[which + 1:], state, 32, 32)
                except (Refused, UnicodeDecodeError):
                    continue
                self.assertNotEqual(program.digest(), step.digest())

    def test_every_change_of_a_job_changes_a_digest(self):
        plain = [p.digest() for p in models.programs(job())]
        for changes in ({"train.seed": 2}, {"model.hidden": [5]}, {"optimizer.momentum": 0.0}, {"arithmetic.grid": 16},
                        {"data.augment": ["flip"]}, {"schedule.name": "cosine"}, {"steps": 6}, {"optimizer.nesterov": 1}):
            self.assertNotEqual(plain, [p.digest() for p in models.programs(job(**changes))])

    def test_all_models_build(self):
        for arch in models.MODELS:
            init, step = models.programs(job(**{"model.arch": arch, "model.hidden": [4] if arch == "mlp" else [],
                                                "height": 32, "width": 32,
                                                "model.width": 0.1 if arch in models.READS["model.width"] else 1.0,
                                                "channels": 3}))
            self.assertEqual(init.ops[-1].kind, "commit")
            self.assertEqual(len(step.ops[-1].inputs), step.states)

    def test_outputs_of_given_ops_have_types(self):
        program = Program()
        program.add_given("labels", leaves.I32, (3,))
        program.add_given("x", leaves.F32, (3, 2))
        self.assertRaises(Refused, program.append, "relu", "y", [0])
        program.append("cross_entropy_grad", "y", [1, 0])
        self.assertEqual(read_record(program.record(2))["inputs"], [(2, 0), (1, 0)])

#!/usr/bin/env python3
"""Exchanges GPT-2's weights with the Python package transformers: what `lockstep export` writes, GPT2LMHeadModel loads unchanged and
computes the same with; what it and GPT2Model (whose names lack a prefix) save, whole or in shards, FP32 or FP16, starts a job.

    interop_transformers.py --lockstep build/lockstep

The package needs torch, which is too large to be fetched for a test: it is put into a virtual environment over an interpreter that
has torch (LOCKSTEP_TORCH_PYTHON, this one, /usr/bin/python3), or taken from LOCKSTEP_TRANSFORMERS_PYTHON. Where that cannot be done, the
test is skipped, loudly (exit code 77).
"""
import math
import os
import sys

import interop

PACKAGE = "transformers==4.38.2"  # the last to run with PyTorch 1.13, which Debian 12 has
JOB = """\
lockstep: 1
name: interop
model: {arch: gpt2, layers: 2, heads: 2, embedding: 24, context: 32, vocab: 256}
data: {format: text, path: "builtin:verses", length: 32, holdout: 0.2}
train: {steps: 30, batch: 8, seed: 1}
optimizer: {name: adamw, lr: 0.01}
arithmetic: {mode: exact}
"""


def find(folder):
    return interop.interpreter(folder, "torch, transformers, safetensors", [PACKAGE, "safetensors"],
                               candidates=(os.environ.get("LOCKSTEP_TRANSFORMERS_PYTHON"), sys.executable),
                               bases=(os.environ.get("LOCKSTEP_TORCH_PYTHON"), sys.executable, "/usr/bin/python3"), base_modules="torch")


class Exchange(interop.Commands):
    def __init__(self, lockstep, folder):
        super().__init__(lockstep, folder)
        (folder / "job.yaml").write_text(JOB)

    def import_root(self, path):
        return self.done("plan", "job.yaml", "--set", f"model.init_from={path}")["import"]

    def load(self, cls):
        model, info = cls.from_pretrained(self.folder / "hf", output_loading_info=True)
        assert not any(info.values()), info
        return model.eval()

    def check(self):
        import torch
        import transformers
        from safetensors.torch import load_file
        self.done("train", "job.yaml", "--run", "run")
        (self.folder / "hf").mkdir()
        self.done("export", "run", "-o", "hf/model.safetensors")
        config = transformers.GPT2Config(vocab_size=256, n_positions=32, n_embd=24, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
        config.save_pretrained(self.folder / "hf")
        model = self.load(transformers.GPT2LMHeadModel)
        tensors, state = load_file(self.folder / "hf/model.safetensors"), model.state_dict()
        assert len(tensors) == 28 and all(torch.equal(state[name], tensor) for name, tensor in tensors.items())
        self.check_numbers(torch, model)
        self.check_saved(torch, model, self.load(transformers.GPT2Model))

    def check_numbers(self, torch, model):
        """The same text, token for token, where the likeliest one is taken; and loss as eval finds it, within FP32's reach."""
        ours = self.done("sample", "run", "--prompt", "The ", "--tokens", 24, "--temperature", 0)["text"]
        theirs = model.generate(torch.tensor([list(b"The ")]), do_sample=False, min_new_tokens=24, max_new_tokens=24, pad_token_id=0)
        assert bytes(theirs[0].tolist()).decode(errors="replace") == ours, (theirs, ours)
        found = self.done("eval", "run")
        assert abs(found["perplexity"] - math.exp(found["loss"])) < 1e-4 * found["perplexity"], found
        # that generated text is what the model finds likely, and a turned one is not
        ids = torch.tensor([list(ours.encode())])
        straight, turned = (float(model(x, labels=x).loss) for x in (ids, ids.flip(1)))
        assert straight < turned, (straight, turned)

    def check_saved(self, torch, model, base):
        root = self.import_root("hf")
        assert self.import_root("hf/model.safetensors") == root
        for name, saved, words in (("lm", model, {}), ("base", base, {}), ("shards", model, {"max_shard_size": "10KB"})):
            saved.save_pretrained(self.folder / name, safe_serialization=True, **words)
            assert self.import_root(name) == root, name
        assert len(list((self.folder / "shards").glob("*.safetensors"))) > 3 and (self.folder / "shards/model.safetensors.index.json").exists()
        model.half().save_pretrained(self.folder / "half", safe_serialization=True)
        model.float().save_pretrained(self.folder / "wide", safe_serialization=True)  # what halves are as FP32
        assert self.import_root("half") == self.import_root("wide") != root
        model.transformer.wte.weight.data[0, 0] = float("nan")
        model.save_pretrained(self.folder / "nan", safe_serialization=True)
        code, result = self.run("plan", "job.yaml", "--set", "model.init_from=nan")
        assert code == 2 and "wte" in result["error"], result


def exchange(lockstep, folder):
    Exchange(lockstep, folder).check()
    return "GPT-2's weights went both ways"


if __name__ == "__main__":
    sys.exit(interop.main(__file__, __doc__, "transformers", find, exchange))

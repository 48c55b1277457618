#!/usr/bin/env python3
"""Makes tests/vectors/tokenizer: a file of text that tokenizers tend to get wrong, a small vocabulary cut from GPT-2's, and
what the Python packages tokenizers (Hugging Face) and tiktoken (OpenAI) make of them, which must agree.

    make_token_vectors.py GPT2_FOLDER SHAKESPEARE     needs: pip install tokenizers tiktoken

Committed are the results, so that tests need neither the packages nor, for the small vocabulary, GPT-2's files.
"""
import hashlib
import json
import pathlib
import struct
import sys
import tempfile

OUT = pathlib.Path(__file__).resolve().parents[1] / "vectors/tokenizer"
SMALL_MERGES = 600
PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""

NASTY = [
    "Hello world", " leading", "trailing ", "  two", "three   spaces  ", "\ttab\t\ttabs", "a\nb\r\nc\rd\n\n\ne", "\n", " \n ", "x\n  y",
    "it's I'll we've you're he'd 'm can't 'S 'LL ''s '' '", "don\u2019t", "'\u017f 's'", "3.14159 1,000,000 42nd 1e-9 \u00bd \u2167 \u0663\u0664 \u4e00\u4e8c",
    "na\u00efve cafe\u0301 \u1e9e\u00df \u0130i \ufb01 \ufb03", "\u0430\u0431\u0432 \u03b1\u03b2\u03b3 \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u0928\u092e\u0938\u094d\u0924\u0947",
    "\u4f60\u597d\uff0c\u4e16\u754c \u3053\u3093\u306b\u3061\u306f \uc548\ub155 \U00020000\U0002a6d6", "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f1e9\U0001f1ea \u2764\ufe0f",
    "a\u00a0b a\u2003b a\u2028b\u2029c a\u3000b \u3000\u3000 x", "a\u0085b \u0085 \u0085\u0085c", "a\u180eb \u180e\u180e c", "a\u200bb \u200b c", "a\ufeffb \ufeff",
    "\x1c\x1d\x1e\x1f a\x1cb", "\x00\x01\x7f \x00 a\x00b", "\x0b\x0c \x0b\x0b\x0cq", "e\u0301\u0302\u0303\u0304", "\u0301alone", "Z\u0310\u0311a\u0312\u0313lgo",
    "\ud7ff \ue000 \uf8ff \ufffd \uffff \U0010ffff \U000f0000", "\u1680\u2000\u2001\u2002\u2004\u2009\u200a\u202f\u205f|", "\u0f33 \u1372 \u16ee \u3007 \U0001d7d8\U00010107",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "-" * 70, "=" * 33 + " " * 41 + "x", "!!!???...", "(){}[]<>;:,.#@$%^&*_+|\\/~`\"", "the the THE The tHE",
    "supercalifragilisticexpialidocious antidisestablishmentarianism", "http://example.com/a?b=c&d=%20#e", "def f(x):\n    return x ** 2\n\n\tif True:\n", "<|endoftext| >", "< |endoftext|>",
    "\u202e\u202d\u2066 bidi \u2069", "\u00ad soft\u00adhyphen", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "\u1112\u1161\u11ab\u1100\u1173\u11af", "\u00aa\u00b2\u00ba\u02b0 x\u00b2 H\u2082O",
]


def words(tokens):
    return struct.pack(f"<{len(tokens)}H", *tokens)


def spelled_bytes():
    """byte -> character, as GPT-2's files spell it"""
    fine = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, more = {b: chr(b) for b in fine}, 256
    for b in range(256):
        if b not in table:
            table[b], more = chr(more), more + 1
    return table


def encoders(folder):
    import tiktoken
    from tokenizers import ByteLevelBPETokenizer
    vocab = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    byte_of = {c: b for b, c in spelled_bytes().items()}
    ranks = {bytes(byte_of[c] for c in token): number for token, number in vocab.items() if token != "<|endoftext|>"}
    face = ByteLevelBPETokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    openai = tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    return lambda text: face.encode(text).ids, openai.encode_ordinary


def agreed(folder, text):
    face, openai = (encode(text) for encode in encoders(folder))
    assert face == openai, "the two packages differ"
    return face


def cut_vocabulary(folder, out):
    vocab = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    merges = (folder / "merges.txt").read_text(encoding="utf-8").split("\n")
    kept = {token: number for token, number in vocab.items() if number < 256 + SMALL_MERGES}
    out.mkdir(parents=True, exist_ok=True)
    (out / "vocab.json").write_text(json.dumps(kept), encoding="utf-8")
    (out / "merges.txt").write_text("\n".join(merges[:1 + SMALL_MERGES]) + "\n", encoding="utf-8")


def main():
    folder, shakespeare = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_bytes().decode()
    text = "\n".join(NASTY) + "\n" + " ".join(NASTY) + "  "
    cut_vocabulary(folder, OUT / "small")
    (OUT / "nasty.txt").write_bytes(text.encode())
    (OUT / "nasty.small.tokens").write_bytes(words(agreed(OUT / "small", text)))
    (OUT / "nasty.gpt2.tokens").write_bytes(words(agreed(folder, text)))
    tokens = agreed(folder, shakespeare)
    (OUT / "shakespeare.gpt2.txt").write_text(f"{len(tokens)} {hashlib.sha256(words(tokens)).hexdigest()}\n")


if __name__ == "__main__":
    main()

# Texts, vocabularies and weights that must be refused, by name and place, before anything is written.
cat >tiny.yaml <<'JOB'
lockstep: 1
name: tiny
model: {arch: gpt2, layers: 1, heads: 2, embedding: 8, context: 16, vocab: 256}
data: {format: text, path: "builtin:verses", length: 16, holdout: 0.1}
train: {steps: 1, batch: 2, seed: 1}
optimizer: {name: adamw, lr: 0.01}
JOB
run 0 train tiny.yaml --run good >log
run 0 export good -o good.safetensors >log
# make NAME: good.safetensors, with the change of that name.
make() {
	"$PYTHON" - "$1" <<-'END'
		import json, struct, sys
		data = open("good.safetensors", "rb").read()
		size = struct.unpack("<Q", data[:8])[0]
		header, body = json.loads(data[8:8 + size]), bytearray(data[8 + size:])
		what, name = sys.argv[1], "transformer.wpe.weight"
		begin, end = header[name]["data_offsets"]
		text = None
		if what == "two-gigabytes":
		    open(f"{what}.safetensors", "wb").write(struct.pack("<Q", 1 << 31) + data[8:])
		    sys.exit()
		if what == "overlap":
		    other = next(n for n in header if header[n].get("data_offsets", [0])[0] == end)
		    first, last = header[other]["data_offsets"]
		    header[other]["data_offsets"] = [first - 4, last - 4]
		elif what == "outside":
		    header[name]["data_offsets"] = [begin + len(body), end + len(body)]
		elif what == "twice":
		    text = json.dumps(header)[:-1] + f', "{name}": {json.dumps(header[name])}}}'
		elif what == "nan":
		    body[begin + 40:begin + 44] = struct.pack("<f", float("nan"))
		elif what == "infinite":
		    body[begin + 40:begin + 44] = struct.pack("<f", float("-inf"))
		elif what == "absent":
		    del header[name]
		    header = {n: dict(t, data_offsets=[o - (end - begin) * (o >= end) for o in t["data_offsets"]]) if n != "__metadata__" else t for n, t in header.items()}
		    del body[begin:end]
		elif what == "cut":
		    del body[-4:]
		text = (text or json.dumps(header)).encode()
		open(f"{what}.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + body)
	END
}
announce weights
for what in two-gigabytes overlap outside twice nan infinite absent cut; do
	make $what
	run 2 train tiny.yaml --run out --set model.init_from=$what.safetensors
done
run 2 train tiny.yaml --run out --set model.init_from=good.safetensors --set model.embedding=16
run 2 train tiny.yaml --run out --set model.init_from=good.safetensors --set model.vocab=300
run 2 train tiny.yaml --run out --set model.init_from=good.safetensors --set model.layers=2
run 2 train tiny.yaml --run out --set model.init_from=tiny.yaml
run 2 train tiny.yaml --run out --set model.init_from=.
announce texts
run 2 train tiny.yaml --run out --set data.length=17
printf 'Now is the winter' >short.txt
run 2 train tiny.yaml --run out --set data.path=short.txt
run 2 train tiny.yaml --run out --set data.path=short.txt --set data.holdout=0
printf 'odd' >odd.bin
run 2 train tiny.yaml --run out --set data.format=tokens --set data.path=odd.bin
announce vocabularies
run 2 train tiny.yaml --run out --set data.tokenizer=gpt2 --set data.vocab=vocab
mkdir vocab
printf '{"a": 0}' >vocab/vocab.json
run 2 train tiny.yaml --run out --set data.tokenizer=gpt2 --set data.vocab=vocab
printf '#version: 0.2\n' >vocab/merges.txt
run 2 train tiny.yaml --run out --set data.tokenizer=gpt2 --set data.vocab=vocab
printf '{"\377": 0}' >vocab/vocab.json
run 2 train tiny.yaml --run out --set data.tokenizer=gpt2 --set data.vocab=vocab
announce a sample whose prompt is no UTF-8 is one of bytes
lockstep sample good --prompt "$(printf '\377\376')" --tokens 2 --temperature 0 | od -An -c
[ -e out ] || echo "nothing was written"

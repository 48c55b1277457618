# A model that reads text: plan, train, audit, eval, sample, export and back; and what must be refused.
cp "$SOURCE/examples/jobs/gpt2-bytes.yaml" .
cat >tiny.yaml <<'JOB'
lockstep: 1
name: tiny
model: {arch: gpt2, layers: 2, heads: 2, embedding: 8, context: 16, vocab: 256, dropout: 0.1}
data: {format: text, path: "builtin:verses", length: 16, holdout: 0.1}
train: {steps: 3, batch: 4, seed: 1, accumulate: 2}
optimizer: {name: adamw, lr: 0.01, weight_decay: 0.1, clip: 1}
schedule: {name: linear, warmup: 1}
JOB
keys 0 "name arch mode samples steps batch parameters" plan gpt2-bytes.yaml
sed '/init_from\|vocab:/d; s/path: .*/path: builtin:verses/; s/tokenizer: .*/tokenizer: bytes/' "$SOURCE/examples/jobs/gpt2-shakespeare.yaml" >large.yaml
keys 0 "name arch mode samples steps batch parameters" plan large.yaml
keys 0 "steps complete diverged" train tiny.yaml --run r
keys 0 "verdict" audit r --platform naive
keys 0 "samples split step" eval r
for words in "--temperature 0" "--top-k 40 --seed 7" "--top-k 40 --seed 8"; do
	lockstep sample r --prompt "The " --tokens 12 $words | od -An -c # any bytes may come
done
run 0 sample r --tokens 3 --json
keys 0 "tensors elements step" export r -o w.safetensors
keys 0 "steps complete" train tiny.yaml --run again --set model.init_from=w.safetensors --set optimizer.lr=0
keys 0 "name arch mode steps batch" plan tiny.yaml --set model.layers=1 --set model.dropout=0

announce what does not fit
run 2 plan tiny.yaml --set data.length=17
run 2 plan tiny.yaml --set model.heads=3
run 2 plan tiny.yaml --set train.accumulate=3
run 2 plan tiny.yaml --set model.vocab=100
sed 's/, vocab: 256//' tiny.yaml >sizeless.yaml
run 2 plan sizeless.yaml
run 2 plan tiny.yaml --set model.preset=125M
run 2 plan tiny.yaml --set model.classes=10
run 2 plan tiny.yaml --set optimizer.momentum=0.9
run 2 plan tiny.yaml --set model.arch=logreg
run 2 plan tiny.yaml --set data.format=idx
run 2 plan tiny.yaml --set data.tokenizer=gpt2
run 2 plan tiny.yaml --set data.tokenizer=gpt2 --set data.vocab=nowhere
run 2 plan tiny.yaml --set data.path=nowhere.txt
printf '' >empty.txt
run 2 plan tiny.yaml --set data.path=empty.txt --set data.holdout=0
run 2 plan tiny.yaml --set model.embedding=12 --set model.init_from=w.safetensors
run 2 plan tiny.yaml --set model.layers=3 --set model.init_from=w.safetensors

announce any bytes are a text, also such as are no UTF-8
head -c 700 /dev/zero | tr '\0' '\377' >odd.txt
keys 0 "samples" plan tiny.yaml --set data.path=odd.txt --set data.holdout=0

announce sample
run 2 sample r --temperature cold
run 2 sample r --temperature -1
run 2 sample r --temperature nan
run 2 sample r --tokens 0
run 2 sample r --vocab nowhere
cat >pictures.yaml <<'JOB'
lockstep: 1
name: pictures
model: {arch: logreg, classes: 4}
data: {format: idx, path: tiny}
train: {steps: 1, batch: 4}
optimizer: {name: sgd, lr: 0.1}
JOB
keys 0 "steps complete" train pictures.yaml --run pictures
run 2 sample pictures

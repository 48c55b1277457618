# Weights out of a run and into another.
run 0 train tiny.yaml --run run --nonce $NONCE
run 0 export run -o w.safetensors
run 2 export run -o w.safetensors
run 0 export run --output=w.safetensors --force
keys 0 "file step tensors elements" export run -o again.safetensors
cmp w.safetensors again.safetensors && wc -c <w.safetensors
run 2 export run
run 2 export nowhere -o x.safetensors
# Another job starts from them; its plan names their root.
run 0 plan tiny.yaml --set model.init_from=w.safetensors
keys 0 "import init job" plan tiny.yaml --set model.init_from=again.safetensors
keys 0 "import" plan tiny.yaml
run 0 train tiny.yaml --set model.init_from=w.safetensors --run second --nonce $NONCE
run 0 audit second --platform naive --threads 1
run 0 export second -o second.safetensors
# The weights may lie elsewhere; without them step 0 cannot be replayed, but all else can be done.
mv w.safetensors elsewhere.safetensors
run 2 audit second
run 0 audit second --init-from elsewhere.safetensors
run 0 eval second
run 0 verify second
run 0 inspect second
run 1 audit second --init-from second.safetensors
# Tensors that the model does not have, and a file that is cut short.
run 2 plan tiny.yaml --set model.init_from=again.safetensors --set 'model.hidden=[8]'
head -c 1000 again.safetensors >short.safetensors
run 2 plan tiny.yaml --set model.init_from=short.safetensors
run 2 plan tiny.yaml --set model.init_from=w.safetensors
# A snapshot that does not verify is not exported.
flip run/snapshots/0000000016 -1
run 1 export run -o bad.safetensors
[ -e bad.safetensors ] || echo "nothing was written"

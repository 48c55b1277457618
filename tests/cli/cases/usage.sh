run 2
run 2 trian tiny.yaml
run 2 frobnicate
run 2 serve
run 2 help nothing
run 2 train tiny.yaml --platfrom naive
run 2 train tiny.yaml --zzzzzzzz
run 2 train tiny.yaml -x
run 2 train
run 2 train tiny.yaml
run 2 train tiny.yaml other.yaml --run r
run 2 diff only-one
run 2 train tiny.yaml --run
run 2 train tiny.yaml --run --resume
run 2 train tiny.yaml --run a --run=b
run 2 train tiny.yaml --resume=yes
run 2 train tiny.yaml --run r --threads 0
run 2 train tiny.yaml --run r --threads 2x
run 2 train tiny.yaml --run r --threads=
run 2 train tiny.yaml --run r --threads 99999999999999999999
run 2 train tiny.yaml --run r --snapshots sometimes
run 2 train tiny.yaml --run r --snapshots every:0
run 2 train tiny.yaml --run r --nonce 12
run 2 train tiny.yaml --run r --platform nativ
run 2 train tiny.yaml --run r --platform abacus
run 2 train tiny.yaml --run r --set train.batc=4
run 2 train tiny.yaml --run r --set train.batch
run 2 inspect http://example.org/run
run 2 audit ftp://example.org/run
run 2 audit r --sample 4
run 2 eval r --split train
run 2 bench tiny.yaml --rounds 0
run 2 bench tiny.yaml --platform naive,,native
run 2 bench tiny.yaml --platform naive,abacus
run 2 init
run 2 init x --arch lenet
# After -- a word is never an option.
run 2 verify -- --json
[ -e r ] && echo "something was written"
true

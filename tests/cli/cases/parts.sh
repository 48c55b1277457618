run 0 train tiny.yaml --run run --snapshots every:3 --nonce $NONCE >log
run 0 audit run --plan
run 0 audit run --plan --parts 2
run 0 audit run --plan --parts 2 --json
keys 0 "verdict first last sample" audit run --sample 2 --seed 0000000000000000000000000000000000000000000000000000000000000001
run 0 audit run --sample 2 --seed 0000000000000000000000000000000000000000000000000000000000000001
run 0 audit run --parallel 2
keys 0 "verdict first last corrections ops platform" audit run --parallel 2
run 2 audit run --sample 0
run 2 audit run --sample 2 --steps 1:3
run 2 audit run --parallel 2 --keep kept
run 2 audit run --parallel 300
run 2 audit run --sample 2 --seed 12
flip run/snapshots/0000000006 -5
run 1 audit run --parallel 3

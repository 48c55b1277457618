run 0 train tiny.yaml --run run --snapshots every:3 --nonce $NONCE >log
for steps in 0:3 3 :3 4:3 1:17 a:b 1:2:3 -1:3 1:99999999999999999999; do
	run 2 audit run --steps=$steps
done
for steps in 1:1 1:16 3: 16:16 4:4 5:8; do
	keys 0 "verdict first last" audit run --steps $steps
done

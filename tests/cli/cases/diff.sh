run 0 train tiny.yaml --run a --nonce $NONCE >log
run 0 train tiny.yaml --run b --nonce $NONCE >log
run 0 train tiny.yaml --run c >log
run 0 train tiny.yaml --run seed --set train.seed=2 --nonce $NONCE >log
run 0 train tiny.yaml --run rate --set optimizer.lr=0.2 --nonce $NONCE >log
run 0 diff a b
run 0 diff a c
run 1 diff a seed
run 1 diff a rate
keys 1 "equal same_root leaf step field fields state_step" diff a rate
# A replay that was kept equals its run; one that stops early is shorter.
run 0 audit a --keep kept --platform naive >log
run 0 diff a kept
run 0 audit a --keep part --steps 1:6 >log
run 1 diff a part
keys 1 "equal leaf step field fields left right" diff a part
run 0 verify kept
run 2 diff a nowhere

# A run of another job than was ordered, honest about itself.
run 0 plan tiny.yaml -o ordered.bin
run 0 train tiny.yaml --run good --nonce $NONCE
run 0 train tiny.yaml --run other --nonce $NONCE --set train.seed=2
run 0 audit good --job ordered.bin
run 1 audit other --job ordered.bin
run 0 audit other
run 2 audit good --job missing.bin

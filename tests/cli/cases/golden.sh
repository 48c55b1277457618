# hashes: literal
# The roots of one small run, to the bit, on every platform that is here.
keys 0 "root state_root job run" train tiny.yaml --run run --nonce $NONCE --platform native
keys 0 "root state_root job run" train tiny.yaml --run textbook --nonce $NONCE --platform naive --threads 1
keys 0 "root replayed_root" audit run --platform naive
keys 0 "program init data" plan tiny.yaml

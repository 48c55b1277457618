# hashes: literal
# The roots of one small run, to the bit. A change here is a change of the specification or a bug.
wide='--set model.hidden=[512]'
keys 0 "root state_root job run log_bytes log_entries" train tiny.yaml $wide --run run --nonce $NONCE --platform native
keys 0 "verdict root job replayed_root" audit run --platform native
keys 0 "verdict root job replayed_root" audit run --platform naive
keys 0 "state_root job run" train tiny.yaml $wide --run textbook --nonce $NONCE --platform naive --threads 1
keys 0 "verdict" audit textbook --platform native
keys 0 "program init data" plan tiny.yaml $wide

# Keys that scripts rely on.
keys 0 "root steps job name mode uncertified platform state_root run log_bytes log_entries elements loss seconds steps_ordered complete diverged stopped" \
	train tiny.yaml --run run --nonce $NONCE
keys 0 "root steps job mode uncertified platform state_root log_bytes log_entries elements seconds leaves complete snapshots" inspect run
keys 0 "verdict root job replayed_root first_bad_step step file text corrections entries elements exact first last uncertified platform seconds ops" \
	audit run
keys 0 "verdict root file step text" verify run
keys 0 "loss accuracy samples split step" eval run
keys 0 "equal same_root leaf step field fields left right" diff run run
keys 0 "root steps loss" train tiny.yaml --run run --resume
keys 0 "platforms passed" platforms --platform naive
keys 0 "name rounds threads" bench tiny.yaml --platform native,naive --rounds 2 --threads 1
keys 0 "root steps mode log_bytes log_entries elements" train tiny.yaml --run plain --set arithmetic.mode=plain --nonce $NONCE
keys 0 "mode log_bytes log_entries elements" inspect plain

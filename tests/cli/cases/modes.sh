# Modes exact and pinned: no rounding log, one root on every platform; the whole round of commands.
for mode in exact pinned; do
	run 0 plan tiny.yaml --set arithmetic.mode=$mode --set arithmetic.encoding=dense
	run 0 train tiny.yaml --run $mode --set arithmetic.mode=$mode --nonce $NONCE >log
	sed 's/ on native.*/ on PLATFORM/; s/time .*/time/' log
	keys 0 "mode log_bytes log_entries elements root" inspect $mode
	run 0 train tiny.yaml --run $mode-naive --platform naive --set arithmetic.mode=$mode --nonce $NONCE >log
	run 0 diff $mode $mode-naive
	keys 0 "verdict corrections entries exact" audit $mode --platform naive
	run 0 audit $mode >log
	sed 's/ on native.*/ on PLATFORM/' log
	run 0 verify $mode
	keys 0 "loss accuracy" eval $mode
	run 0 export $mode -o $mode.safetensors
done
run 1 diff exact pinned
# A byte in the file of a log that must be empty.
printf x >>exact/rounding-log/frames
run 1 verify exact
run 2 calibrate tiny.yaml --platforms native,naive -o t.json --set arithmetic.mode=exact

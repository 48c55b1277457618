run 0 train tiny.yaml --run good --snapshots all --nonce $NONCE >log
fresh() {
	rm -rf run
	cp -r good run
}
for file in leaves rounding-log/frames heads/7 snapshots/0000000016 job.bin; do
	fresh
	flip run/$file -5
	announce "flip $file"
	run 1 verify run
done
announce other losses
fresh
sed -i 's/"loss_bits":"3/"loss_bits":"4/' run/metrics.jsonl
run 1 verify run
announce a file too few
fresh
rm run/heads/7
run 1 verify run
fresh
flip run/leaves 200
run 1 audit run
keys 1 "verdict file step root replayed_root first_bad_step" audit run
run 1 inspect run
run 1 eval run
run 1 diff good run
run 2 train tiny.yaml --run run --resume
fresh
flip run/snapshots/0000000016 -5
run 1 eval run
fresh
rm run/rounding-log/frames
run 1 audit run
fresh
sed -i 's/0.1/0.2/' run/job.yaml
run 1 audit run
fresh
# Other data than the run's.
"$PYTHON" "$TESTS/tools/make_idx.py" other --seed 2
run 1 audit run --data other
run 1 eval run --data other

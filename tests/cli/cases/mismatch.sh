# A trainer commits to another end than the job has.
run 0 train tiny.yaml --run run --nonce $NONCE >log
cp -r run lie
"$PYTHON" "$TESTS/tools/forge_leaf.py" lie
run 1 audit lie
run 1 audit lie --platform naive --keep kept
keys 1 "verdict first_bad_step root replayed_root file first last" audit lie
# The honest part of it still matches, the replay that was kept shows where it ends, and the honest run is the replay.
run 0 audit lie --steps 1:15 >log
run 1 diff lie kept
run 0 diff run kept
# Without recomputing, only the snapshot gives it away.
run 1 verify lie
# What happens by chance in a plain run is nobody's fault.
run 0 train tiny.yaml --run plain --set arithmetic.mode=plain --nonce $NONCE >log
"$PYTHON" "$TESTS/tools/forge_leaf.py" plain
run 1 audit plain

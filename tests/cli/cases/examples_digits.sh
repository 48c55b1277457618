# The job on a table of digits that the repository draws itself.
"$PYTHON" "$SOURCE/scripts/make-digits" digits --train 320 --test 100 >/dev/null
cp "$SOURCE/examples/jobs/digits-csv.yaml" .
keys 0 "name arch mode samples batch parameters" plan digits-csv.yaml
keys 0 "steps complete diverged" train digits-csv.yaml --run digits-run --set train.steps=5
keys 0 "verdict" audit digits-run --platform naive

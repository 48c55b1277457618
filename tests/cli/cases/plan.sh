run 0 plan tiny.yaml
run 0 plan tiny.yaml -o job.bin
run 0 plan tiny.yaml --output=again.bin
cmp job.bin again.bin && wc -c <job.bin
# A field changes the id, the place of the data does not.
run 0 plan tiny.yaml --set train.seed=2 --set train.steps=5
mkdir elsewhere
mv tiny elsewhere/
run 0 plan tiny.yaml --data elsewhere/tiny
LOCKSTEP_DATA=$PWD/elsewhere run 0 plan tiny.yaml
keys 0 "job name arch mode program init data data_path samples steps batch parameters ops products state_bytes measured seconds" \
	plan tiny.yaml --data elsewhere/tiny
keys 0 "measured seconds seconds_per_step log_bytes_per_step" plan tiny.yaml --data elsewhere/tiny --measure --threads 1 --platform naive
run 2 plan tiny.yaml
run 3 plan tiny.yaml --data elsewhere/tiny -o elsewhere/tiny/t10k-labels-idx1-ubyte/x

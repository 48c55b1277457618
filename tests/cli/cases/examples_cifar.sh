# The jobs on CIFAR-10 are jobs, and train at their real size: a step of two samples each. CIFAR10 is the
# folder above the data set, see tests/tools/datasets.py.
if [ ! -f "$CIFAR10/cifar-10-batches-bin/data_batch_1.bin" ]; then
	echo "SKIPPED: no cifar-10-batches-bin/data_batch_1.bin below $CIFAR10; set LOCKSTEP_DATA to the folder above CIFAR-10's"
	exit 0
fi
export LOCKSTEP_DATA="$CIFAR10"
for job in "$SOURCE"/examples/jobs/cifar-*.yaml; do
	job=$(basename "$job")
	cp "$SOURCE/examples/jobs/$job" .
	keys 0 "name arch mode batch parameters" plan "$job" --set data.limit=10000
	keys 0 "steps complete diverged" train "$job" --run "run-$job" --set train.steps=1 --set train.batch=2 --set schedule.warmup=0
	keys 0 "verdict" audit "run-$job"
done

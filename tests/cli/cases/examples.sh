# The jobs on Fashion-MNIST under examples/ are jobs, and train.
if [ ! -d "$FASHION/fashion-mnist" ]; then
	echo "SKIPPED: no fashion-mnist below $FASHION; Debian's dataset-fashion-mnist has it, or set LOCKSTEP_DATA"
	exit 0
fi
export LOCKSTEP_DATA="$FASHION"
for job in logreg mlp lenet; do
	cp "$SOURCE/examples/jobs/fashion-$job.yaml" .
	keys 0 "name arch mode samples steps batch parameters" plan fashion-$job.yaml
	keys 0 "steps complete diverged" train fashion-$job.yaml --run $job --set train.steps=2 --set data.limit=256
	keys 0 "verdict" audit $job --platform naive
done
cp "$SOURCE/examples/jobs/fashion-resnet18.yaml" .
keys 0 "name arch mode samples steps batch parameters" plan fashion-resnet18.yaml
keys 0 "steps complete diverged" train fashion-resnet18.yaml --run resnet18 --set train.steps=1 --set train.batch=4 \
	--set data.limit=256
keys 0 "verdict" audit resnet18

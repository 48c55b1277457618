run 0 init --list
keys 0 "models" init --list
run 0 init job
run 0 init other --arch mlp
keys 0 "path arch" init third --arch logreg
# A template is a job that can be planned as it stands (the data set here has fewer classes and samples).
for name in job other third; do
	cat $name.yaml
	run 2 plan $name.yaml --data nowhere
done
run 0 plan other.yaml --data tiny
# Nothing is overwritten.
run 2 init job
run 2 init ../job
run 2 init "two words"

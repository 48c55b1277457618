job() {
	cat >bad.yaml
	run 2 plan bad.yaml
}
announce unknown key
sed 's/batch: 8/bacth: 8/' tiny.yaml | job
announce unknown section
sed 's/optimizer:/optimiser:/' tiny.yaml | job
announce key in the wrong section
sed 's/seed: 1/lr: 1/' tiny.yaml | job
announce alias
sed 's/lr: 0.1/lr: \&rate 0.1/; s/momentum: 0.9/momentum: *rate/' tiny.yaml | job
announce duplicate
sed 's/seed: 1/seed: 1, seed: 2/' tiny.yaml | job
announce wrong type
sed 's/batch: 8/batch: many/' tiny.yaml | job
announce out of range
sed 's/batch: 8/batch: 0/' tiny.yaml | job
announce both lengths
sed 's/epochs: 2/epochs: 2, steps: 3/' tiny.yaml | job
announce missing
grep -v '^optimizer' tiny.yaml | job
announce another version
sed 's/lockstep: 1/lockstep: 2/' tiny.yaml | job
announce unknown model
sed 's/arch: mlp/arch: mlq/' tiny.yaml | job
announce unknown optimizer
sed 's/name: sgd/name: sdg/' tiny.yaml | job
announce unknown format
sed 's/format: idx/format: idy/' tiny.yaml | job
announce unknown mode
sed '$a arithmetic: {mode: certain}' tiny.yaml | job
announce two documents
{ cat tiny.yaml; echo ---; cat tiny.yaml; } | job
announce no YAML
printf '\001\002' | job
announce empty
printf '' | job
announce too long
yes '# padding' | head -c 70000 | job
run 2 plan nowhere.yaml
run 2 plan tiny

# A depth of sums that cannot be kept is refused before anything is computed: by plan where native cannot, else by the platform.
run 2 plan tiny.yaml --set arithmetic.depth=65
run 2 train tiny.yaml --run none --set arithmetic.depth=65
[ ! -e none ] || echo "WRONG: a run was begun"
keys 0 "complete" train tiny.yaml --run least --set arithmetic.depth=66 --platform native
keys 0 "complete" train tiny.yaml --run wide --set model.hidden=[600] --set arithmetic.depth=300 --set train.steps=2 --platform native
run 2 train tiny.yaml --run deep --set model.hidden=[600] --set arithmetic.depth=300 --set train.steps=2 --platform openblas
run 2 audit wide --platform openblas
keys 0 "verdict" audit wide --platform naive
keys 0 "mode" plan tiny.yaml --set arithmetic.depth=65 --set arithmetic.mode=exact

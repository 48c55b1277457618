broken() {
	rm -rf broken
	cp -r tiny broken
}
announce no folder
run 2 train tiny.yaml --run r --data nowhere
announce a missing file
broken
rm broken/train-labels-idx1-ubyte
run 2 train tiny.yaml --run r --data broken
announce a short file
broken
truncate -s 4000 broken/train-images-idx3-ubyte
run 2 train tiny.yaml --run r --data broken
announce no header
broken
truncate -s 3 broken/train-images-idx3-ubyte
run 2 train tiny.yaml --run r --data broken
announce a long file
broken
echo more >>broken/train-images-idx3-ubyte
run 2 train tiny.yaml --run r --data broken
announce another file
broken
cp broken/train-labels-idx1-ubyte broken/train-images-idx3-ubyte
run 2 train tiny.yaml --run r --data broken
announce a label beyond the classes
run 2 train tiny.yaml --run r --set model.classes=3
announce more samples than there are
run 2 train tiny.yaml --run r --set data.limit=65
announce a batch larger than the data
run 2 train tiny.yaml --run r --set train.batch=65
[ -e r ] && echo "a run was written"
true

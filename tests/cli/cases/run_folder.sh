run 0 train tiny.yaml --run run --nonce $NONCE >log
cp -r run before
announce an existing run
run 2 train tiny.yaml --run run
announce another job
run 2 train tiny.yaml --run run --resume --set train.seed=2
announce a folder with something else in it
mkdir full
echo precious >full/file
run 2 train tiny.yaml --run full
run 2 train tiny.yaml --run full --resume
cat full/file
announce no parent
run 2 train tiny.yaml --run missing/parent/run
announce below a file
run 3 train tiny.yaml --run tiny.yaml/run
announce a file
run 2 train tiny.yaml --run tiny.yaml
announce a folder that cannot be made
run 2 train tiny.yaml --run /proc/run
announce keeping a replay over something
run 2 audit run --keep full
run 2 audit nowhere
run 2 audit tiny
run 2 verify tiny.yaml
diff -r run before && echo "nothing changed"

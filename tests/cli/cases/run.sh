# A run from beginning to end, as people see it.
run 0 train tiny.yaml --run run --nonce $NONCE
run 0 audit run
run 0 audit run --platform naive --threads 1
run 0 audit run --steps 7:10
run 0 inspect run
run 0 verify run
run 0 eval run
# A finished run is left as it is.
cp -r run before
run 0 train tiny.yaml --run run --resume
diff -r run before && echo "nothing changed"
# The data may lie elsewhere, or be missing where it is not needed.
mv tiny other
run 0 audit run --data other
run 2 audit run
run 0 inspect run
run 0 verify run

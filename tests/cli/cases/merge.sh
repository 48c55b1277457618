run 0 train tiny.yaml --run run --snapshots every:3 --nonce $NONCE >log
mkdir parts
part() {
	lockstep audit run --steps $2 --json ${3-} >parts/$1.json || true
}
announce all parts
part a 1:6
part b 7:12
part c 13:
echo "no verdict" >parts/notes.txt
run 0 audit run --merge parts
keys 0 "verdict first last replayed_root asked sample" audit run --merge parts
announce one is missing
mv parts/b.json b
run 2 audit run --merge parts
announce the end is missing
mv b parts/b.json
part c 13:16
run 2 audit run --merge parts
announce twice
part c 13:
cp parts/c.json parts/d.json
run 2 audit run --merge parts
rm parts/d.json
announce another run
run 0 train tiny.yaml --run other --snapshots every:3 --nonce $NONCE --set train.seed=9 >log
lockstep audit other --steps 7:12 --json >parts/b.json
run 2 audit run --merge parts
announce no verdict at all
echo '{"error": "could not read it", "status": "i/o"}' >parts/b.json
run 2 audit run --merge parts
echo '[1, 2' >parts/b.json
run 2 audit run --merge parts
part b 7:12
sed -i 's/"verdict": "match"/"verdict": "fine"/' parts/b.json
run 2 audit run --merge parts
announce a part that does not match settles it, whatever lies behind
part b 7:12
sed -i 's/"verdict": "match"/"verdict": "mismatch"/; s/"first_bad_step": null/"first_bad_step": 8/' parts/b.json
rm parts/c.json
run 1 audit run --merge parts
keys 1 "verdict first_bad_step" audit run --merge parts
announce ways that exclude each other
run 2 audit run --merge parts --steps 1:2
run 2 audit run --merge nowhere
run 2 audit run --follow --parallel 2
announce a finished run, followed
run 0 audit run --follow
keys 0 "verdict follow last" audit run --follow
announce an open end
run 0 audit run --steps 14:
run 2 audit run --steps 17:

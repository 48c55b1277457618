# SIGTERM ends a run after a whole leaf; --resume goes on, and the result is that of a run without a pause.
long='--set train.steps=8000 --set train.commit_every=1'
lockstep train tiny.yaml --run run $long --nonce $NONCE --json >out.json &
pid=$!
tries=0
while [ "$(stat -c %s run/leaves 2>/dev/null || echo 0)" -lt 5000 ] && [ $tries -lt 500 ]; do
	sleep 0.01
	tries=$((tries + 1))
done
kill -TERM $pid
code=0
wait $pid || code=$?
echo "exit code $code"
grep -o '"complete": [a-z]*' out.json
grep -o '"stopped": [a-z]*' out.json
run 0 verify run >log
keys 0 "complete stopped steps root" train tiny.yaml --run run $long --resume
keys 0 "complete stopped steps root" train tiny.yaml --run whole $long --nonce $NONCE
run 0 diff run whole

# One page for the client, from a run and what auditors said.
run 0 train tiny.yaml --run run --nonce $NONCE --snapshots all
run 2 report run
run 0 report run -o page.html
grep -c "No results of audits were given" page.html
run 2 report run -o page.html
lockstep audit run --json >whole.json 2>/dev/null
lockstep audit run --steps 5:5 --json >part.json 2>/dev/null
keys 0 "file steps audits covered root" report run -o page.html --force --audit part.json
grep -o "No audits that cover all its steps" page.html
keys 0 "audits covered" report run -o page.html --force --audit part.json --audit whole.json
grep -o "By the audits below, every step was replayed and came to the same root" page.html
# Two parts cover a run together; a part that is missing does not.
lockstep audit run --steps 1:8 --json >first.json 2>/dev/null
lockstep audit run --steps 9:16 --json >second.json 2>/dev/null
keys 0 "covered" report run -o page.html --force --audit second.json --audit first.json
keys 0 "covered" report run -o page.html --force --audit second.json --audit part.json
# An audit of another run proves nothing about this one.
run 0 train tiny.yaml --set train.seed=2 --run other --nonce $NONCE
lockstep audit other --json >other.json 2>/dev/null
keys 0 "covered" report run -o page.html --force --audit other.json
grep -o "match, but about another job or root" page.html
# One that did not match is what the page says first.
sed 's/"match"/"mismatch"/' whole.json >bad.json
keys 0 "covered" report run -o page.html --force --audit whole.json --audit bad.json
grep -o "An audit of this run did not match" page.html
# Numbers that no honest audit has.
"$PYTHON" - <<'END'
import json
hostile = {**json.loads(open("whole.json").read()), "seconds": -1e300, "corrections": -5, "first": 2**62, "last": "x"}
open("odd.json", "w").write(json.dumps(hostile))
END
keys 0 "covered" report run -o page.html --force --audit odd.json
# Accuracy after each snapshot, from held-out data.
run 0 report run -o page.html --force --eval
grep -o "held-out samples, loss" page.html
# What is no result of an audit, and a run that does not verify.
echo '{"root": 1}' >no.json
run 2 report run -o new.html --audit no.json
echo 'words' >no.json
run 2 report run -o new.html --audit no.json
run 2 report run -o new.html --audit missing.json
flip run/metrics.jsonl 30
run 1 report run -o new.html
[ -e new.html ] || echo "nothing was written"

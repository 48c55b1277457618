# What every case may use; see run.py.

NONCE=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f

# Says on both streams what comes, so that a complaint in NAME.stderr.exact can be told from the next.
announce() {
	echo "\$ $*"
	echo "\$ $*" >&2
}

# run CODE WORD…: lockstep WORD… must end with CODE.
run() {
	expected=$1
	shift
	announce lockstep "$@"
	code=0
	lockstep "$@" || code=$?
	[ "$code" = "$expected" ] || echo "WRONG: exit code $code, expected $expected"
}

# keys CODE "KEY …" WORD…: lockstep WORD… --json must end with CODE; prints the values of the keys in its last line, after
# checking that every line is an object and the last one has them all.
keys() {
	expected=$1
	keys=$2
	shift 2
	announce lockstep "$@" --json
	code=0
	lockstep "$@" --json >keys.out || code=$?
	[ "$code" = "$expected" ] || echo "WRONG: exit code $code, expected $expected"
	"$PYTHON" - "$keys" <<-'END'
		import json, sys
		lines = [json.loads(line) for line in open("keys.out")]
		for line in lines:
		    assert isinstance(line, dict), line
		for key in sys.argv[1].split():
		    value = lines[-1].get(key, "MISSING")
		    print(f"  {key}: {json.dumps(value)}" if not key.startswith("seconds") or value == "MISSING" else f"  {key}: a number"
		          if isinstance(value, (int, float)) else f"  {key}: {value}")
	END
}

# other64 FILE OFFSET: another digit of base64 in place of the one there.
other64() {
	"$PYTHON" - "$1" "$2" <<-'END'
		import sys
		path, at = sys.argv[1], int(sys.argv[2])
		data = bytearray(open(path, "rb").read())
		data[at] = ord("B" if data[at] == ord("A") else "A")
		open(path, "wb").write(data)
	END
}

# flip FILE OFFSET: changes one byte; a negative offset counts from the end.
flip() {
	"$PYTHON" - "$1" "$2" <<-'END'
		import sys
		path, at = sys.argv[1], int(sys.argv[2])
		data = bytearray(open(path, "rb").read())
		data[at] ^= 1
		open(path, "wb").write(data)
	END
}

#!/bin/sh
# Audits a run as a Slurm job array, a part between snapshots per task, and joins the verdicts. Exit code: that of the joined
# audit (0 match, 1 any other verdict, 2 or 3 where some part has no verdict).
#
#   scripts/slurm-audit.sh RUN OUT PARTS [option of lockstep audit …]
#
# RUN and OUT must be folders that all nodes see under the same name; OUT must be new or empty and receives plan, the verdicts
# (part-K.json) and what the tasks said (part-K.log). LOCKSTEP names the program (default: lockstep), SBATCH_OPTIONS further
# words for sbatch, such as "--partition=long --cpus-per-task=4".
set -eu

lockstep=${LOCKSTEP:-lockstep}

# One task, on a node: `--task OUT RUN …`. A verdict gets its name when it is whole; no verdict, no file.
if [ "${1-}" = --task ]; then
	out=$2
	run=$3
	shift 3
	steps=$(sed -n "${SLURM_ARRAY_TASK_ID}p" "$out/plan")
	part=$out/part-$SLURM_ARRAY_TASK_ID
	code=0
	"$lockstep" audit "$run" --steps "$steps" --json "$@" >"$part.tmp" || code=$?
	[ $code -le 1 ] || exit $code
	mv "$part.tmp" "$part.json"
	exit 0
fi

if [ $# -lt 3 ]; then
	echo "slurm-audit: found $# words, expected RUN OUT PARTS [option of lockstep audit …]" >&2
	exit 2
fi
command -v sbatch >/dev/null || {
	echo "slurm-audit: found no sbatch, expected Slurm's commands in PATH" >&2
	exit 3
}
mkdir -p "$2"
run=$(cd "$1" && pwd)
out=$(cd "$2" && pwd)
parts=$3
shift 3
if [ -n "$(ls -A "$out")" ]; then
	echo "slurm-audit: $out: is not empty" >&2
	exit 2
fi

# The last part is asked for to the end, which then has to be the one that was ordered.
"$lockstep" audit "$run" --plan --parts "$parts" >"$out/plan.tmp" || exit $?
sed '$s/:.*/:/' "$out/plan.tmp" >"$out/plan"
rm "$out/plan.tmp"
tasks=$(wc -l <"$out/plan")
if [ "$tasks" -eq 0 ]; then
	echo "slurm-audit: $run: found no step, expected some to audit" >&2
	exit 2
fi

export LOCKSTEP="$lockstep"
# shellcheck disable=SC2086 # the words of SBATCH_OPTIONS are meant to be split
sbatch --wait --quiet --array="1-$tasks" --job-name=lockstep-audit --output="$out/part-%a.log" ${SBATCH_OPTIONS-} \
	"$0" --task "$out" "$run" "$@" || true # the verdicts tell what is missing
exec "$lockstep" audit "$run" --merge "$out"

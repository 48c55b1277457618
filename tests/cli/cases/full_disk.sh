mkdir disk
if [ "$(id -u)" != 0 ] || ! mount -t tmpfs -o size=1m tmpfs disk 2>/dev/null; then
	echo "SKIPPED: a small file system cannot be mounted here (needs root)"
	exit 0
fi
trap 'umount disk' EXIT
run 3 train tiny.yaml --run disk/run --snapshots all --set 'model.hidden=[512]' --nonce $NONCE
# Snapshots are written while the steps go on: which step was the last when the disk was found full is chance.
{
	keys 3 "error status exit" train tiny.yaml --run disk/run --snapshots all --set 'model.hidden=[512]' --resume
	# What is there is a run, cut short; with room it goes on.
	mount -o remount,size=16m disk
	run 0 train tiny.yaml --run disk/run --snapshots all --set 'model.hidden=[512]' --resume
} 2>said
sed 's/to [0-9]* are computed again/to LAST are computed again/' said >&2
run 0 audit disk/run

run 0 --version
run 0 --help
run 0 help
for command in init plan train audit diff inspect verify eval platforms bench help; do
	run 0 $command --help
done
run 0 help train >short.txt
run 0 train -h >long.txt
sed -i 1d short.txt
sed -i 1d long.txt
cmp short.txt long.txt && echo "both ways the same"
# The version is the build's.
grep -q "VERSION $(lockstep --version | cut -d' ' -f2) " "$SOURCE/CMakeLists.txt" && echo "the version is that of CMakeLists.txt"

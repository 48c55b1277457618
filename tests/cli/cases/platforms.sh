run 0 platforms --platform naive
run 0 platforms --platform native
run 2 platforms --platform abacus
run 0 platforms >list
grep -c '^native' list
! grep FAILED list

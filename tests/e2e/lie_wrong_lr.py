"""A step moves the weights further than the schedule says."""
from lies import check_lie

check_lie("wrong-lr", verdicts_k1=("mismatch",))

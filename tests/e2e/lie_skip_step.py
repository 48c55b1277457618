"""A step is claimed and not taken."""
from lies import check_lie

check_lie("skip-step", verdicts_k1=("mismatch",))

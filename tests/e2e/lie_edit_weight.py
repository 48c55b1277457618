# ctest: labels=quick
"""One bit of one weight is changed between two steps: every product of the step was honest."""
from lies import check_lie

check_lie("edit-weight", verdicts_k1=("mismatch",))

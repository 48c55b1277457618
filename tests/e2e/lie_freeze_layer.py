"""One layer is not updated in one step."""
from lies import check_lie

check_lie("freeze-layer", verdicts_k1=("mismatch",))

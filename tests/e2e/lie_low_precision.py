"""Products are computed in bfloat16."""
from lies import check_lie

check_lie("low-precision")

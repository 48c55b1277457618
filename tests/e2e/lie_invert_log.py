"""The rounding log says the other direction wherever the rounding was doubtful."""
from lies import check_lie

check_lie("invert-log", needs_log=True)

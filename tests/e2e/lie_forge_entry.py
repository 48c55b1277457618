"""One product is one grid unit off and an entry claims that the rounding was doubtful."""
from lies import check_lie

check_lie("forge-entry", verdicts=("forged-rounding-log",), needs_log=True)

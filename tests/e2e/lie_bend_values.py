"""The logits are one grid unit off and the rounding log says nothing."""
from lies import check_lie

check_lie("bend-values")

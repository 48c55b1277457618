"""One label of one batch is changed."""
from lies import check_lie

check_lie("poison-label")

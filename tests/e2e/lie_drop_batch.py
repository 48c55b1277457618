"""A step trains on the samples of the next step."""
from lies import check_lie

check_lie("drop-batch")

"""An independent verifier of Lockstep, written from the pages in spec/ and from nothing else.

Plain Python 3.11 with its own library only. It is slow on purpose: every element is computed from its definition, by
integers, fractions and single FP64 operations. Nothing here is shared with or generated from the C sources, so that a
mistake would have to be made twice to go unseen.
"""

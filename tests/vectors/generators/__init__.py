"""What the vectors are: lists of cases, with the verifier's answers filled in."""

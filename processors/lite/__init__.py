"""Questions about lite topics, as a broker answers them whose lite topics are all empty."""

"""Questions about lite topics, answered as by a broker whose lite topics are all empty."""

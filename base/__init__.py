"""What every layer builds on: the clock, declaring a setting, available memory. Touches no socket; either thread."""

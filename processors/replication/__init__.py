"""What masters and slaves ask each other, as a master without slaves answers."""

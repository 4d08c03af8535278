"""What a NameServer answers."""

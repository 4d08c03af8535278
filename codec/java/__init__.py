"""What Java does its own way: hashes, numbers, orders of tables, `.properties` and FastJSON's dialect."""

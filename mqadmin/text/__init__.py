"""Values as text, as Java and the official tool print them, and texts of users as values. Asks no server."""

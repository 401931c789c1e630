"""What moves elements, makes them, or finds where they are."""

"""Data sets: official files and a user's arrays become `arrays.Dataset`."""

"""Who trains: one file of `methods` for each scheduler."""

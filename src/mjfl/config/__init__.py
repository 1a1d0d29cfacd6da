"""TOML to a validated config. Every error names its path in the file."""

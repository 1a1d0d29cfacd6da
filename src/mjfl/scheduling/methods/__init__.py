"""The schedulers: a file's name is the scheduler's name in the TOML, its class the same in CamelCase."""

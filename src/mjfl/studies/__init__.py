"""Many runs: every combination of a config's [sweep], each in its own folder."""

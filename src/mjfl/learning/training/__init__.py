"""Local updates: what a device does with a model between getting it and sending it back."""

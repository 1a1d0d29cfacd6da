"""The loop. It knows no framework, no clock and no file."""

"""The world: simulated time, or real devices."""

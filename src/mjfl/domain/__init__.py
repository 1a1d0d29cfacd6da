"""What exists: devices, jobs, plans, costs, events. Numpy only."""

"""What happened: the log, the run's folder, and the figures that follow from the log."""

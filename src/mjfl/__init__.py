"""Many federated-learning jobs, one fleet of unequal devices."""

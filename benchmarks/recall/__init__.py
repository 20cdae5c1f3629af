"""Measuring recall: collections with questions, peers, fitting, and the trial of recall itself."""

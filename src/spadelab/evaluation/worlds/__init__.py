"""Hand-written environments of the held-out suite: data, read as text and never imported."""

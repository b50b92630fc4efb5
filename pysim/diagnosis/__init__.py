"""Diagnosis: judges scenes before they run and worlds while they run; names the causes of a failure."""

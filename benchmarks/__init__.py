"""Measurements, side by side in one run. Figures are ratios; absolute times depend on the machine."""

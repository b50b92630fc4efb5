"""Rods: beams, cables and hoses as chains of rigid bars, whose hinges have the stiffness of their section."""

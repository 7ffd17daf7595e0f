"""How far a fit is from the optimum, how that is proven, and what is wrong with it."""

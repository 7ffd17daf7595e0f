"""The lab: a local web application for playing with linear classifiers."""

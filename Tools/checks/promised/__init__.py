"""What Tools/checks/promises compares: a module for each kind of promise."""

"""Fuzzing of every reader and loader: any input is either read or rejected with one of our errors."""

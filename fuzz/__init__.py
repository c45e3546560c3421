"""Hostile input for every reader and loader: none of it may do more than be read or be refused."""

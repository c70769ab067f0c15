"""What people use a trained model through, beside the command line and Python: a server, and the page it serves."""

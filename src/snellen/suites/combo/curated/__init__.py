"""What people are asked about a finished set."""

"""What a run asks: its options, plan and stamp, and which scores are open."""

"""What is shown: scenes and their truth (`scenes`), the renderer that turns them into images (`render`)."""

"""Who answers: chat models, image encoders with readouts, and fakes that are ideal observers."""

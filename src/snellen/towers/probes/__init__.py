"""Attentive probes: small networks on frozen patch features that answer in the requested form."""

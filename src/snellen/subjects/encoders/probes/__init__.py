"""Attentive probes: small networks on frozen patch features that answer in the shape that was asked for."""

from __future__ import annotations

"""Shared by the flow and wire tests: servers, daemons, clients, projects, the contract check."""

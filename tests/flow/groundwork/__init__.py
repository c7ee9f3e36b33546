"""What the flow and wire tests share: servers, daemons, clients, projects, the contract check."""

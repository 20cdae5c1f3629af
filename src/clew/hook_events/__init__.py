"""Hook events of an agent's client: the responses of Clew, and the data that it stores."""

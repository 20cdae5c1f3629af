"""Clew over another machine's store: every call goes to a server (`CLEW_SERVER`), with a token and over TLS."""

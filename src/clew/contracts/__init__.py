"""The programs that Clew can replace, one package each; `clew.contract` finds them."""

"""The programs in whose place Clew can be started, a package each; `clew.contract` finds them."""

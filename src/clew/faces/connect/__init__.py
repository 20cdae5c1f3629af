"""The programs that connect to Clew: where they keep their configuration, and how it is changed as text.

`clew connect` reads these modules, and so does what builds the plugin. A client's file belongs to its user: it is
changed by inserting and cutting text, so that comments, order and formatting stay, and every change can be undone.
"""

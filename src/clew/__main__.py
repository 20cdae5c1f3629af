"""`python -m clew` is the command line."""

from clew.entry import main

if __name__ == "__main__":
    main()

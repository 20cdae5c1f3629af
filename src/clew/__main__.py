"""`python -m clew` is the command line."""

from clew.faces.cli.main import main

if __name__ == "__main__":
    main()

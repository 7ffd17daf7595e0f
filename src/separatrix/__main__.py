"""`python -m separatrix`: the command line."""

from separatrix.cli import main

if __name__ == "__main__":
    main()

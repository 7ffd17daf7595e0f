"""Run the command line with `python -m separatrix`."""

from separatrix.cli import main

if __name__ == "__main__":
    main()

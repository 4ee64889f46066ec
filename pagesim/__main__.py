"""``python -m pagesim``."""

from pagesim.cli.main import main

if __name__ == "__main__":
    main()

"""The course's split of the iris data, as row numbers of scikit-learn's 150 rows.

The rows have the order of the course's files. Rows 101 and 142 are equal: one is a training row and
one a test row, and it does not matter which.
"""

TRAIN = """
24 38 108 56 100 99 22 89 58 114 57 131 137 71 5 1 86 42 80 15 33 111 17 140 65 27 66 87 10 74 49
147 141 29 68 9 35 73 55 91 130 18 40 64 3 103 16 32 4 20 26 85 50 12 60 11 62 149 96 83 94 128 76
143 84 121 112 69 110 78 101 7 122 47 61 59 138 0 28 126 48 75 115 124 135 34 120 88 119 2 116 79
133 105 53 109 82 41 148 54
"""
VALIDATION = """
145 104 39 93 21 123 136 30 23 36 51 90 14 43 127 144 118 125 63 92 44 72 67 113 134
"""
TEST = """
146 77 25 45 81 52 102 139 46 117 19 132 31 97 6 95 106 142 129 98 13 37 70 8 107
"""


def iris_split() -> dict[str, list[int]]:
    """Return the row numbers of every part.

    >>> {part: len(rows) for part, rows in iris_split().items()}
    {'train': 100, 'validation': 25, 'test': 25}
    """
    parts = {"train": TRAIN, "validation": VALIDATION, "test": TEST}
    return {part: [int(row) for row in rows.split()] for part, rows in parts.items()}

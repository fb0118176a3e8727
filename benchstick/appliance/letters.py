"""Words in letters that can be read from across the room, made of full blocks."""

from __future__ import annotations

_FONT = {
    "A": (" ### ", "#   #", "#####", "#   #", "#   #"),
    "C": (" ####", "#    ", "#    ", "#    ", " ####"),
    "D": ("#### ", "#   #", "#   #", "#   #", "#### "),
    "E": ("#####", "#    ", "#### ", "#    ", "#####"),
    "F": ("#####", "#    ", "#### ", "#    ", "#    "),
    "I": ("#####", "  #  ", "  #  ", "  #  ", "#####"),
    "L": ("#    ", "#    ", "#    ", "#    ", "#####"),
    "N": ("#   #", "##  #", "# # #", "#  ##", "#   #"),
    "O": (" ### ", "#   #", "#   #", "#   #", " ### "),
    "P": ("#### ", "#   #", "#### ", "#    ", "#    "),
    "R": ("#### ", "#   #", "#### ", "#  # ", "#   #"),
    "S": (" ####", "#    ", " ### ", "    #", "#### "),
    "T": ("#####", "  #  ", "  #  ", "  #  ", "  #  "),
    "U": ("#   #", "#   #", "#   #", "#   #", " ### "),
    "V": ("#   #", "#   #", "#   #", " # # ", "  #  "),
    " ": ("     ",) * 5,
}
HEIGHT = 5


def big(word: str, width: int) -> list[str]:
    """`word` in five lines, as wide as fits into `width`; in plain letters when nothing fits."""
    if any(letter not in _FONT for letter in word):
        return [word[:width]]
    for scale in (2, 1):
        rows = [
            (" " * scale).join(
                "".join(dot * scale for dot in _FONT[letter][at]) for letter in word
            ).replace("#", "█")
            for at in range(HEIGHT)
        ]
        if len(rows[0]) <= width:
            return rows
    return [word[:width]]

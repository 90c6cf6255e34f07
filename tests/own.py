"""Small data of one's own, of each kind, and the recipe that learns them: what tests of own data share."""

import math
import random
from pathlib import Path

from PIL import Image

ITALIAN = "zero uno due tre quattro cinque sei sette otto nove".split()
ENGLISH = "zero one two three four five six seven eight nine".split()


def write_own(folder: Path) -> dict[str, Path]:
    """Write a data set of each kind, and return the paths."""
    draw = random.Random(0)
    numbers = draw.sample(range(100, 10000), 60)
    for language, words in (("it", ITALIAN), ("en", ENGLISH)):
        text = "".join(" ".join(words[int(digit)] for digit in str(number)) + "\n" for number in numbers)
        (folder / "it-en").mkdir(exist_ok=True)
        (folder / "it-en" / f"train.{language}").write_text(text, encoding="utf-8")
    rows = [
        f"{draw.choice(['the', 'a'])} {('good', 'bad', 'plain')[i % 3]} book {i},{i % 3 + 1}"
        for i in range(60)
    ]
    (folder / "reviews.csv").write_text("review,stars\n" + "\n".join(rows), encoding="utf-8")
    lines = [
        f"The {draw.choice(['man', 'bird', 'boat'])} saw the {draw.choice(['sea', 'sky'])}."
        for _ in range(200)
    ]
    (folder / "story.txt").write_text("\n".join(lines), encoding="utf-8")
    for number, name in enumerate(("dark", "light")):
        (folder / "shades" / name).mkdir(parents=True, exist_ok=True)
        for i in range(12):
            shade = 200 * number + 4 * i
            Image.new("RGB", (8, 8), (shade, shade, 255 - shade)).save(folder / "shades" / name / f"{i}.png")
    waves = [
        ",".join(
            [("slow", "fast")[i % 2], *(f"{math.sin((0.3 + 0.6 * (i % 2)) * t + i):.3f}" for t in range(8))]
        )
        for i in range(40)
    ]
    (folder / "waves.csv").write_text("\n".join(["label,a,b,c,d,e,f,g,h", *waves]), encoding="utf-8")
    return {
        "pairs": folder / "it-en",
        "labels": folder / "reviews.csv",
        "text": folder / "story.txt",
        "pictures": folder / "shades",
        "numbers": folder / "waves.csv",
    }

"""Data of one's own: what is read, what is refused by file, line and remedy, and what is said of the rest."""

import gzip
import io
import json
import re
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from reservoir.datasets import DataError
from reservoir_lab import corpora
from reservoir_lab.corpora import Files, labelled, parallel
from reservoir_lab.corpora.content import content_digest
from reservoir_lab.corpora.own_pictures import own_pictures, read_picture
from reservoir_lab.corpora.own_texts import own_sequences
from reservoir_lab.runs import Pictures, Sequences
from reservoir_lab.runs.own import kind_of


def write(folder: Path, **files: str | bytes) -> str:
    """Write files, "__" for a dot in their names, and return the corpus's name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return f"files:{folder}"


def lines(n: int, word: str = "w") -> str:
    return "".join(f"{word}{i}\n" for i in range(n))


def table(n: int, *, classes: tuple[str, ...] = ("a", "b"), mark: str = ",") -> str:
    rows = [f'"text {i}, of {i % len(classes)}"{mark}{classes[i % len(classes)]}' for i in range(n)]
    return "\n".join([f"text{mark}label", *rows]) + "\n"


def pairs(name: str, **options):
    return parallel(name, src="it", tgt="en", **options)


# ---- parallel text ---------------------------------------------------------------------------------------------------


def test_parts_without_files_are_split_off_by_the_seed_and_said(tmp_path):
    name = write(tmp_path, train__it=lines(50), train__en=lines(50, "t"))
    corpus = pairs(name)
    parts = (corpus.train, corpus.valid, corpus.tests["test"])
    assert [len(part) for part in parts] == [40, 5, 5]
    assert all(t == s.replace("w", "t") for part in parts for s, t in zip(part.src, part.tgt, strict=True))
    assert len({line for part in parts for line in part.src}) == 50
    assert corpus == pairs(name) and corpus.train != pairs(name, files=Files(seed=1)).train
    assert len(pairs(name, files=Files(valid=0.3)).valid) == 15
    assert any("valid: 5 pairs split off by seed 0 (--task.files.valid 0.1" in note for note in corpus.notes)


@pytest.mark.parametrize(("words", "told"), [("w w w", True), ("w w w w", False)])
def test_a_side_without_groups_of_words_is_told_of_another_tokeniser(tmp_path, words, told):
    name = write(tmp_path, train__it=lines(20), train__en="".join(f"{words}{i}\n" for i in range(20)))
    assert any("--task.tokenise cuts texts otherwise" in note for note in pairs(name).notes) == told


def test_a_text_that_trains_never_tests_after_a_split(tmp_path):
    twice = lines(10) * 3
    corpus = pairs(write(tmp_path, train__it=twice, train__en=twice))
    assert not set(corpus.train.src) & set(corpus.tests["test"].src) and len(corpus.train) == 24


def test_given_parts_are_kept_and_repetitions_counted(tmp_path):
    name = write(
        tmp_path,
        train__it=lines(9),
        train__en__gz=gzip.compress(lines(9).encode()),
        dev__it=lines(2),
        dev__en=lines(2),
        **{"test-x__it": "q\n"},
    )
    with pytest.raises(DataError, match=r"has no test-x\.en"):
        pairs(name)
    (tmp_path / "test-x.en").write_text("q\n")
    corpus = pairs(name)
    assert len(corpus.valid) == 2 and corpus.tests.keys() == {"test-x"} and len(corpus.train) == 9
    assert "valid: 2 of its pairs also stand in the training data" in corpus.notes


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_every_line_end_and_byte_order_mark_is_read(tmp_path, end, encoding):
    text = lines(20, "è").replace("\n", end).encode(encoding)
    name = write(tmp_path, train__it=text, train__en=lines(20))
    corpus = pairs(name)
    found = {*corpus.train.src, *corpus.valid.src, *corpus.tests["test"].src}
    assert found == {f"è{i}" for i in range(20)}


@pytest.mark.parametrize(("half", "blank"), [("x", "skip"), ("", "refuse")])
def test_pairs_without_text_are_left_out_and_counted(tmp_path, half, blank):
    name = write(tmp_path, train__it=lines(20) + f"\n{half}\n\n", train__en=lines(20) + "\n \n\n")
    corpus = pairs(name, files=Files(blank=blank))
    with pytest.raises(ValueError, match=r"files\.blank must be 'refuse' or 'skip', got 'drop'"):
        Files(blank="drop")
    assert sum(map(len, (corpus.train, corpus.valid, corpus.tests["test"]))) == 20
    assert any("text or label is blank: lines 21, 22, 23 (3 in all)" in note for note in corpus.notes)


def test_pairs_may_stand_in_a_table(tmp_path):
    rows = "".join(f'"w{i}, w";t{i}\n' for i in range(20))
    name = write(tmp_path, mine__csv="it;en\n" + rows)
    corpus = pairs(f"{name}/mine.csv")
    assert kind_of(name) == "pairs" and corpus.train == pairs(name).train
    assert {"w3, w", "w4, w"} <= {*corpus.train.src, *corpus.valid.src, *corpus.tests["test"].src}


# ---- running text ----------------------------------------------------------------------------------------------------


def test_running_text_is_split_into_stretches_of_neighbours(tmp_path):
    whole = lines(400)
    text = corpora.text(write(tmp_path, story__txt=whole) + "/story.txt")
    assert len(text.valid.splitlines()) == len(text.test.splitlines()) == 40
    assert sorted((text.train + text.valid + text.test).splitlines()) == sorted(whole.splitlines())
    first = text.valid.splitlines()[:4]
    assert first == [f"w{i}" for i in range(int(first[0][1:]), int(first[0][1:]) + 4)]
    assert "10 of 100 stretches of it, split off by seed 0" in " ".join(text.notes)


def test_a_text_that_looks_like_a_table_says_how_it_becomes_one(tmp_path):
    notes = corpora.text(write(tmp_path, deu__txt="Go.\tGeh.\n" * 300)).notes
    assert any("deu.txt: all lines have a tab; a table is called .tsv" in note for note in notes)


def test_a_single_long_line_is_split_between_words(tmp_path):
    text = corpora.text(write(tmp_path, a__txt=" ".join(f"w{i}" for i in range(300))))
    assert sorted((text.train + text.valid + text.test).split()) == sorted(f"w{i}" for i in range(300))


# ---- tables ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("mark", "ending"), [(",", "csv"), (";", "csv"), ("\t", "tsv")])
def test_tables_are_read_whatever_stands_between_cells_and_lines(tmp_path, end, mark, ending):
    content = ("\ufeff" + table(30, classes=("x", "y", "z"), mark=mark)).replace("\n", end)
    name = write(tmp_path, **{f"mine__{ending}": gzip.compress(content.encode())})
    (tmp_path / f"mine.{ending}").rename(tmp_path / f"mine.{ending}.gz")
    corpus = labelled(name)
    assert corpus.classes == ("x", "y", "z") and len(corpus.train) == 24
    for part in (corpus.train, corpus.valid, corpus.tests["test"]):
        assert all(
            text[0].endswith(f"of {label}") for text, label in zip(part.texts, part.labels, strict=True)
        )
        assert set(part.labels) == {0, 1, 2}


def test_a_class_of_each_is_in_training_and_the_columns_are_said(tmp_path):
    content = "id,remark,stars\n" + "".join(f"{i},good {i},{5 if i else 10}\n" for i in range(30))
    name = write(tmp_path, r__csv=content)
    with pytest.raises(
        DataError, match=r"which columns hold the text and the label\? They are 'id', 'remark'"
    ):
        labelled(name)
    corpus = labelled(name, files=Files(text=("remark",)))
    assert corpus.classes == ("5", "10") and 1 in corpus.train.labels
    assert corpus.notes[0] == "texts in 'remark', labels in 'stars'"
    assert "2 classes: 5 23, 10 1" in corpus.notes


def test_of_two_columns_the_one_that_is_no_text_holds_the_labels(tmp_path):
    content = "text,mood\n" + "".join(f"good {i},{i % 2}\n" for i in range(30))
    assert labelled(write(tmp_path, r__csv=content)).notes[0] == "texts in 'text', labels in 'mood'"


def test_two_texts_are_judged_together(tmp_path):
    content = "one,two,label\n" + "".join(f"a{i},b{i},{i % 2}\n" for i in range(20))
    corpus = labelled(write(tmp_path, r__csv=content), files=Files(text=("one", "two")))
    assert all(len(text) == 2 for text in corpus.train.texts)


# ---- sequences of numbers --------------------------------------------------------------------------------------------


def test_numbers_stand_in_columns_or_in_one(tmp_path):
    wide = "label,a,b,c\n" + "".join(f"{i % 2},{i},{i + 1},{'' if i % 3 else i + 2}\n" for i in range(30))
    long = "label,numbers\n" + "".join(
        f"{i % 2},{i} {i + 1}{'' if i % 3 else f' {i + 2}'}\n" for i in range(30)
    )
    found = [
        own_sequences(write(tmp_path / name, x__csv=text), Files())
        for name, text in (("w", wide), ("l", long))
    ]
    assert found[0][0] == found[1][0] and {len(row) for row in found[0][0]["train"][0]} == {2, 3}
    corpus = Sequences(corpus=f"files:{tmp_path / 'w'}").examples()
    rows = corpus.train.x[torch.arange(3) <= corpus.train.last[:, None]]
    assert abs(float(rows.mean())) < 1e-5 and abs(float(rows.std(correction=0)) - 1) < 1e-5


# ---- pictures --------------------------------------------------------------------------------------------------------


def paint(folder: Path, mode: str, sizes: list[tuple[int, int]], *, each: int = 4) -> Path:
    for number, name in enumerate(("cat", "dog")):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(each):
            wide, high = sizes[i % len(sizes)]
            shape = (high, wide) if mode == "L" else (high, wide, len(mode))
            Image.fromarray(np.full(shape, 60 * number + i, dtype=np.uint8)).save(folder / name / f"{i}.png")
    return folder


@pytest.mark.parametrize(("mode", "channels"), [("L", 1), ("LA", 2), ("RGB", 3), ("RGBA", 4)])
@pytest.mark.parametrize(
    ("sizes", "shape"), [([(8, 12)], (12, 8)), ([(8, 12), (30, 31)], (28, 28)), ([(500, 300)], (64, 64))]
)
def test_pictures_of_any_size_and_channels_are_read(tmp_path, mode, channels, sizes, shape):
    task = Pictures(images=f"files:{paint(tmp_path, mode, sizes)}", patch=4)
    corpus = task.examples()
    assert corpus.classes == ("cat", "dog") and task.shape() == (*shape, channels, 2)
    assert corpus.train.x.shape[1:] == (*shape, channels)
    assert corpus.inputs == {"size": [*shape], "channels": channels}
    assert task.shapes(3)[0].x.shape == (3, shape[0] * shape[1] // 16, 16 * channels)
    assert corpus.train.in_order(batch=2)[0].x.shape[1:] == task.shapes(3)[0].x.shape[1:]


def test_parts_of_pictures_may_lie_in_folders(tmp_path):
    paint(tmp_path / "train", "L", [(8, 8)])
    paint(tmp_path / "test", "L", [(8, 8)], each=1)
    parts = own_pictures(f"files:{tmp_path}", Files(), patch=4)[0]
    assert len(parts["test"][1]) == 2 and len(parts["train"][1]) + len(parts["valid"][1]) == 8
    (tmp_path / "test" / "cow").mkdir()
    Image.new("L", (8, 8)).save(tmp_path / "test" / "cow" / "1.png")
    with pytest.raises(
        DataError, match=r"1\.png: the label 'cow' stands in test and not in the training data"
    ):
        own_pictures(f"files:{tmp_path}", Files(), patch=4)


def test_what_is_no_picture_is_named_and_counted(tmp_path):
    paint(tmp_path, "RGB", [(8, 8)])
    (tmp_path / "cat" / "notes.txt").write_text("mine")
    (tmp_path / "cat" / ".DS_Store").write_text("theirs")
    *_, notes = own_pictures(f"files:{tmp_path}", Files(), patch=4)
    assert any("that are no pictures" in note and "(1 in all)" in note for note in notes)


# ---- content ---------------------------------------------------------------------------------------------------------


def test_the_digest_is_of_the_content_wherever_it_lies(tmp_path):
    for folder in (tmp_path / "a", tmp_path / "b"):
        paint(folder / "pictures", "L", [(8, 8)])
        write(folder, mine__csv=table(9))
    for name in ("pictures", "mine.csv"):
        assert content_digest(f"files:{tmp_path / 'a' / name}") == content_digest(
            f"files:{tmp_path / 'b' / name}"
        )
    before = content_digest(f"files:{tmp_path / 'a' / 'pictures'}")
    Image.new("L", (8, 8)).save(tmp_path / "a" / "pictures" / "cat" / "1.png")
    assert content_digest(f"files:{tmp_path / 'a' / 'pictures'}") != before


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        (dict(train__it="a", train__en="a"), "pairs"),
        (dict(a__tsv="de\ten\nx\ty\n"), "pairs"),
        (dict(a__txt="a"), "text"),
        (dict(train__txt="a", valid__txt="a"), "text"),
        (dict(train__it="a", train__en="a", README__md="about them"), "pairs"),
        (dict(a__csv="text,label\n,1\nfine film,1\n"), "labels"),
        (dict(a__csv="text,label\nx,1\n"), "labels"),
        (dict(a__csv="label,t1,t2\n1,2,3\n"), "numbers"),
        (dict(a__csv="class,series\nx,1 2 3\n"), "numbers"),
        (dict(TEXT__CSV="text,label\na film,a\n"), "labels"),
        (dict(STORY__TXT="a\n"), "text"),
        (dict(a__csv="review,stars\n2024,1\ngood,2\n"), "labels"),
        (dict(a__csv="series,target\n1 2,0\n3 4,1\n"), "numbers"),
        (dict(a__csv="Source,Target\nx,y\n"), "pairs"),
        (dict(a__tsv="tgt\tsrc\nx\ty\n"), "pairs"),
        (dict(train__de="a", train__en="a", stats__csv="a,b\n1,2\n"), "pairs"),
        (dict(train__txt="a", stats__csv="a,b\n1,2\n"), "text"),
        (dict(a__csv="text,label\nx,1\n", train__py="1"), "labels"),
        (dict(a__csv="text,label\nx,1\n", test__py="1"), "labels"),
        (dict(a__csv="text,label\nx,1\n", test__txt="a"), "labels"),
        (dict(a__csv="text,label\nx,1\n", training__md="a"), "labels"),
        (dict(train__de="a", train__en="a", train__log="a"), "pairs"),
        (dict(my__jsonl__csv="text,label\na film,1\n", my__parquet__csv="text,label\na film,1\n"), "labels"),
        (dict(a__jsonl='{"translation": null}\n{"translation": {"de": "x", "en": "y"}}\n'), "pairs"),
    ],
)
def test_the_kind_of_data_is_seen_from_all_rows_and_in_any_spelling(tmp_path, files, kind):
    assert kind_of(write(tmp_path, **files)) == kind


def test_pictures_are_seen_and_what_is_nothing_is_said(tmp_path):
    folder = paint(tmp_path / "p", "L", [(8, 8)])
    assert kind_of(f"files:{folder}") == "pictures"
    (folder / "LICENSE.txt").write_text("free")
    assert kind_of(f"files:{folder}") == "pictures"
    (folder / "names.csv").write_text(f"file,label\n{next(folder.rglob('*.png')).relative_to(folder)},a\n")
    with pytest.raises(DataError, match=r"names\.csv names pictures: give the folder that it lies in"):
        kind_of(f"files:{folder / 'names.csv'}")
    with pytest.raises(DataError, match="holds none of what can be trained on: parallel text"):
        kind_of(write(tmp_path / "q", a__pdf="x"))


def test_an_ellipsis_follows_five_of_more_than_five(tmp_path):
    others = {f"{i}__pdf": "x" for i in range(6)}
    name = write(tmp_path / "a", train__it=lines(20), train__en=lines(20), **others)
    assert any("4.pdf … (6 in all)" in note for note in pairs(name).notes)
    paint(tmp_path / "b", "L", [(8, 8), (9, 9), (10, 10), (11, 11), (12, 12)], each=5)
    Image.new("RGB", (8, 8)).save(tmp_path / "b" / "cat" / "0.png")
    *_, notes = own_pictures(f"files:{tmp_path / 'b'}", Files(), patch=4)
    assert any("resized from" in note and "…" not in note for note in notes)


def test_sentences_too_short_for_bleu_are_said(tmp_path):
    corpus = pairs(write(tmp_path, train__it=lines(20), train__en=lines(20, "t")))
    (note,) = [note for note in corpus.notes if "BLEU" in note]
    assert "no text in en has 4 words" in note and "it will be 0" in note and "char counts" in note
    longer = lines(19, "t") + "one of four words\n"
    corpus = pairs(write(tmp_path, train__it=lines(20), train__en=longer))
    assert not any("BLEU" in note for note in corpus.notes)


@pytest.mark.parametrize("test", ["test.it-news", "test.it", "test.dev"])
def test_a_language_or_a_part_in_the_name_of_a_test_does_not_split_it(tmp_path, test):
    found = {f"{test}.it": "q r\n", f"{test}.en": "t u\n"}
    corpus = pairs(write(tmp_path, train__it=lines(20), train__en=lines(20), **found))
    assert corpus.tests[test].src == ["q r"] and corpus.tests[test].tgt == ["t u"]


# ---- understood or refused, never misread ----------------------------------------------------------------------------


def test_scripts_and_notes_named_for_a_part_hide_no_data(tmp_path):
    name = write(tmp_path, story__txt=lines(300), training__md="how", train__py="1", test__log="2")
    before = content_digest(name)
    assert corpora.text(name).train.startswith("w0\n")
    (tmp_path / "story.txt").write_text(lines(301))
    assert content_digest(name) != before


def film(n: int = 40) -> str:
    return "text,label\n" + "".join(f"a film {i},{'ab'[i % 2]}\n" for i in range(n))


def objects(n: int = 40) -> str:
    return "".join(json.dumps({"text": f"a film {i}", "label": i % 2}) + "\n" for i in range(n))


def frame() -> pd.DataFrame:
    return pd.DataFrame([json.loads(line) for line in objects().splitlines()])


def listed(folder: Path, name: str, content: str, n: int = 24) -> Path:
    folder.mkdir(parents=True)
    for i in range(n):
        Image.fromarray(np.full((8, 8), 100 * (i % 2) + i, np.uint8)).save(folder / f"{i}.png")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content)
    return folder


NAMED = [f"{i}.png,{'cd'[i % 2]}" for i in range(24)]
IDS = [f"{i},{'cd'[i % 2]}" for i in range(24)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metadata.csv", "file_name,label\n" + "\n".join(NAMED)),
        ("labels.csv", "id,class\n" + "\n".join(NAMED)),
        ("metadata.jsonl", "".join(f'{{"file_name": "{i}.png", "label": "{"cd"[i % 2]}"}}\n' for i in range(24))),
        ("../labels.csv", "id,class\n" + "\n".join(NAMED)),
        ("../train.csv", "id,class\n" + "\n".join(IDS)),
        ("m.csv", "index,file_name,label\n" + "\n".join(f"{k},{NAMED[i]}" for k, i in enumerate(range(24)[::-1]))),
        ("m.csv", "label,file_name\n" + "\n".join(f"{'cd'[i % 2]},./{i}.png" for i in range(24))),
        ("../m.csv", "id,class\n" + "\n".join(f".\\images\\{row}" for row in NAMED)),
        ("../m.csv", "id,class\n" + "\n".join(f"images/{row}" for row in IDS)),
        ("../data/train.csv", "id,class\n" + "\n".join(f"images/{row}" for row in NAMED)),
    ],
)  # fmt: skip
def test_pictures_that_a_table_names_are_pictures(tmp_path, name, content):
    folder = listed(tmp_path / "p" / "images", name, content)
    Image.new("L", (8, 8)).save(folder / "stray.png")
    files = f"files:{tmp_path / 'p'}" if ".." in name else f"files:{folder}"
    assert kind_of(files) == "pictures"
    parts, classes, _, notes = own_pictures(files, Files(), patch=4)
    assert classes == ("c", "d") and sum(len(labels) for _, labels in parts.values()) == 24
    assert all(((x.amax((1, 2, 3)) >= 100) == (y == 1)).all() for x, y in parts.values())
    assert any("stray.png (1 in all)" in note for note in notes)
    before = content_digest(files)
    (folder / name).write_text((folder / name).read_text().replace("c", "e"))
    assert content_digest(files) != before


def test_the_tables_of_parts_go_before_one_of_all_pictures(tmp_path):
    listed(tmp_path / "p", "labels.csv", "file_name,label\n" + "\n".join(NAMED))
    for part, rows in (("train", NAMED[:16]), ("test", NAMED[16:])):
        (tmp_path / "p" / f"{part}.csv").write_text("\n".join(["file_name,label", *rows]))
    parts, _, _, notes = own_pictures(f"files:{tmp_path / 'p'}", Files(), patch=4)
    assert len(parts["test"][1]) == 8 and sum(len(labels) for _, labels in parts.values()) == 24
    assert any("left out" in note and "labels.csv (1 in all)" in note for note in notes)


@pytest.mark.parametrize(("n", "label", "read"), [(12, "", False), (20, "", True), (12, "class", True)])
def test_a_table_goes_before_folders_of_classes_if_it_names_most_pictures_or_is_asked_for(
    tmp_path, n, label, read
):
    paint(tmp_path, "L", [(8, 8)], each=12)
    rows = [f"{animal}/{i}.png,{'xy'[i % 2]}" for animal in ("cat", "dog") for i in range(12)]
    (tmp_path / "doubtful.csv").write_text("\n".join(["file,class", *rows[:n]]))
    parts, classes, _, notes = own_pictures(f"files:{tmp_path}", Files(label=label), patch=4)
    found = classes, sum(len(labels) for _, labels in parts.values())
    assert found == ((("x", "y"), n) if read else (("cat", "dog"), 24))
    assert any("left out" in note and "doubtful.csv" in note for note in notes) != read


@pytest.mark.parametrize("above", [False, True])
def test_a_table_names_the_pictures_of_each_part(tmp_path, above):
    for part, n in (("train_set", 24), ("test", 6)):
        listed(tmp_path / part, "metadata.csv", "file_name,label\n" + "\n".join(NAMED[:n]), n)
    if above:
        rows = [
            f"{file.relative_to(tmp_path)},{'cd'[int(file.stem) % 2]}" for file in tmp_path.rglob("*.png")
        ]
        (tmp_path / "metadata.csv").write_text("\n".join(["file_name,label", *rows]))
        for file in tmp_path.glob("*/metadata.csv"):
            file.unlink()
    assert kind_of(f"files:{tmp_path}") == "pictures"
    parts, classes, _, _ = own_pictures(f"files:{tmp_path}", Files(), patch=4)
    assert {part: len(labels) for part, (_, labels) in parts.items()} == {"train": 22, "valid": 2, "test": 6}
    assert classes == ("c", "d")


def test_two_files_named_alike_in_class_folders_take_no_labels_from_a_table(tmp_path):
    paint(tmp_path, "L", [(8, 8)])
    names = [file.relative_to(tmp_path) for file in sorted(tmp_path.rglob("*.png"))]
    (tmp_path / "sizes.csv").write_text(
        "file_name,width\n" + "".join(f"{n},{i % 2}\n" for i, n in enumerate(names))
    )
    (tmp_path / "broken.csv").write_text("a,b\n1\n")
    assert own_pictures(f"files:{tmp_path}", Files(), patch=4)[1] == ("cat", "dog")


def test_frames_that_are_left_out_are_counted(tmp_path):
    for folder in ("cat", "dog"):
        (tmp_path / folder).mkdir()
        for i in range(4):
            first, second = (Image.new("L", (8, 8), shade) for shade in (40 + i, 200))
            first.save(tmp_path / folder / f"{i}.gif", save_all=True, append_images=[second] * (i % 2))
    notes = own_pictures(f"files:{tmp_path}", Files(), patch=4)[-1]
    assert "frames left out but the first of each: 4 pictures have several" in notes


def test_class_folders_stay_pictures_whatever_lies_beside_them(tmp_path):
    folder = paint(tmp_path / "p", "L", [(8, 8)], each=12)
    (folder / "cat").rename(folder / "train-station")
    (folder / "numbers.csv").write_text("a,b\n1,2\n3,4\n")
    assert kind_of(f"files:{folder}") == "pictures"
    _, classes, _, notes = own_pictures(f"files:{folder}", Files(), patch=4)
    assert classes == ("dog", "train-station") and any("numbers.csv" in note for note in notes)
    before = content_digest(f"files:{folder}")
    Image.new("L", (8, 8)).save(folder / "dog" / "1.png")
    assert content_digest(f"files:{folder}") != before


@pytest.mark.parametrize(
    ("numbers", "scale"),
    [
        (np.float32([0.0, 0.5, 1.0]), 1),
        (np.float32([0.0, 100.0, 255.0]), 255),
        (np.float32([0.0, 0.5, 2.5]), 2.5),
        (np.uint16([0, 1, 1]), 1),
        (np.uint16([0, 2048, 4095]), 4095),
        (np.uint16([0, 200, 65535]), 65535),
        (np.uint16([0, 1, 200]), 255),
    ],
)
def test_all_pictures_of_a_folder_have_one_scale(tmp_path, numbers, scale):
    for folder in ("cat", "dog"):
        (tmp_path / folder).mkdir()
        for i, number in enumerate((*numbers, *numbers)):
            Image.fromarray(np.full((8, 8), number)).save(tmp_path / folder / f"{i}.tif")
    parts, _, found, notes = own_pictures(f"files:{tmp_path}", Files(), patch=4)
    seen = {int(value) for x, _ in parts.values() for value in x.unique()}
    assert found == scale and seen == {round(number / scale * 255) for number in numbers.astype(float)}
    assert f"values from 0 to {scale:g} in all pictures of more than 8 bits" in notes
    corpus = Pictures(images=f"files:{tmp_path}", patch=4).examples()
    assert corpus.inputs["scale"] == scale  # what the stored model reads a single picture by
    assert int(read_picture(tmp_path / "cat" / "1.tif", (8, 8), 1, scale).max()) == round(
        float(numbers[1]) / scale * 255
    )
    for strange, said in (
        (-1, "values from -1"),
        (np.nan, "values from nan"),
        (scale + 1, "up to|or from 0 to 65535"),
    ):
        Image.fromarray(np.full((8, 8), strange, np.float32)).save(tmp_path / "new.tif")
        with pytest.raises(DataError, match=f"new.tif has .*({said})"):
            read_picture(tmp_path / "new.tif", (8, 8), 1, scale)


@pytest.mark.parametrize(
    ("valid", "test"),
    [
        ("eval", "holdout"),
        ("Dev", "held-out"),
        ("validation", "my_test"),
        ("val", "testing"),
        ("data.valid", "tst"),
        ("valid_set", "TEST"),
        ("dev/a", "holdout/b"),
    ],
)
def test_parts_are_known_by_their_usual_names(tmp_path, valid, test):
    write(tmp_path, train__csv=film())
    for name, n in ((valid, 4), (test, 2)):
        (file := tmp_path / f"{name}.CSV").parent.mkdir(exist_ok=True)
        file.write_text(film(n))
    corpus = labelled(f"files:{tmp_path}")
    (tested,) = corpus.tests.values()
    assert (len(corpus.train), len(corpus.valid), len(tested)) == (40, 4, 2)
    assert not any("split off" in note or "left out" in note for note in corpus.notes)


def test_pairs_may_lie_in_folders_of_the_parts_with_a_table_beside_them(tmp_path):
    for part, n in (("train", 9), ("dev", 3), ("test", 2)):
        write(tmp_path / part, news__it=lines(n), news__en=lines(n, "t"))
    name = write(tmp_path, stats__csv="a,b\n1,2\n")
    corpus = pairs(name)
    assert kind_of(name) == "pairs" and [len(corpus.train), len(corpus.valid)] == [9, 3]
    assert len(corpus.tests["test"]) == 2 and any("stats.csv" in note for note in corpus.notes)


def zipped(content: str) -> bytes:
    with zipfile.ZipFile(found := io.BytesIO(), "w") as archive:
        archive.writestr("a.csv", content)
        archive.writestr("__MACOSX/._a.csv", "x")
    return found.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("A.CSV.GZ", lambda: gzip.compress(film().encode())),
        ("a.csv.zip", lambda: zipped(film())),
        ("a.parquet.gz", lambda: gzip.compress(frame().to_parquet())),
        ("a.csv", lambda: film().replace(",", "|").encode()),
    ],
)
def test_packed_tables_are_read_in_any_spelling(tmp_path, name, content):
    (tmp_path / name).write_bytes(content())
    assert kind_of(f"files:{tmp_path}") == "labels" and len(labelled(f"files:{tmp_path}").train) == 32


def test_what_is_left_out_of_a_folder_is_named_with_the_reason(tmp_path):
    write(tmp_path / "old", a__csv=film(4), a__docx="x")
    name = write(tmp_path, train__csv=film(), more__csv=film(4), README__md="about", notes__docx="x")
    (note,) = [note for note in labelled(name).notes if "left out" in note]
    assert "old (named for no part: train, valid or test; no .csv)" in note
    assert "more.csv (named for no part: train, valid or test)" in note
    assert "README.md (no .csv)" in note and "notes.docx (no .csv)" in note


def test_a_readme_is_no_training_text(tmp_path):
    with pytest.raises(DataError, match="holds none of what can be trained on"):
        kind_of(write(tmp_path, README__md=lines(300)))
    folder = tmp_path / "hub"
    write(
        folder / "data",
        **{"train-00000-of-00001__jsonl": objects(), "test-00000-of-00001__jsonl": objects(4)},
    )
    name = write(folder, README__md=lines(300))
    assert kind_of(name) == "labels" and len(labelled(name).train) == 36


def test_tables_of_json_lines_and_parquet_are_read_as_those_of_commas_are(tmp_path):
    write(tmp_path / "a", train__jsonl=objects())
    frame().to_csv((tmp_path / "c").mkdir() or tmp_path / "c" / "train.csv", index=False)
    (tmp_path / "b").mkdir()
    frame().to_parquet(tmp_path / "b" / "train.parquet")
    found = [labelled(f"files:{tmp_path / folder}") for folder in "abc"]
    assert found[0].train == found[1].train == found[2].train and found[0].classes == ("0", "1")
    rows = {"translation": [{"it": f"w{i}", "en": f"t{i}"} for i in range(20)]}
    pd.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    corpus = pairs(f"files:{tmp_path / 't.parquet'}")
    assert kind_of(f"files:{tmp_path / 't.parquet'}") == "pairs" and len(corpus.train) == 16
    series = "".join(json.dumps({"label": "xy"[i % 2], "series": [i, i + 1]}) + "\n" for i in range(40))
    assert kind_of(write(tmp_path / "n", a__ndjson=series)) == "numbers"
    with pytest.raises(DataError, match=r"a\.jsonl, line 1: two of its columns are named 'it'"):
        kind_of(write(tmp_path / "d", a__jsonl='{"it": "a", "more": {"it": "b"}}\n'))


def test_cells_of_any_length_and_labels_after_a_space_are_read(tmp_path):
    rows = "".join(f'"film, {i}", "{"ab"[i % 2]}"\n' for i in range(40))
    corpus = labelled(write(tmp_path / "a", a__csv=f"text, label\n{rows}"))
    assert corpus.classes == ("a", "b") and corpus.train.texts[0][0].startswith("film, ")
    long = film().replace("a film 3,", f"{'word ' * 30000},")
    assert (
        max(
            len(text[0])
            for text in labelled(write(tmp_path / "b", train__csv=long, valid__csv=film(2))).train.texts
        )
        > 131_072
    )


@pytest.mark.parametrize(
    ("encoding", "line"),
    [
        ("cp1252", "“Die schöne Straße” – für {}"),
        ("cp932", "これは良い映画です{}"),
        ("cp1251", "это очень хороший фильм {}"),
        ("gb18030", "这是一部很好的电影，我们都喜欢它{}"),
        ("utf-16le", "plain {}"),
    ],
)
def test_the_encoding_is_named_with_the_line_and_the_advice_makes_it_readable(tmp_path, encoding, line):
    text = "text,label\n" + "".join(f"{line.format(i)},{i % 2}\n" for i in range(40))
    name = write(tmp_path, a__csv=text.encode(encoding))
    with pytest.raises(DataError, match=r"a\.csv, line [12]: byte 0x\w\w is not UTF-8; as ") as error:
        labelled(name)
    shown = text.splitlines()[0 if encoding == "utf-16le" else 1]
    assert f"as {encoding} the line reads {shown!r}" in str(error.value)
    (command,) = re.findall("`(.*)`", str(error.value))
    command = re.sub(r"-f \S+", f"-f {encoding}", command)  # the one that reads right
    subprocess.run(command, shell=True, check=True, cwd=tmp_path)
    (tmp_path / "a.csv").unlink()
    assert len(labelled(name).train) == 32

"""What a message on data of one's own advises is done, on the files that caused it, and ends in a trained model."""

import bz2
import gzip
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest
from PIL import Image
from test_own_data import film, frame, lines, listed, objects, paint, write

from reservoir.datasets import DataError
from reservoir_lab.launch.train import chosen_runs
from reservoir_lab.runs import execute


def train(path: Path, recipe: str = "", *fields: str):
    """What `reservoir run RECIPE --data PATH` records, after a step."""
    fields, names = ("--budget.steps", "1", *fields), [recipe] if recipe else []
    (run,) = chosen_runs(names, "smoke", [0], fields, data=str(path), name="mine")
    return execute(run, fresh=True)


@dataclass
class Fault:
    """Files that are refused; what their message says, as a regular expression; and `mend`, which does that.

    The command names `recipe`, `fields` and the file `at` in the folder; afterwards `then`, and the file `then_at`.
    """

    said: str
    make: Callable[[Path], object] | dict[str, str | bytes]
    mend: Callable[[Path], object] = lambda folder: None
    recipe: str = ""
    fields: tuple[str, ...] = ()
    at: str = ""
    then: tuple[str, ...] = ()
    then_at: str = ""


def change(name: str, old: str, new: str) -> Callable[[Path], object]:
    return lambda d: (d / name).write_text((d / name).read_text(encoding="utf-8").replace(old, new))


def rename(name: str, new: str) -> Callable[[Path], object]:
    return lambda d: (d / name).rename(d / new)


def delete(*names: str) -> Callable[[Path], object]:
    return lambda d: [(d / name).unlink() for name in names]


def pictures(d: Path, *parts: str) -> None:
    for part in parts or (".",):
        paint(d / part, "L", [(8, 8)])


def shards(d: Path) -> None:
    d.mkdir()
    for i in range(2):
        frame()[i::2].to_parquet(d / f"train-0000{i}-of-00002.parquet")


def joined(d: Path) -> None:
    files = sorted(d.iterdir())
    pd.read_parquet(files).to_parquet(d / "train.parquet")
    delete(*(file.name for file in files))(d)


def joined_sides(d: Path) -> None:
    for side in ("de", "en"):
        (d / f"train.{side}").write_text(
            "".join((d / "train" / f"{name}.{side}").read_text() for name in "ab")
        )
        delete(f"train/a.{side}", f"train/b.{side}")(d)


def of_floats(d: Path, low: float) -> None:
    for name, value in (("cat", low), ("dog", low + 1)):
        (d / name).mkdir(parents=True, exist_ok=True)
        for i in range(4):
            Image.fromarray(np.full((8, 8), value, np.float32)).save(d / name / f"{i}.tif")


def in_bytes(d: Path) -> None:
    d.mkdir()
    Image.new("L", (8, 8), 9).save(d / "x.png")
    cell = {"bytes": (d / "x.png").read_bytes(), "path": "x.png"}
    (d / "x.png").unlink()
    pd.DataFrame({"image": [cell] * 12, "label": ["x", "y"] * 6}).to_parquet(d / "train.parquet")


def stored_as_files(d: Path) -> None:
    for i, row in pd.read_parquet(d / "train.parquet").iterrows():
        write(d / row["label"], **{f"{i}__png": row["image"]["bytes"]})


def packed(d: Path) -> None:
    d.mkdir()
    with zipfile.ZipFile(d / "a.csv.zip", "w") as archive:
        for name, n in (("train.csv", 40), ("test.csv", 4)):
            archive.writestr(name, film(n))


def unpacked(d: Path) -> None:
    zipfile.ZipFile(d / "a.csv.zip").extractall(d)


def rounded(d: Path) -> None:
    scores = pd.read_csv(d / "a.csv")
    scores.assign(score=(scores.score / 8).round()).to_csv(d / "a.csv", index=False)


def story(d: Path) -> None:
    write(d, a__txt=lines(300))


def films(d: Path) -> None:
    write(d, a__csv=film())


def sides(n: int = 40) -> dict[str, str]:
    return dict(train__de=lines(n), train__en=lines(n, "t"))


NAMED = "file_name,animal,age\n" + "".join(f"{i}.png,{'cd'[i % 2]},{i}\n" for i in range(24))
PLAIN = "file_name,label\n" + "".join(f"{i}.png,{'cd'[i % 2]}\n" for i in range(24))
AWAY = PLAIN.replace("\n", "\n/data/", 24)
BARE = "id,label,age\n" + "".join(f"{i},p{i % 2},{23 - i}\n" for i in range(24))
REMARKS = "id,remark,verdict\n" + "".join(f"{i},good {i},{'ab'[i % 2]}\n" for i in range(40))
WAVES = "label,a,b\n" + "".join(f"{'xy'[i % 2]},{i},{i + 1}\n" for i in range(40))
SCORES = "text,score,mood\n" + "".join(f"a film {i},{i * 0.37},{'xy'[i % 2]}\n" for i in range(40))
LONG = "english,german\n" + "".join(f"w{i} x,t{i} y\n" for i in range(30))

FAULTS = {
    "two for a part": Fault("keep one", dict(train__csv=film(), training__csv=film()), delete("training.csv")),
    "eval": Fault("or name one of them test",
                  dict(train__csv=film(), valid__csv=film(4), eval__csv=film(4)), rename("eval.csv", "test.csv")),
    "shards": Fault(r"or join them, those of Parquet by pandas.read_parquet\(\[FILE, …\]\).to_parquet", shards, joined),
    "no training": Fault("has no train.csv: texts go there", dict(a__csv=film(), b__csv=film()),
                         rename("a.csv", "train.csv")),
    "no column": Fault("no column is named 'x'; they are 'text', 'label'", dict(a__csv=film()),
                       fields=("--task.files.label", "x"), then=("--task.files.label", "label")),
    "quotes": Fault('line 3: .* marks within it are doubled: "he said ""yes"""',
                    dict(a__csv=film().replace("a film 1,", '"a "fine" film",')),
                    change("a.csv", '"a "fine" film"', '"a ""fine"" film"')),
    "cells": Fault("line 3: 3 cells.* put a text that holds ',' in quotation marks",
                   dict(a__csv=film().replace("a film 1,", "a film, 1,")), change("a.csv", "a film, 1", '"a film, 1"')),
    "twice": Fault("give each a name of its own", dict(a__csv=film().replace("text,label", "text,text")),
                   change("a.csv", "text,text", "text,label")),
    "no rows": Fault("each other one is a row", dict(a__csv=""), films),
    "no JSON": Fault("line 2: .*each line is an object of JSON",
                     dict(a__jsonl=objects().replace('{"text": "a film 1"', "")),
                     change("a.jsonl", "\n,", '\n{"text": "fine",')),
    "bytes": Fault("store pictures as files, in one folder per class", in_bytes, stored_as_files),
    "objects in a list": Fault("'talk' is a list of lists, objects or nulls; write .* as one text",
                               dict(a__jsonl=objects().replace('"text": "a film 1"', '"talk": [{"by": "a film 1"}]')),
                               change("a.jsonl", '"talk": [{"by": "a film 1"}]', '"text": "a film 1"')),
    "half": Fault("mend or delete the line", dict(a__csv=film() + ",a\n"), change("a.csv", "\n,a\n", "\n")),
    "half, skipped": Fault("leave such lines out with --task.files.blank skip", dict(a__csv=film() + ",a\n"),
                           then=("--task.files.blank", "skip")),
    "no text": Fault("there is no text in it; write some", dict(a__txt="\n"), story),
    "few words": Fault("2 words, too few to split: write more", dict(a__txt="a b\n"), story),
    "too few": Fault("at least 4 of them must differ", dict(train__de=lines(3), train__en=lines(3)),
                     lambda d: write(d, **sides(4))),
    "too few of a class": Fault("4 of them must differ, and be of one class", dict(a__csv="text,label\nb,y\na,x\n"),
                                lambda d: write(d, a__csv="text,label\nb,y\na1,x\na2,x\na3,x\na4,x\n")),
    "too few, parts given": Fault("or give files named test and valid", dict(train__csv=film(2)),
                                  lambda d: write(d, test__csv=film(2), valid__csv=film(2))),
    "two tests": Fault("a language model takes one; keep one",
                       dict(train__txt=lines(300), test__txt=lines(9), test2__txt=lines(9)), delete("test2.txt")),
    "one side": Fault("has no train.de: .* needs train.de and train.en", dict(train__en=lines(40)),
                      lambda d: write(d, **sides()), recipe="own/translator"),
    "no partner": Fault("has no test.en, which must translate the other test file: add it",
                        dict(**sides(), test__de=lines(4)), lambda d: write(d, test__en=lines(4))),
    "no partner in its folder": Fault(
        "d/valid has no a.en, which must", lambda d: (write(d, **sides()), write(d / "valid", a__de=lines(4))),
        lambda d: write(d / "valid", a__en=lines(4))),
    "two in a language": Fault("two files for train in de, train/a.de and train/b.de: join them, and those in the other"
                               " languages in the same order", lambda d: [write(d / "train", **{f"{name}__{side}":
                               lines(20, name + side) for side in ("de", "en")}) for name in "ab"], joined_sides),
    "named apart": Fault("a.de and .*c.en have names that differ .* such as train.de and train.en",
                         lambda d: write(d / "train", a__de=lines(40), c__en=lines(40)),
                         lambda d: [rename(f"train/{old}", f"train.{old[2:]}")(d) for old in ("a.de", "c.en")]),
    "half a pair": Fault("train.en, line 2: half of a pair; .*in both files",
                         dict(train__de=lines(40), train__en=lines(40, "t").replace("t1\n", "\n", 1)),
                         lambda d: write(d, **sides())),
    "other lengths": Fault("train.de has 40 lines but .*train.en has 41: .*; the longer one has more at its end",
                           dict(train__de=lines(40), train__en=lines(41, "t")), lambda d: write(d, **sides())),
    "out of step": Fault("look at line 3, which is blank", dict(train__de=lines(40).replace("w2\n", "\n", 1),
                         train__en=lines(41, "t")), lambda d: write(d, **sides())),
    "languages": Fault("say which, such as --task.src en --task.tgt it", dict(train__it=lines(40), train__en=lines(40)),
                       fields=("--task.src", "fr"), then=("--task.src", "en", "--task.tgt", "it")),
    "columns": Fault("name them with --task.files.text NAME --task.files.label NAME", dict(a__csv=REMARKS),
                     then=("--task.files.text", "remark", "--task.files.label", "verdict")),
    "long names of languages": Fault("of translations, with own/translator and --task.src NAME --task.tgt NAME",
                                     dict(a__csv=LONG),
                                     then=("own/translator", "--task.src", "english", "--task.tgt", "german")),
    "no header": Fault("put a line above it that does", dict(a__csv=film().partition("\n")[2]),
                       films),
    "running text": Fault("A column of running text goes to a .txt file", dict(a__csv="text\n" + lines(300)),
                          story, then_at="a.txt"),
    "scores": Fault("Name another column with --task.files.label", dict(a__csv=SCORES),
                    fields=("--task.files.label", "score"), then=("--task.files.label", "mood")),
    "scores, rounded": Fault("or round the numbers to a few", dict(a__csv=SCORES), rounded,
                             fields=("--task.files.label", "score"), then=("--task.files.label", "score")),
    "one class": Fault("a classifier needs two or more", dict(a__csv=film().replace(",b", ",a")),
                       films),
    "unknown class": Fault("add examples of it there, mend the label, or take the row away",
                           dict(train__csv=film(), test__csv="text,label\nq,a\nr,-1\n"),
                           change("test.csv", "r,-1\n", "")),
    "no number": Fault("line 2: '1o' is no number", dict(a__csv=WAVES.replace("x,0,", "x,1o,")),
                       change("a.csv", "1o", "10"), recipe="own/sequences"),
    "gap": Fault("line 2: a cell is empty before the end of the sequence; write a number", dict(
                 a__csv=WAVES.replace("x,0,", "x,,")), change("a.csv", "x,,", "x,0,")),
    "not finite": Fault("line 2: 'nan' is not finite; write a number, or leave the row out",
                        dict(a__csv=WAVES.replace("x,0,1\n", "x,nan,1\n")), change("a.csv", "x,nan,1\n", "")),
    "positions": Fault("2 numbers are no whole number of positions of 3 numbers", dict(a__csv=WAVES),
                       fields=("--task.features", "3"), then=("--task.features", "2")),
    "a picture": Fault("pictures lie in a folder with one subfolder per class", pictures, recipe="own/pictures",
                       at="cat/1.png", then_at="."),
    "damaged": Fault("0.png is damaged, .* replace it, or delete it",
                     lambda d: (pictures(d), write(d / "cat", **{"0__png": "x"})), delete("cat/0.png")),
    "an empty class": Fault("or delete the folder", lambda d: (pictures(d), (d / "cow").mkdir()),
                            lambda d: (d / "cow").rmdir()),
    "no class": Fault("or a table next to them, such as metadata.csv", lambda d: listed(d, "about.md", ""),
                      lambda d: write(d, metadata__csv=NAMED), recipe="own/pictures",
                      then=("--task.files.label", "animal")),
    "the table alone": Fault("names pictures: give the folder that it lies in", lambda d: listed(d, "m.csv", NAMED),
                             at="m.csv", then_at=".", then=("--task.files.label", "animal")),
    "column of classes": Fault("name it with --task.files.label NAME", lambda d: listed(d, "metadata.csv", NAMED),
                               then=("--task.files.label", "animal")),
    "no such picture": Fault("line 26: there is no one picture called 'x.png': add it, .* or delete the line",
                             lambda d: listed(d, "metadata.csv", NAMED + "x.png,c,1\n"),
                             change("metadata.csv", "x.png,c,1\n", ""),
                             fields=("--task.files.label", "animal"), then=("--task.files.label", "animal")),
    "which names": Fault(r"which column names the pictures\? 'id', 'age' may: write their names with the ending",
                         lambda d: listed(d, "m.csv", BARE), lambda d: write(d, m__csv=BARE.replace(",p", ".png,p"))),
    "which names, one left": Fault("or leave one of these columns", lambda d: listed(d, "m.csv", BARE),
                                   lambda d: write(d, m__csv=re.sub(r",\w+$", "", BARE, flags=re.MULTILINE))),
    "no paths here": Fault("line 2: there is no one picture called '/data/0.png': .* write their paths below",
                           lambda d: listed(d, "m.csv", AWAY), lambda d: write(d, m__csv=AWAY.replace("/data/", ""))),
    "two tables": Fault("both say the classes of all pictures: keep one", lambda d: write(listed(d, "m.csv", PLAIN),
                        old__csv=PLAIN), delete("old.csv")),
    "two classes": Fault("line 26: '0.png' is of the class 'd', but 'c' in .*m.csv, line 2: delete one",
                         lambda d: listed(d, "m.csv", PLAIN + "0.png,d\n"), change("m.csv", "0.png,d\n", "")),
    "a table in a class": Fault("if it says their classes, move it to", lambda d: listed(d / "images", "m.csv", PLAIN),
                                lambda d: rename("images/m.csv", "m.csv")(d)),
    "two folders": Fault("keep one, or name one of them test", lambda d: pictures(d, "train", "valid", "eval"),
                         rename("eval", "test")),
    "negative": Fault("shift and scale all of them alike", lambda d: of_floats(d, -0.5), lambda d: of_floats(d, 0)),
    "several in one": Fault("holds train.csv, test.csv: unpack it", packed, unpacked),
    "cut off": Fault("is truncated: fetch or pack it again", {"a__csv__gz": gzip.compress(film().encode())[:50]},
                     lambda d: write(d, a__csv__gz=gzip.compress(film().encode()))),
    "parts or classes": Fault("Call parts train, valid and test", lambda d: pictures(d, "seg_train", "seg_test"),
                              lambda d: [rename(f"seg_{part}", part)(d) for part in ("train", "test")]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_the_advice_of_a_message_ends_in_a_trained_model(tmp_path, results, name):
    fault, folder = FAULTS[name], tmp_path / "d"
    fault.make(folder) if callable(fault.make) else write(folder, **fault.make)
    with pytest.raises(DataError, match=fault.said):
        train(folder / fault.at, fault.recipe, *fault.fields)
    fault.mend(folder)
    recipe, fields = fault.recipe, fault.then
    if fields and fields[0].startswith("own/"):
        recipe, *fields = fields
    assert train(folder / (fault.then_at or fault.at), recipe, *fields).tests


def arrow(open_, path: Path) -> None:
    found = pyarrow.Table.from_pandas(frame())
    with open_(path, found.schema) as writer:
        writer.write_table(found)


@pytest.mark.parametrize(
    ("name", "make", "instead"),
    [
        ("a.json", lambda path: frame().to_json(path, orient="records"), None),
        ("a.feather", lambda path: frame().to_feather(path), None),
        ("a.arrow", lambda path: arrow(pyarrow.ipc.new_stream, path), None),
        ("train/data-00000-of-00001.arrow", lambda path: arrow(pyarrow.ipc.new_stream, path), None),
        ("a.arrow", lambda path: arrow(pyarrow.ipc.new_file, path), "open_file for open_stream"),
    ],
)
def test_the_advice_for_a_table_in_another_format_makes_one_that_is_learned(
    tmp_path, results, monkeypatch, name, make, instead
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    make(tmp_path / name)
    if "/" in name:
        write(tmp_path, dataset_dict__json="{}")
    for recipe in ("", "own/classifier"):
        with pytest.raises(DataError, match=f"{Path(name).name} is not read as it is: ") as error:
            train(tmp_path, recipe)
    advice, _, other = str(error.value).rpartition("in Python, ")[2].partition(", or ")
    if instead:
        new, _, old = other.partition(" for ")
        assert other == instead and old in advice
        advice = advice.replace(old, new)
    eval(advice.replace("FILE", repr(name)), {"pandas": pd, "pyarrow": pyarrow})
    assert "32 texts" in " ".join(train(tmp_path).notes)


UNIT = '<tu><tuv xml:lang="de"><seg>w{0}</seg></tuv><tuv xml:lang="en"><seg>t{0}</seg></tuv></tu>'
TMX = f"<tmx><body>{''.join(map(UNIT.format, range(40)))}</body></tmx>"


def sentences(d: Path) -> None:
    for language in ("de", "en"):
        those = ElementTree.parse(d / "a.tmx").iterfind(
            f".//tuv[@{{http://www.w3.org/XML/1998/namespace}}lang='{language}']/seg"
        )
        (d / f"train.{language}").write_text("".join(f"{one.text}\n" for one in those))


@pytest.mark.parametrize(
    ("name", "content", "advice", "follow"),
    [
        ("a__xlsx", b"PK\3\4\xff", "save its sheet as .csv, in UTF-8", films),
        ("a__tmx", TMX, "write its sentences to train.de and train.en, one a line", sentences),
        ("a__npy", b"\x93NUMPY", "write it as a table, .csv, with a column of labels",
         lambda d: write(d, a__csv=WAVES)),
        ("a__pdf", b"%PDF", "write its text to a .txt file in UTF-8", story),
        ("a__json", objects(), "name it .jsonl if each of its lines is an object", rename("a.json", "a.jsonl")),
        ("a__csv__bz2", bz2.compress(film().encode()), "unpack it",
         lambda d: (d / "a.csv").write_bytes(bz2.decompress((d / "a.csv.bz2").read_bytes()))),
    ],
)  # fmt: skip
def test_what_other_formats_are_to_become_is_learned_with_the_old_file_beside_it(
    tmp_path, results, name, content, advice, follow
):
    write(tmp_path, **{name: content})
    file = tmp_path / name.replace("__", ".")
    for path, recipe in (
        (tmp_path, ""),
        (file, ""),
        (tmp_path, "own/classifier"),
        (file, "own/language-model"),
    ):
        with pytest.raises(DataError, match=f"{file.name} is not read as it is: {advice}"):
            train(path, recipe)
    follow(tmp_path)
    left = [note for note in train(tmp_path).notes if "left out" in note]
    assert file.name in " ".join(left) or not file.exists()

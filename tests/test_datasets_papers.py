"""The papers' corpora, on small archives of the same format: each step seen on its own, and what each fault is told."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from reservoir import datasets
from reservoir.datasets import DataError, Pairs
from reservoir_lab import corpora
from reservoir_lab.corpora import papers, parallel
from reservoir_lab.corpora.papers import clean, normalise, read_segments, tokenise

TALK = {  # language -> the training file of IWSLT14: two talks with what is said about them
    "de": [
        "<url>http://www.ted.com/talks/1</url>",
        "<keywords>Wissenschaft, Meer</keywords>",
        "<talkid>1</talkid>",
        "<title>Das Meer: ein Überblick</title>",
        "<description>Dr. Ballard taucht.</description>",
        "Ich hab's gesehen, z. B. gestern.",
        "Drei Wörter hier.",
    ],
    "en": [
        "<url>http://www.ted.com/talks/1</url>",
        "<keywords>science, ocean</keywords>",
        "<talkid>1</talkid>",
        "<title>The sea: a survey</title>",
        "<description>Dr. Ballard dives.</description>",
        'I\'ve seen it, "yesterday".',
        "Here, on the other hand, stand more words than half again as many.",
    ],
}
LONG = 60  # further pairs, so that some validate


def xml(lines: list[str]) -> str:
    """A test set as the campaigns write it."""
    rows = "\n".join(f'<seg id="{i}"> {line} </seg>' for i, line in enumerate(lines, start=1))
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n<refset setid="x" srclang="any" trglang="de">\n'
    return f'{head}<doc docid="1">\n<title>Not <seg>ments</title>\n{rows}\n</doc>\n</refset></mteval>\n'


def tgz(path: Path, members: dict[str, str | bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            content = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def iwslt14() -> dict[str, str]:
    more = {"de": "Satz Nummer {} ist kurz.", "en": "Sentence number {} is short."}
    members = {}
    for language, talk in TALK.items():
        lines = [*talk, *(more[language].format(i) for i in range(LONG))]
        members[f"de-en/train.tags.de-en.{language}"] = "\n".join(lines) + "\n"
        for i, test in enumerate(papers.IWSLT14_TESTS):
            lines = [f"{test} {language.upper()} & don’t.", f"Zwei {i}."]
            members[f"de-en/IWSLT14.{test}.de-en.{language}.xml"] = xml(lines)
    return members


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """An empty cache, and a mirror that a test fills: dataset -> its folder."""
    monkeypatch.setenv("RESERVOIR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RESERVOIR_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("RESERVOIR_OFFLINE", "1")

    def folder(name: str) -> Path:
        path = tmp_path / "mirror" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    return folder


@pytest.fixture
def own_files(tmp_path, monkeypatch):
    """The library finds a dataset's files where the test writes them, unverified; others as ever."""
    real = papers.fetch

    def use(name: str) -> Path:
        (tmp_path / name).mkdir(exist_ok=True)
        monkeypatch.setattr(papers, "fetch", lambda n: tmp_path / name if n == name else real(n))
        return tmp_path / name

    return use


# IWSLT14


def test_iwslt14_is_cut_cleaned_lowered_and_split_as_fairseq_has_it(folders):
    tgz(folders("iwslt14-de-en") / "de-en.tgz", iwslt14())
    corpus = parallel("iwslt14-de-en", src="de", tgt="en")
    assert corpus.tokenised
    # Of the talk three sentences stay; the fourth has four tokens in German and fifteen in English.
    assert corpus.train[:3] == Pairs(
        ["das meer : ein überblick", "dr. ballard taucht .", "ich hab &apos; s gesehen , z. b. gestern ."],
        ["the sea : a survey", "dr. ballard dives .", "i &apos;ve seen it , &quot; yesterday &quot; ."],
    )
    # 63 pairs are left; the 23rd and the 46th validate.
    assert (len(corpus.train), len(corpus.valid)) == (61, 2)
    assert corpus.valid.src == ["satz nummer 19 ist kurz .", "satz nummer 42 ist kurz ."]
    assert len(corpus.tests["test"]) == 10
    assert corpus.tests["test"].tgt[:3] == [
        "ted.dev2010 en &amp; don &apos;t .", "zwei 0 .", "tedx.dev2012 en &amp; don &apos;t ."
    ]  # fmt: skip


def test_the_other_direction_is_the_same_text(folders):
    tgz(folders("iwslt14-de-en") / "de-en.tgz", iwslt14())
    there, back = parallel("iwslt14-de-en", src="de", tgt="en"), parallel("iwslt14-de-en", src="en", tgt="de")
    assert back.train == Pairs(there.train.tgt, there.train.src)
    assert back.tests["test"] == Pairs(there.tests["test"].tgt, there.tests["test"].src)


def test_it_is_prepared_once_and_again_if_the_cache_is_damaged(folders, tmp_path, monkeypatch):
    tgz(folders("iwslt14-de-en") / "de-en.tgz", iwslt14())
    first = parallel("iwslt14-de-en", src="de", tgt="en")
    with monkeypatch.context() as patch:
        patch.setattr(papers, "tokenise", None)  # preparing would fail
        assert parallel("iwslt14-de-en", src="de", tgt="en") == first
    (kept,) = (tmp_path / "cache" / "prepared" / "iwslt14-de-en").iterdir()
    whole = (kept / "train.en.gz").read_bytes()
    for damaged in (whole[:-20], b"", gzip.compress(b"one line\n")):
        (kept / "train.en.gz").write_bytes(damaged)
        assert parallel("iwslt14-de-en", src="de", tgt="en") == first
        assert (kept / "train.en.gz").read_bytes() == whole


def test_another_archive_is_prepared_anew(folders):
    path = tgz(folders("iwslt14-de-en") / "de-en.tgz", iwslt14())
    first = parallel("iwslt14-de-en", src="de", tgt="en")
    changed = iwslt14() | {
        f"de-en/train.tags.de-en.{language}": "\n".join(["ein neuer satz"] * 30) for language in ("de", "en")
    }
    tgz(path, changed)
    corpora.fetch("iwslt14-de-en")  # what lies in the cache stays: the reader put it there
    assert parallel("iwslt14-de-en", src="de", tgt="en") == first
    tgz(datasets.cache_dir() / "iwslt14-de-en" / "de-en.tgz", changed)
    assert len(parallel("iwslt14-de-en", src="de", tgt="en").train) == 29


def test_without_the_archive_it_is_said_where_to_get_it_and_where_to_put_it(folders):
    with pytest.raises(DataError) as error:
        parallel("iwslt14-de-en", src="de", tgt="en")
    place = str(datasets.cache_dir() / "iwslt14-de-en" / "de-en.tgz")
    for words in ("not downloaded", "get it from http", place, 'parallel("miniature"'):
        assert words in str(error.value)
    assert "\n" not in str(error.value)


def without_last_line(text: str) -> str:
    return text[: text.rstrip("\n").rindex("\n") + 1]


@pytest.mark.parametrize(
    ("member", "change", "message"),
    [
        ("de-en/train.tags.de-en.en", None, r"de-en\.tgz holds .*got 'de-en/train\.tags\.de-en\.en'"),
        (
            "de-en/train.tags.de-en.en",
            without_last_line,
            "train.tags.de-en: there are 64 sentences in 'de' but 63 in 'en'",
        ),
        (
            "de-en/IWSLT14.TED.tst2011.de-en.de.xml",
            lambda text: text.replace('<seg id="2"> Zwei 3. </seg>\n', ""),
            "TED.tst2011.de-en: there are 1 sentences in 'de' but 2 in 'en'",
        ),
        (
            "de-en/IWSLT14.TED.tst2010.de-en.en.xml",
            lambda text: text.partition(" </seg>")[0],
            r"tst2010\.de-en\.en\.xml, line 6: a segment does not end on its line",
        ),
        (
            "de-en/IWSLT14.TED.tst2012.de-en.en.xml",
            lambda text: "no segments\n",
            r"tst2012\.de-en\.en\.xml holds no line with <seg id",
        ),
        (
            "de-en/train.tags.de-en.de",
            lambda text: text.encode("latin-1"),
            r"de-en\.tgz, de-en/train\.tags\.de-en\.de, line 4: byte 0xdc is not UTF-8",
        ),
    ],
    ids=["no-member", "short", "misaligned-test", "cut", "no-segments", "latin-1"],
)
def test_what_is_wrong_with_an_archive_is_named(folders, member, change, message):
    members = iwslt14()
    content = members.pop(member)
    if change:
        members[member] = change(content)
    tgz(folders("iwslt14-de-en") / "de-en.tgz", members)
    with pytest.raises(DataError, match=message) as error:
        parallel("iwslt14-de-en", src="de", tgt="en")
    assert "\n" not in str(error.value)


# Moses


def test_a_pair_is_kept_or_left_out_by_its_lengths():
    def kept(src: int, tgt: int) -> bool:
        pairs = Pairs([" ".join("a" * src)], [" ".join("b" * tgt)])
        return bool(len(clean(pairs, longest=30)))

    assert kept(1, 1) and kept(2, 3) and kept(3, 2) and kept(30, 20)
    assert not kept(2, 4) and not kept(7, 4) and not kept(0, 1) and not kept(31, 30) and not kept(0, 0)
    words = Pairs(["a " + "b" * 1001, "a b"], ["a b", "a b"])
    assert len(clean(words, longest=30)) == 1


def test_sentences_are_cut_as_moses_cuts_them():
    assert tokenise(["Dr. No's well-known (3.5 %) “x”..."], "en") == [
        "Dr. No &apos;s well-known ( 3.5 % ) “ x ” ..."
    ]
    assert tokenise(["well-known"], "en", hyphens=True) == ["well @-@ known"]
    assert normalise(["„Nein“, sagt’s – \u200b5\u00a0%\x07 …"], "de") == ['"Nein", sagt\'s -  5%  ...']


# WMT14


def wmt14(folder: Path, size: int = 300) -> None:
    for archive, text in papers.WMT14_TRAINING.items():
        lines = {"de": "Ein „{}“-Satz aus {}.", "en": "A “{}” sentence from {}."}
        tgz(
            folder / archive,
            {
                f"{text}.{language}": "".join(line.format(i, archive[:3]) + "\n" for i in range(size))
                for language, line in lines.items()
            },
        )


def test_wmt14_joins_three_corpora_and_tests_on_the_news(folders, own_files, tmp_path, monkeypatch):
    news = Pairs(["Der „Hund“ und die Nord-Süd-Achse."], ["The dog’s “bark”."])
    monkeypatch.setattr(papers, "test_set", lambda name, src, tgt: news)
    wmt14(own_files("wmt14-en-de"))
    corpus = parallel("wmt14-en-de", src="de", tgt="en")
    assert corpus.tokenised and (len(corpus.train), len(corpus.valid)) == (891, 9)
    assert corpus.train.src[0] == "Ein &quot; 0 &quot; -Satz aus tra ."
    assert corpus.valid.tgt[0] == "A &quot; 99 &quot; sentence from tra ."
    assert corpus.tests["newstest2014"] == Pairs(
        ["Der „ Hund “ und die Nord @-@ Süd @-@ Achse ."], ["The dog &apos;s “ bark ” ."]
    )


# WMT18, Turkish and English

TMX = """<?xml version="1.0" encoding="UTF-8" ?>
<tmx version="1.4">
<header creationdate="Tue" srclang="en" adminlang="en" segtype="sentence" datatype="PlainText" o-tmf="OPUS"/>
  <body>
    <tu>
      <tuv xml:lang="en"><seg>Oil &amp; gas in the
      Aegean</seg></tuv>
      <tuv xml:lang="tr"><seg>Ege'de petrol ve <b>doğal</b> gaz</seg></tuv>
    </tu>
    <tu>
      <tuv xml:lang="en"><seg>Two.</seg></tuv>
      <tuv xml:lang="tr"><seg>İki.</seg></tuv>
    </tu>
  </body>
</tmx>
"""


def wmt18(folder: Path) -> None:
    (folder / "en-tr.tmx.gz").write_bytes(gzip.compress(TMX.encode()))
    news = {"src.tr": ["Bir &amp; iki.", "Üç."], "ref.en": ["One &amp; two.", "Three."]}
    tgz(folder / "dev.tgz", {f"dev/newsdev2016-tren-{end}.sgm": xml(lines) for end, lines in news.items()})


@pytest.mark.data
def test_wmt18_trains_on_setimes_and_tests_on_the_news(mirror, own_files):
    wmt18(own_files("wmt18-tr-en"))
    corpus = parallel("wmt18-tr-en", src="tr", tgt="en")
    assert corpus.train == Pairs(["Ege'de petrol ve doğal gaz", "İki."], ["Oil & gas in the Aegean", "Two."])
    assert corpus.valid == Pairs(["Bir & iki.", "Üç."], ["One & two.", "Three."])
    assert not corpus.tokenised
    sizes = {name: len(pairs) for name, pairs in corpus.tests.items()}
    assert sizes == {"newstest2016": 3000, "newstest2017": 3007, "newstest2018": 3000}
    assert corpus.tests["newstest2016"].src[0].startswith("Profesör")
    back = parallel("wmt18-tr-en", src="en", tgt="tr")
    assert back.train == Pairs(corpus.train.tgt, corpus.train.src)
    assert back.tests["newstest2018"].src == corpus.tests["newstest2018"].tgt


@pytest.mark.data
def test_a_real_test_set_comes_back_from_its_mark_up(mirror, tmp_path):
    lines = corpora.test_set("newstest2017", src="tr", tgt="en").src
    path = tmp_path / "newstest2017-tren-src.tr.sgm"
    path.write_text(xml(lines), encoding="utf-8")
    assert read_segments(path) == [line.strip() for line in lines]


def test_a_language_that_a_corpus_lacks_is_named():
    with pytest.raises(DataError, match="wmt18-tr-en has the languages 'tr' and 'en', got src='de'"):
        parallel("wmt18-tr-en", src="de", tgt="en")
    with pytest.raises(DataError, match="no parallel corpus 'iwslt14': did you mean 'iwslt14-de-en'"):
        parallel("iwslt14", src="de", tgt="en")

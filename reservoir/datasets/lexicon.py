"""The words of the miniature: German nouns, adjectives, verbs and small words, with their English."""

from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Noun:
    """A noun in all its forms.

    Args:
        gender: "m", "f" or "n".
        oblique: singular beside the nominative: weak masculines add -n or -en (der Junge, den Jungen).
        plural, dative_plural: die Hunde, den Hunden.
        group: what it is, which decides what it can do and be done to.
        mine: whether "my" sounds right before it ("meine Frau" would be a wife).
    """

    singular: str
    gender: str
    oblique: str
    plural: str
    dative_plural: str
    en: str
    en_plural: str
    group: str
    mine: bool = True


@dataclass(frozen=True)
class Verb:
    """A verb that forms its perfect with "haben".

    Args:
        plural, third: third person, as they stand in second place; `third` is the singular.
        participle: for the perfect (gesehen, aufgemacht).
        en, en_third, en_past: sees, saw. `en_preposition` comes before the object (look for), `en_particle` after it.
        subjects, accusative, dative, companion: groups or single nouns that fit; empty where it takes none.
        prefix: of a separable verb; the infinitive is prefix + plural.
        place: whether a place ("im Garten") can be named.
    """

    plural: str
    third: str
    participle: str
    en: str
    en_third: str
    en_past: str
    subjects: str
    accusative: str = ""
    dative: str = ""
    companion: str = ""
    prefix: str = ""
    en_preposition: str = ""
    en_particle: str = ""
    place: bool = False

    @property
    def infinitive(self) -> str:
        return self.prefix + self.plural


NOUNS = (
    Noun("Mann", "m", "Mann", "Männer", "Männern", "man", "men", "adult", mine=False),
    Noun("Frau", "f", "Frau", "Frauen", "Frauen", "woman", "women", "adult", mine=False),
    Noun("Lehrer", "m", "Lehrer", "Lehrer", "Lehrern", "teacher", "teachers", "adult"),
    Noun("Ärztin", "f", "Ärztin", "Ärztinnen", "Ärztinnen", "doctor", "doctors", "adult"),
    Noun("Nachbar", "m", "Nachbarn", "Nachbarn", "Nachbarn", "neighbour", "neighbours", "adult"),
    Noun("Bruder", "m", "Bruder", "Brüder", "Brüdern", "brother", "brothers", "sibling"),
    Noun("Schwester", "f", "Schwester", "Schwestern", "Schwestern", "sister", "sisters", "sibling"),
    Noun("Kind", "n", "Kind", "Kinder", "Kindern", "child", "children", "child"),
    Noun("Junge", "m", "Jungen", "Jungen", "Jungen", "boy", "boys", "child", mine=False),
    Noun("Mädchen", "n", "Mädchen", "Mädchen", "Mädchen", "girl", "girls", "child", mine=False),
    Noun("Hund", "m", "Hund", "Hunde", "Hunden", "dog", "dogs", "animal"),
    Noun("Katze", "f", "Katze", "Katzen", "Katzen", "cat", "cats", "animal"),
    Noun("Pferd", "n", "Pferd", "Pferde", "Pferden", "horse", "horses", "animal"),
    Noun("Vogel", "m", "Vogel", "Vögel", "Vögeln", "bird", "birds", "animal"),
    Noun("Ball", "m", "Ball", "Bälle", "Bällen", "ball", "balls", "toy"),
    Noun("Brief", "m", "Brief", "Briefe", "Briefen", "letter", "letters", "text"),
    Noun("Zeitung", "f", "Zeitung", "Zeitungen", "Zeitungen", "newspaper", "newspapers", "text"),
    Noun("Buch", "n", "Buch", "Bücher", "Büchern", "book", "books", "text"),
    Noun("Apfel", "m", "Apfel", "Äpfel", "Äpfeln", "apple", "apples", "food"),
    Noun("Kuchen", "m", "Kuchen", "Kuchen", "Kuchen", "cake", "cakes", "food"),
    Noun("Tür", "f", "Tür", "Türen", "Türen", "door", "doors", "fixture"),
    Noun("Fenster", "n", "Fenster", "Fenster", "Fenstern", "window", "windows", "fixture"),
    Noun("Tasche", "f", "Tasche", "Taschen", "Taschen", "bag", "bags", "object"),
    Noun("Lampe", "f", "Lampe", "Lampen", "Lampen", "lamp", "lamps", "object"),
    Noun("Bild", "n", "Bild", "Bilder", "Bildern", "picture", "pictures", "object"),
    Noun("Geschenk", "n", "Geschenk", "Geschenke", "Geschenken", "present", "presents", "object"),
)

# Stem, to which the endings -e, -en, -er and -es go, and the English.
ADJECTIVES = {
    "adult": (
        ("alt", "old"),
        ("jung", "young"),
        ("müd", "tired"),
        ("freundlich", "friendly"),
        ("klug", "clever"),
    ),
    "sibling": (("müd", "tired"), ("freundlich", "friendly"), ("klug", "clever")),
    "child": (("klein", "small"), ("müd", "tired"), ("freundlich", "friendly"), ("klug", "clever")),
    "animal": (("alt", "old"), ("jung", "young"), ("klein", "small"), ("groß", "big"), ("schwarz", "black")),
    "toy": (("alt", "old"), ("neu", "new"), ("klein", "small"), ("groß", "big"), ("rot", "red")),
    "text": (("alt", "old"), ("neu", "new"), ("schön", "beautiful")),
    "food": (("klein", "small"), ("groß", "big")),
    "fixture": (("alt", "old"), ("neu", "new"), ("klein", "small"), ("groß", "big"), ("rot", "red")),
    "object": (("alt", "old"), ("neu", "new"), ("klein", "small"), ("groß", "big"), ("schön", "beautiful")),
}

PERSON = "adult sibling child"
THING = "toy text food fixture object"
WARES = "toy food object Buch Zeitung"

VERBS = (
    Verb("schlafen", "schläft", "geschlafen", "sleep", "sleeps", "slept", f"{PERSON} animal", place=True),
    Verb("lachen", "lacht", "gelacht", "laugh", "laughs", "laughed", PERSON),
    Verb("warten", "wartet", "gewartet", "wait", "waits", "waited", f"{PERSON} Hund Katze", place=True),
    Verb("arbeiten", "arbeitet", "gearbeitet", "work", "works", "worked", "adult sibling", place=True),
    Verb("singen", "singt", "gesungen", "sing", "sings", "sang", f"{PERSON} Vogel", place=True),
    Verb("spielen", "spielt", "gespielt", "play", "plays", "played", "child sibling Hund Katze",
         companion="child Hund Katze Ball", place=True),
    Verb("sehen", "sieht", "gesehen", "see", "sees", "saw", f"{PERSON} animal",
         accusative=f"{PERSON} animal {THING}", place=True),
    Verb("hören", "hört", "gehört", "hear", "hears", "heard", f"{PERSON} animal",
         accusative=f"{PERSON} animal", place=True),
    Verb("suchen", "sucht", "gesucht", "look", "looks", "looked", f"{PERSON} Hund Katze",
         accusative=f"{PERSON} animal {WARES} Brief", en_preposition="for", place=True),
    Verb("finden", "findet", "gefunden", "find", "finds", "found", PERSON,
         accusative=f"{PERSON} animal {WARES} Brief", place=True),
    Verb("kaufen", "kauft", "gekauft", "buy", "buys", "bought", PERSON, accusative=f"animal {WARES}"),
    Verb("lesen", "liest", "gelesen", "read", "reads", "read", PERSON, accusative="text", place=True),
    Verb("essen", "isst", "gegessen", "eat", "eats", "ate", PERSON, accusative="food", place=True),
    Verb("fragen", "fragt", "gefragt", "ask", "asks", "asked", PERSON, accusative=PERSON),
    Verb("helfen", "hilft", "geholfen", "help", "helps", "helped", PERSON, dative=f"{PERSON} animal", place=True),
    Verb("danken", "dankt", "gedankt", "thank", "thanks", "thanked", PERSON, dative=PERSON),
    Verb("geben", "gibt", "gegeben", "give", "gives", "gave", PERSON, dative=PERSON, accusative=f"{WARES} Brief"),
    Verb("zeigen", "zeigt", "gezeigt", "show", "shows", "showed", PERSON,
         dative=PERSON, accusative=f"animal {WARES} Brief"),
    Verb("machen", "macht", "aufgemacht", "open", "opens", "opened", PERSON,
         accusative="fixture Tasche Geschenk Brief", prefix="auf"),
    Verb("machen", "macht", "zugemacht", "close", "closes", "closed", PERSON,
         accusative="fixture Tasche", prefix="zu"),
    Verb("wecken", "weckt", "aufgeweckt", "wake", "wakes", "woke", f"{PERSON} animal",
         accusative=f"{PERSON} animal", prefix="auf", en_particle="up"),
    Verb("rufen", "ruft", "angerufen", "call", "calls", "called", PERSON, accusative=PERSON, prefix="an"),
    Verb("nehmen", "nimmt", "mitgenommen", "take", "takes", "took", PERSON,
         accusative=f"{PERSON} animal {WARES} Brief", prefix="mit", en_particle="along"),
    # These two begin like "buys" and "hears"; only the last word of the clause tells.
    Verb("kaufen", "kauft", "eingekauft", "shop", "shops", "shopped", "adult sibling", prefix="ein"),
    Verb("hören", "hört", "aufgehört", "stop", "stops", "stopped", f"{PERSON} Vogel", prefix="auf"),
)  # fmt: skip

# Verbs that take a clause with "dass": third singular, third plural, English plain form, third singular.
REPORTING = (
    ("weiß", "wissen", "know", "knows"),
    ("glaubt", "glauben", "believe", "believes"),
    ("sagt", "sagen", "say", "says"),
)

# Singular, plural, then the English: singular, plural, and with "does" (which "not" and questions need).
MODALS: dict[str, tuple[Any, ...]] = {
    "können": ("kann", "können", "can", "can", None),
    "müssen": ("muss", "müssen", "must", "must", None),
    "dürfen": ("darf", "dürfen", "may", "may", None),
    "wollen": ("will", "wollen", "wants to", "want to", "want to"),
}

# Nominative, accusative, dative, and the English subject and object; a dash where "sie" would be ambiguous.
PRONOUNS: dict[str, tuple[Any, ...]] = {
    "er": ("er", "ihn", "ihm", "he", "him", False),
    "sie": ("sie", None, "ihr", "she", "her", False),
    "wir": ("wir", "uns", "uns", "we", "us", True),
    "sie alle": ("sie", None, "ihnen", "they", "them", True),
    "ich": (None, "mich", "mir", None, "me", False),
}

TIMES = {"heute": "today", "jetzt": "now", "gestern": "yesterday", "oft": "often"}
PLACES = (
    (("im", "Garten"), "in the garden"),
    (("im", "Park"), "in the park"),
    (("in", "der", "Küche"), "in the kitchen"),
    (("in", "der", "Schule"), "at school"),
)


@cache
def fitting(groups: str) -> tuple[Noun, ...]:
    """Return the nouns that `groups` names, by group or singly, in the lexicon's order."""
    names = set(groups.split())
    return tuple(noun for noun in NOUNS if noun.group in names or noun.singular in names)

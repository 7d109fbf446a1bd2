"""Times as a question says them, in the languages of the page and in French: "last spring", "im März", "三周前"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import NamedTuple


def _numbered(*names: str, first: int = 1) -> dict[str, int]:
    """The names with their numbers; several for one are separated by a stroke."""
    return {name: number for number, same in enumerate(names, first) for name in same.split("|")}


def _named(**names: str) -> dict[str, str]:
    """What each of several names, separated by strokes, stands for."""
    return {name: meant for meant, same in names.items() for name in same.split("|")}


class _Words(NamedTuple):
    """What a language calls things. before_month, before_year: words that make a name or a number one of a time."""

    months: dict[str, int]
    seasons: dict[str, int]
    numbers: dict[str, int]
    units: dict[str, str]
    before_month: str
    before_year: str


_ENGLISH = _Words(
    _numbered(
        "january", "february", "march", "april", "may", "june",
        "july", "august", "september", "october", "november", "december",
    ),
    {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12},
    _numbered("one|a|an", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    _named(day="day|days", week="week|weeks", month="month|months", year="year|years"),
    "in|last|since|during|of|this|early|late|mid|by",
    "in|during|of|from",
)  # fmt: skip
_GERMAN = _Words(
    _numbered(
        "januar|jänner", "februar", "märz", "april", "mai", "juni",
        "juli", "august", "september", "oktober", "november", "dezember",
    ),
    {"frühling": 3, "frühjahr": 3, "sommer": 6, "herbst": 9, "winter": 12},
    _numbered(
        "ein|einem|einer", "zwei", "drei", "vier", "fünf", "sechs",
        "sieben", "acht", "neun", "zehn", "elf", "zwölf",
    ),
    _named(day="tag|tagen", week="woche|wochen", month="monat|monaten", year="jahr|jahren"),
    "im|in|letzten|vergangenen|vorigen|seit|während|vom|diesen|diesem|anfang|ende|mitte|bis",
    "im jahr|im jahre|in|aus|von|seit|während",
)  # fmt: skip
_SPANISH = _Words(
    _numbered(
        "enero", "febrero", "marzo", "abril", "mayo", "junio",
        "julio", "agosto", "septiembre|setiembre", "octubre", "noviembre", "diciembre",
    ),
    {"primavera": 3, "verano": 6, "otoño": 9, "invierno": 12},
    _numbered("un|una|uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce"),
    _named(day="día|días|dia|dias", week="semana|semanas", month="mes|meses", year="año|años"),
    "en|desde|durante|este|pasado|de|hasta|finales de|principios de|mediados de",
    "en|durante|de|del|desde",
)  # fmt: skip
_FRENCH = _Words(
    _numbered(
        "janvier", "février", "mars", "avril", "mai", "juin",
        "juillet", "août", "septembre", "octobre", "novembre", "décembre",
    ),
    {"printemps": 3, "été": 6, "automne": 9, "hiver": 12},
    _numbered("un|une", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze"),
    _named(day="jour|jours", week="semaine|semaines", month="mois", year="an|ans|année|années"),
    "en|depuis|pendant|de|fin|début|mi|jusqu'en",
    "en|pendant|de|depuis",
)  # fmt: skip
_CHINESE_TENS = ("", "十", "二十", "三十", "四十", "五十", "六十", "七十", "八十", "九十")
_CHINESE_ONES = ("", "一", "二", "三", "四", "五", "六", "七", "八", "九")
_CHINESE_NUMBERS = [tens + ones for tens in _CHINESE_TENS for ones in _CHINESE_ONES]
_CHINESE = _Words(
    _numbered("一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"),
    {"春": 3, "夏": 6, "秋": 9, "冬": 12},
    {**_numbered(*_CHINESE_NUMBERS[1:]), "两": 2},
    _named(day="天|日", week="周|个星期|星期|个礼拜", month="个月", year="年"),
    "",
    "",
)
_WITHIN_NUMBER = r"[\d一二三四五六七八九十两百千万零〇几数]"
"""What makes a numeral the end of a longer one: "2023年前", "一百二十天前", "几十年前"."""
_SURELY_FRENCH = (
    r"[jmtl]['’](?:ai|as|a|ont)|qu['’]\w+|est|que|qui|quoi|quels?|quelles|où|quand|pourquoi|combien|dont|nous|vous|"
    r"avez|avons|avait|étions|était"
)
"""Words beside which "hier" is French. "la", "je", "de", "quelle" are German, Dutch or in names there, too."""
_LANGUAGES = (_ENGLISH, _GERMAN, _SPANISH, _FRENCH, _CHINESE)
_MONTHS = {name: number for words in _LANGUAGES for name, number in words.months.items()}
_SEASONS = {name: month for words in _LANGUAGES for name, month in words.seasons.items()}
_NUMBERS = {name: number for words in _LANGUAGES for name, number in words.numbers.items()}
_UNITS = {name: unit for words in _LANGUAGES for name, unit in words.units.items()}
# (days of one, days by which a person may be wrong)
_LENGTHS = {"day": (1, 1), "week": (7, 5), "month": (30.44, 20), "year": (365.25, 120)}
# What "last" is elsewhere: a season that is not over is not meant.
_PAST = ("last", "letzten", "vergangenen", "vorigen", "pasado", "pasada", "dernier")


class Period(NamedTuple):
    """From the first day to the last, both included."""

    first: date
    last: date

    def days_from(self, day: date) -> int:
        """How many days `day` lies outside; 0 within."""
        return max(0, (self.first - day).days, (day - self.last).days)


def spoken_period(text: str, *, today: date) -> Period | None:
    """The period that a question names, the most recent one where it says no year; None for none."""
    plain = text.lower()
    for pattern, read in _READERS:
        if found := pattern.search(plain):
            try:
                return read(found, today)
            except (ValueError, OverflowError):
                return None  # the 31st of a short month, or a thousand years ago
    return None


def _day(found: re.Match[str], today: date) -> Period:
    named = found.groupdict()
    month = _number_of_month(named["month"])
    day = date(int(named["year"]), month, int(named["day"]))
    return Period(day, day)


def _month_of_year(found: re.Match[str], today: date) -> Period:
    return _months(int(found["year"]), _number_of_month(found["month"]), 1)


def _month(found: re.Match[str], today: date) -> Period:
    month = _number_of_month(found["month"])
    return _months(today.year if month <= today.month else today.year - 1, month, 1)


def _season(found: re.Match[str], today: date) -> Period:
    begin = _SEASONS[found["season"]]
    if found["year"]:
        return _months(int(found["year"]), begin, 3)
    year = today.year if date(today.year, begin, 1) <= today else today.year - 1
    if found["which"] in _PAST and _months(year, begin, 3).last >= today:
        year -= 1
    return _months(year, begin, 3)


def _ago(found: re.Match[str], today: date) -> Period:
    number = int(found["number"]) if found["number"].isdigit() else _NUMBERS[found["number"]]
    length, error = _LENGTHS[_UNITS[found["unit"]]]
    day = today - timedelta(days=number * length)
    return Period(day - timedelta(days=error), day + timedelta(days=error))


def _christmas(found: re.Match[str], today: date) -> Period:
    year = today.year if (today.month, today.day) >= (12, 10) else today.year - 1
    return Period(date(year, 12, 10), date(year + 1, 1, 2))


def _last(found: re.Match[str], today: date) -> Period:
    unit = _UNITS[found["unit"]]
    if unit == "year":
        return Period(date(today.year - 1, 1, 1), date(today.year - 1, 12, 31))
    if unit == "month":
        return _months(*_wrapped(today.year, today.month - 1), 1)
    monday = today - timedelta(days=today.weekday() + 7)
    return Period(monday, monday + timedelta(days=6))


def _year(found: re.Match[str], today: date) -> Period:
    return Period(date(int(found["year"]), 1, 1), date(int(found["year"]), 12, 31))


def _yesterday(found: re.Match[str], today: date) -> Period:
    return Period(today - timedelta(days=1), today - timedelta(days=1))


def _before_yesterday(found: re.Match[str], today: date) -> Period:
    return Period(today - timedelta(days=2), today - timedelta(days=2))


def _of_last_year(found: re.Match[str], today: date) -> Period:
    """A month or a season of the year before this one."""
    if season := found.groupdict().get("season"):
        return _months(today.year - 1, _SEASONS[season], 3)
    return _months(today.year - 1, _number_of_month(found["month"]), 1)


def _number_of_month(said: str) -> int:
    return _MONTHS.get(said) or int(said.removesuffix("月"))


def _months(year: int, month: int, count: int) -> Period:
    end = date(*_wrapped(year, month + count), 1)
    return Period(date(year, month, 1), end - timedelta(days=1))


def _wrapped(year: int, month: int) -> tuple[int, int]:
    """The year and month (1 to 12) that the `month`th of `year` is, counted beyond its ends."""
    years, rest = divmod(month - 1, 12)
    return year + years, rest + 1


_Reader = Callable[[re.Match[str], date], Period]
_Readers = Sequence[tuple[re.Pattern[str], _Reader]]


_GROUP = re.compile(r"(?<!\?P)<([a-z ]+)>")


def _any(names: Iterable[str]) -> str:
    return "|".join(sorted(names, key=len, reverse=True))


def _readers(words: _Words, forms: Sequence[tuple[str, _Reader]]) -> _Readers:
    """Patterns with the words of a language in the place of `<month>`, `<season>`, `<number>`, `<unit>`, `<of …>`."""
    groups = {
        "month": f"(?P<month>{_any(words.months)})",
        "season": f"(?P<season>{_any(words.seasons)})",
        "number": rf"(?P<number>\d{{1,3}}|{_any(words.numbers)})",
        "unit": f"(?P<unit>{_any(words.units)})",
        "year": r"(?P<year>\d{4})",
        "day": r"(?P<day>\d\d?)",
        "of month": f"(?:{words.before_month})",
        "of year": f"(?:{words.before_year})",
        "surely french": _SURELY_FRENCH,
        "within number": _WITHIN_NUMBER,
    }
    return [(re.compile(_GROUP.sub(lambda found: groups[found[1]], form)), read) for form, read in forms]


_FORMS: _Readers = [
    (re.compile(r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b"), _day),
    *_readers(
        _ENGLISH,
        (
            (r"\b<day>(?:st|nd|rd|th)?(?: of)? <month>,? <year>\b", _day),
            (r"\b<month> <day>(?:st|nd|rd|th)?,? <year>\b", _day),
            (r"\b<month>(?: of)?,? <year>\b", _month_of_year),
            (r"\b(?P<which>)<season>(?: of)? <year>\b", _season),
            (r"\b(?:<month>|<season>) of last year\b", _of_last_year),
            # Without "of" or "in" it may be a verb: "did it fall last year", "how far did we march last year".
            (r"\b(?:<of month>|the) (?:the )?(?:<month>|<season>),? last year\b", _of_last_year),
            (r"\blast year,? (?:in|during) (?:the )?(?:<month>|<season>)\b", _of_last_year),
            (r"\b<of month> <month>\b", _month),
            (r"\b(?P<which>last|in|this|during) (?:the )?<season>\b(?P<year>)", _season),
            (r"\b<number> <unit> ago\b", _ago),
            (r"\b(?:around|at|before|over|last) christmas\b", _christmas),
            (r"\b<of year> (?P<year>(?:19|20)\d\d)\b", _year),
            (r"\byesterday\b", _yesterday),
            (r"\blast <unit>\b", _last),
        ),
    ),
    *_readers(
        _GERMAN,
        (
            (r"\b<day>\.\s?(?P<month>\d\d?)\.\s?<year>\b", _day),
            (r"\b<day>\. <month> <year>\b", _day),
            (r"\b<month> <year>\b", _month_of_year),
            (r"\b(?P<which>)<season> <year>\b", _season),
            (r"\b(?:<month>|<season>),? (?:des |im )?(?:letzten|vergangenen|vorigen) jahre?s?\b", _of_last_year),
            (r"\b(?:letzt|vergangen|vorig)e[ns] jahr,? <of month> (?:<month>|<season>)\b", _of_last_year),
            (r"\b<of month> <month>\b", _month),
            (r"\b(?P<which>letzten|vergangenen|vorigen|im|diesen|diesem) <season>\b(?P<year>)", _season),
            (r"\bvor <number> <unit>\b", _ago),
            (r"\b(?:an|um|zu|vor|über|letzte) weihnachten\b", _christmas),
            (r"\b<of year> (?P<year>(?:19|20)\d\d)\b", _year),
            (r"\bgestern\b", _yesterday),
            (r"\b(?:letzten?|letztes|letztem|vergangene[nsm]?|vorige[nsm]?) <unit>\b", _last),
        ),
    ),
    *_readers(
        _SPANISH,
        (
            (r"\b<day> de <month>,?(?: del?)? <year>\b", _day),
            (r"\b<month>(?: del?)? <year>\b", _month_of_year),
            (r"\b(?P<which>)<season>(?: del?)? <year>\b", _season),
            (r"\b(?:<month>|<season>),? (?:del?|el) año pasado\b", _of_last_year),
            (r"\baño pasado,? <of month> (?:el |la )?(?:<month>|<season>)\b", _of_last_year),
            (r"\b<of month> <month>\b", _month),
            (r"\b<month> pasado\b", _month),
            (r"\b<season> (?P<which>pasado|pasada)\b(?P<year>)", _season),
            (r"\b(?P<which>en|este|esta|durante)(?: el| la)? <season>\b(?P<year>)", _season),
            (r"\bhace <number> <unit>\b", _ago),
            (r"\b(?:en|por|antes de|la pasada) navidad(?:es)?\b", _christmas),
            (r"\b<of year> (?P<year>(?:19|20)\d\d)\b", _year),
            (r"\bayer\b", _yesterday),
            (r"\b<unit> pasad[oa]\b", _last),
        ),
    ),
    *_readers(
        _FRENCH,
        (
            (r"\b<day>(?:er)? <month> <year>\b", _day),
            (r"\b<month> <year>\b", _month_of_year),
            (r"\b(?P<which>)<season>(?: de)? <year>\b", _season),
            # Without a word before it, "été" is a verb: "où as-tu été l'année dernière".
            (
                r"(?:\b<of month> |\bau |\b[ld]['’])(?:<month>|<season>),? (?:de )?l['’](?:an|année) derni(?:er|ère)\b",
                _of_last_year,
            ),
            (r"\bl['’](?:an dernier|année dernière),? (?:en|au) (?:<month>|<season>)\b", _of_last_year),
            (r"\b<of month> <month>\b", _month),
            (r"\b<month> dernier\b", _month),
            (r"\b<season> (?P<which>dernier)\b(?P<year>)", _season),
            (r"\b(?P<which>en|au|cet|ce) <season>\b(?P<year>)", _season),
            (r"\bil y a <number> <unit>\b", _ago),
            (r"(?:\bà|\bavant|\bpour) noël\b", _christmas),
            (r"\b<of year> (?P<year>(?:19|20)\d\d)\b", _year),
            (r"\bavant[- ]hier\b", _before_yesterday),
            (r"\b(?:d['’]|et |depuis |dès )hier\b|\bhier (?:matin|midi|soir|après-midi)\b", _yesterday),
            # "hier" alone is German and Dutch for "here".
            (r"(?s)\A(?=.*\b(?:<surely french>)\b).*\bhier\b", _yesterday),
            (r"\b<unit> derni(?:er|ère)\b", _last),
        ),
    ),
    *_readers(
        _CHINESE,
        (
            (r"(?P<year>\d{4})年(?P<month>\d\d?)月(?P<day>\d\d?)[日号]", _day),
            (r"(?P<year>\d{4})年(?P<month>\d\d?月|十[一二]?月|[一二三四五六七八九]月)", _month_of_year),
            (r"(?P<which>)(?P<year>\d{4})年的?<season>", _season),
            (r"去年的?(?P<month>\d\d?月|十[一二]?月|[一二三四五六七八九]月)", _of_last_year),
            (r"去年的?<season>", _of_last_year),
            (r"(?<!<within number>)<number><unit>(?:以)?前", _ago),
            (r"(?<![\d个])(?P<month>\d\d?月|十[一二]?月|[一二三四五六七八九]月)", _month),
            (r"(?P<which>今年|这个)?(?P<year>)<season>[天季]", _season),
            (r"圣诞", _christmas),
            (r"(?P<year>(?:19|20)\d\d)年(?![以之]?前(?!后))", _year),
            (r"昨天", _yesterday),
            (r"上(?P<unit>周|个星期|星期|个礼拜|个月)", _last),
            (r"去(?P<unit>年)", _last),
        ),
    ),
]
# A day first, and a month of last year: their months alone would read like those of another language.
_READERS: _Readers = sorted(_FORMS, key=lambda reader: reader[1] not in (_day, _of_last_year))

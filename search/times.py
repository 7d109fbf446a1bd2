"""Times as a question says them, in the languages of the page and in French: "last spring", "im März", "三周前".

A time that is to come is none: nothing was said in it. "Before", "after", "since" and "until" lead to periods without
a beginning, and to those that end today.
"""

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
    """What a language calls things. before_month, before_year: words that make a name or a number one of a time.

    bound_of_year: words before a number of four digits that may be an amount: "bis 2000 Euro". which_year: years by
    their distance from this one, as groups that `_BACK` names.
    """

    months: dict[str, int]
    seasons: dict[str, int]
    numbers: dict[str, int]
    units: dict[str, str]
    before_month: str
    before_year: str
    bound_of_year: str
    which_year: str


_ENGLISH = _Words(
    _numbered(
        "january", "february", "march", "april", "may", "june",
        "july", "august", "september", "october", "november", "december",
    ),
    {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12},
    _numbered("one|a|an", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    _named(day="day|days", week="week|weeks", month="month|months", year="year|years"),
    "in|last|since|during|of|this|early|late|mid|by|before|after|until|till",
    "in|during|of|from|since",
    "before|after|until|till",
    "(?:(?P<last>last)|(?P<this>this)|(?P<next>next)) year|(?:the )?year (?P<before_last>before last)",
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
    _named(
        day="tag|tagen", week="woche|wochen", month="monat|monaten|monats", year="jahr|jahren|jahres|jahrs",
    ),
    "im|in|letzten|vergangenen|vorigen|letztem|vergangenem|vorigem|seit|während|vom|diesen|diesem|anfang|ende|mitte|"
    "bis|vor|nach|ab",
    "im jahr|im jahre|in|aus|von|seit|während",
    "vor|nach|ab|bis",
    "(?:(?P<last>(?:letzt|vergangen|vorig)e[nsm] |vor)|(?P<before_last>(?:vorletzt|vorvergangen|vorvorig)e[nsm] )|"
    "(?P<this>(?:dies|laufend)e[nsm] )|(?P<next>(?:nächst|übernächst|kommend)e[nsm] ))jahre?s?",
)  # fmt: skip
_SPANISH = _Words(
    _numbered(
        "enero", "febrero", "marzo", "abril", "mayo", "junio",
        "julio", "agosto", "septiembre|setiembre", "octubre", "noviembre", "diciembre",
    ),
    {"primavera": 3, "verano": 6, "otoño": 9, "invierno": 12},
    _numbered("un|una|uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce"),
    _named(day="día|días|dia|dias", week="semana|semanas", month="mes|meses", year="año|años"),
    "en|desde|durante|este|pasado|de|hasta|finales de|principios de|mediados de|tras",
    "en|durante|de|del|desde",
    "hasta|tras",
    "año (?:(?P<last>pasado)|(?P<before_last>antepasado)|(?P<next>próximo|que viene|siguiente))|"
    "(?:(?P<last_>pasado)|(?P<this>este)|(?P<next_>próximo)) año",
)  # fmt: skip
_FRENCH = _Words(
    _numbered(
        "janvier", "février", "mars", "avril", "mai", "juin",
        "juillet", "août", "septembre", "octobre", "novembre", "décembre",
    ),
    {"printemps": 3, "été": 6, "automne": 9, "hiver": 12},
    _numbered("un|une", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze", "douze"),
    _named(day="jour|jours", week="semaine|semaines", month="mois", year="an|ans|année|années"),
    "en|depuis|pendant|de|fin|début|mi|jusqu['’]en|jusqu['’]à|avant|après|dès",
    "en|pendant|de|depuis|jusqu['’]en",
    "jusqu['’]à|avant|après|dès",
    "l['’](?:an|année) (?:(?P<last>derni(?:er|ère)|passée?)|(?P<next>prochaine?|qui vient))|"
    "l['’](?P<before_last>avant[- ]dernière) année|(?P<this>cette) année",
)  # fmt: skip
_CHINESE_TENS = ("", "十", "二十", "三十", "四十", "五十", "六十", "七十", "八十", "九十")
_CHINESE_ONES = ("", "一", "二", "三", "四", "五", "六", "七", "八", "九")
_CHINESE_NUMBERS = [tens + ones for tens in _CHINESE_TENS for ones in _CHINESE_ONES]
_CHINESE = _Words(
    _numbered("一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"),
    {"春": 3, "夏": 6, "秋": 9, "冬": 12},
    {**_numbered(*_CHINESE_NUMBERS[1:]), "两": 2},
    _named(day="天|日", week="周|个星期|星期|个礼拜", month="个月|月", year="年"),
    "",
    "",
    "",
    "(?P<last>(?<![过失除])去年|上一年)|(?P<before_last>(?<![大目以之从提当])前年)|(?P<this>今年)|(?P<next>明年|(?<!年)后年)",
)
_CHINESE_MONTH = r"(?P<month>\d\d?月|十[一二]?月|[一二三四五六七八九]月)"
_CHINESE_WEEK = r"周(?![围边刊]|期(?![末中间待]))|个星期|星期|个礼拜"
_WITHIN_NUMBER = r"[\d一二三四五六七八九十两百千万零〇几数]"
"""What makes a numeral the end of a longer one: "2023年前", "一百二十天前", "几十年前"."""
_NO_NOUN = (
    r"(?=\s*(?:\Z|[.,:](?!\d)|[?!;…()\[\]\"'“”„»«–—])|\s+(?:about|did|do|have|had|has|i|we|you|he|she|they|is|was|were|and|"
    r"or|but|when|what|where|who|how|über|habe|hatte|haben|hatten|ich|wir|und|oder|sobre|y|sur|et)\b)"
)
"""What may follow a year or a season behind "before", so that it is no amount and no name: "before 2000 users"."""
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
_PAST = (
    "last", "letzten", "vergangenen", "vorigen", "letztem", "vergangenem", "vorigem", "pasado", "pasada", "dernier",
    "passé",
)  # fmt: skip
_THIS = ("this", "diesen", "diesem", "este", "esta", "cet ", "ce ", "今年", "这个")
_BACK = {"last": 1, "before_last": 2, "this": 0, "next": -1}
"""How many years, months or weeks ago what a group of this name finds is. `last_` is a second group for `last`."""
_BEFORE, _AFTER, _SINCE, _UNTIL = "before", "after", "since", "until"
_BOUNDS = {
    _BEFORE: r"before|vor|antes|avant",
    _AFTER: r"after|nach|después|tras|après",
    _SINCE: r"since|seit|ab|desde|depuis|dès",
    _UNTIL: r"until|till|bis|hasta|jusqu['’](?:en|au|à)",
}
_BETWEEN = (
    r"the|early|late|mid|beginning|start|middle|end|of|last|this|day|"
    r"de[mnr]|des|zum|zur|anfang|mitte|ende|(?:letzt|vorletzt|vergangen|vorig|dies)e[nmrs]?|jahre?|"
    r"el|la|del?|al|principios|mediados|finales|pasad[oa]|est[ea]|"
    r"le|du|début|fin|mi|cet|cette|ce|l['’]|l['’](?:an|année)|année"
)
"""Words between "before" and the time that is meant: "before the end of March", "seit Anfang letzten Jahres"."""
_LED = re.compile(
    rf"(?:^|(?<=[\s(,;¿]))(?:{'|'.join(f'(?P<{name}>{words})' for name, words in _BOUNDS.items())})"
    rf"(?:\s+(?:{_BETWEEN}))*(?:\s+|\s*l['’])\Z"
)
_SOUGHT = re.compile(r"\b(?:be|ge|nach)?(?:such|frag)\w*(?:\s+\w+){0,2}\s+\Z")
"""What makes "nach" the word before what is sought: "Suche nach März 2024", "fragte ich nach letztem Jahr"."""
_WORD_ENDS = r"(?=\s*(?:\Z|[^\w\s])|的|[我你您他她它咱])"
"""前 and 起 begin words, too: "去年前往日本", "三月前端会议", "3月25日起飞"."""
_FOLLOWED = re.compile(
    rf"的?(?:(?P<before>[以之]前|前{_WORD_ENDS})|(?P<after>[以之]后)|(?P<since>以来|至今|起{_WORD_ENDS})|(?P<until>为止))"
)
_NAMING = {"day", "month", "season", "year", "unit"}
_CHINESE_SINCE = re.compile(r"(?:(?:自从|(?<![来亲独各])自)(?P<surely>)|从)\Z")
_CHINESE_TO = re.compile(r"[到至]")
_CHINESE_ON = re.compile(r"起(?![飞草诉义床航])|开始|以来|\s*(?:\Z|[^\w\s])")
"""What has to follow "从3月25日" to make it a beginning: "从3月25日的会议记录" is none."""


class Period(NamedTuple):
    """From the first day to the last, both included."""

    first: date
    last: date

    def days_from(self, day: date) -> int:
        """How many days `day` lies outside; 0 within."""
        return max(0, (self.first - day).days, (day - self.last).days)


def spoken_period(text: str, *, today: date) -> Period | None:
    """The period that a question names, the most recent one where it says no year; None for none.

    One that is to come, and an impossible day, leave what else the question names.
    """
    plain = text.lower()
    for pattern, read in _READERS:
        while found := pattern.search(plain):
            if period := _past(found, read, today):
                return period
            plain = plain[: found.start()] + "\0" * len(found[0]) + plain[found.end() :]
    return None


def _past(found: re.Match[str], read: _Reader, today: date) -> Period | None:
    """The period that was found with its bounds; None for one that is to come, or that there is not."""
    try:
        period = read(found, today)
        bounded = period and _bounded(period, found, read, today)
    except (ValueError, OverflowError):
        return None  # the 31st of a short month, or a thousand years ago
    return bounded if bounded and bounded.first <= today else None


def _bounded(period: Period, found: re.Match[str], read: _Reader, today: date) -> Period:
    """What lies before, after, since or until `period`, where the words around it say so."""
    if found.re in _UNBOUNDED:
        return period
    bound = _bound(found)
    if bound == _BEFORE:
        return Period(date.min, period.first - timedelta(days=1))
    if bound == _UNTIL:
        return Period(date.min, period.last)
    if bound == _AFTER:
        after = _over(period, found, read, today).last + timedelta(days=1)
        return Period(after, max(today, after))
    return Period(period.first, max(today, period.last)) if bound == _SINCE else period


def _over(period: Period, found: re.Match[str], read: _Reader, today: date) -> Period:
    """The period "after" which something was: the one of the year before, where no year is said and it goes on."""
    if period.last < today or read not in (_month, _season):
        return period
    if read is _season and (found["year"] or found["which"] in _THIS):
        return period
    return _months(period.first.year - 1, period.first.month, 1 if read is _month else 3)


def _bound(found: re.Match[str]) -> str | None:
    named = min(
        (found.start(name) for name in _NAMING & found.re.groupindex.keys() if found[name]), default=found.start()
    )
    led = _LED.search(found.string, 0, named)
    if led and not (led["after"] == "nach" and _SOUGHT.search(found.string, 0, led.start())):
        return led.lastgroup
    if followed := _FOLLOWED.match(found.string, found.end()):
        return followed.lastgroup
    since = _CHINESE_SINCE.search(found.string, 0, found.start())
    if since is None or _CHINESE_TO.match(found.string, found.end()):
        return None
    return _SINCE if since["surely"] is not None or _CHINESE_ON.match(found.string, found.end()) else None


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
    year = _year_of_season(begin, today)
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


def _relative(found: re.Match[str], today: date) -> Period:
    """This week, month or year, the last one, or the one before it."""
    unit, back = _UNITS[found["unit"]], _back(found)
    if unit == "year":
        return Period(date(today.year - back, 1, 1), date(today.year - back, 12, 31))
    if unit == "month":
        return _months(*_wrapped(today.year, today.month - back), 1)
    monday = today - timedelta(days=today.weekday() + 7 * back)
    return Period(monday, monday + timedelta(days=6))


def _year(found: re.Match[str], today: date) -> Period:
    return Period(date(int(found["year"]), 1, 1), date(int(found["year"]), 12, 31))


def _yesterday(found: re.Match[str], today: date) -> Period:
    return Period(today - timedelta(days=1), today - timedelta(days=1))


def _before_yesterday(found: re.Match[str], today: date) -> Period:
    return Period(today - timedelta(days=2), today - timedelta(days=2))


def _of_year(found: re.Match[str], today: date) -> Period | None:
    """A month or a season of the year before this one, of the one before that, or of this one; None of the next."""
    back, season = _back(found), found.groupdict().get("season")
    if back < 0:
        return None
    if season:
        # "This winter" is the one that is, or was.
        year = today.year - back if back else _year_of_season(_SEASONS[season], today)
        return _months(year, _SEASONS[season], 3)
    return _months(today.year - back, _number_of_month(found["month"]), 1)


def _day_of_month(found: re.Match[str], today: date) -> Period | None:
    """A day of a year that is said by its distance from this one, or the most recent one."""
    month, day = _number_of_month(found["month"]), int(found["day"])
    if any(said for name, said in found.groupdict().items() if name.rstrip("_") in _BACK):
        back = _back(found)
    else:
        back = 0 if (month, day) <= (today.month, today.day) else 1
    if back < 0:
        return None
    that = date(today.year - back, month, day)
    return Period(that, that)


def _season_before_last(found: re.Match[str], today: date) -> Period:
    begin = _SEASONS[found["season"]]
    year = _year_of_season(begin, today)
    return _months(year - (2 if _months(year, begin, 3).last >= today else 1), begin, 3)


def _year_of_season(begin: int, today: date) -> int:
    """The year in which the season that is, or was last, begins."""
    return today.year if date(today.year, begin, 1) <= today else today.year - 1


def _back(found: re.Match[str]) -> int:
    """How long ago the year, month or week is that one of the groups of `_BACK` found."""
    return next(
        _BACK[name.rstrip("_")] for name, said in found.groupdict().items() if said and name.rstrip("_") in _BACK
    )


def _number_of_month(said: str) -> int:
    return _MONTHS.get(said) or int(said.removesuffix("月"))


def _months(year: int, month: int, count: int) -> Period:
    end = date(*_wrapped(year, month + count), 1)
    return Period(date(year, month, 1), end - timedelta(days=1))


def _wrapped(year: int, month: int) -> tuple[int, int]:
    """The year and month (1 to 12) that the `month`th of `year` is, counted beyond its ends."""
    years, rest = divmod(month - 1, 12)
    return year + years, rest + 1


_Reader = Callable[[re.Match[str], date], Period | None]
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
        "span": f"(?P<unit>{_any(name for name, unit in words.units.items() if unit != 'day')})",
        "year": r"(?P<year>\d{4})",
        "day": r"(?P<day>\d\d?)",
        "of month": f"(?:{words.before_month})",
        "of year": f"(?:{words.before_year})",
        "bound of year": f"(?:{words.bound_of_year})",
        "no noun": _NO_NOUN,
        "which year": f"(?:{words.which_year})",
        "surely french": _SURELY_FRENCH,
        "within number": _WITHIN_NUMBER,
        "chinese month": _CHINESE_MONTH,
        "chinese week": _CHINESE_WEEK,
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
            (
                (
                    r"\b(?:on|of|by|from|before|after|since|until|till|the) (?:the )?<day>(?:st|nd|rd|th)?(?: of)? "
                    r"<month>\b(?:,? (?:of )?<which year>\b)?"
                ),
                _day_of_month,
            ),
            (
                (
                    r"\b(?:on|of|by|from|before|after|since|until|till) <month> <day>(?:st|nd|rd|th)?\b"
                    r"(?:,? (?:of )?<which year>\b)?"
                ),
                _day_of_month,
            ),
            (r"\b(?:<month>|<season>) of <which year>\b", _of_year),
            # Without "of" or "in" it may be a verb: "did it fall last year", "how far did we march last year".
            (r"\b(?:<of month>|the) (?:the )?(?:<month>|<season>),? <which year>\b", _of_year),
            (r"\b<which year>,? (?:in|during) (?:the )?(?:<month>|<season>)\b", _of_year),
            (r"\b<season> before last\b", _season_before_last),
            (r"\b<of month> <month>\b", _month),
            (r"\b(?P<which>last|in|this|during) (?:the )?<season>\b(?P<year>)", _season),
            # Not of "after the fall of the wall", and not of "before spring boot 3".
            (r"\b(?P<which>since|before|after|until|till) (?:the )?<season>\b<no noun>(?P<year>)", _season),
            (r"\b<number> <unit> ago\b", _ago),
            (r"\b(?:around|at|before|over|last) christmas\b", _christmas),
            (r"\b<of year> (?P<year>(?:19|20)\d\d)\b", _year),
            (r"\b<bound of year> (?P<year>(?:19|20)\d\d)\b<no noun>", _year),
            (r"\bday before yesterday\b", _before_yesterday),
            (r"\byesterday\b", _yesterday),
            (r"\b<span> (?P<before_last>before last)\b", _relative),
            (r"\b(?:(?P<last>last)|(?P<this>this)) <span>\b", _relative),
        ),
    ),
    *_readers(
        _GERMAN,
        (
            (r"\b<day>\.\s?(?P<month>\d\d?)\.\s?<year>\b", _day),
            (r"\b<day>\. <month> <year>\b", _day),
            (r"\b<month> <year>\b", _month_of_year),
            (r"\b(?P<which>)<season> <year>\b", _season),
            (r"\b<day>\. <month>\b(?:,? (?:des |im |in )?<which year>\b)?", _day_of_month),
            # "1.2." alone is a number of a chapter.
            (r"\b(?:am|vom|zum|dem|bis|ab) <day>\.\s?(?P<month>\d\d?)\.(?!\s?\d)", _day_of_month),
            (r"\b(?:<month>|<season>),? (?:des |im |in )?<which year>\b", _of_year),
            (r"\b<which year>,? <of month> (?:<month>|<season>)\b", _of_year),
            (r"\bvorletzte[nmsr]? <season>\b", _season_before_last),
            (r"\b<of month> <month>\b", _month),
            (
                (
                    r"\b(?P<which>letzte[nm]|vergangene[nm]|vorige[nm]|im|diesen|diesem|bis zum|"
                    r"(?:seit|vor|nach|ab) dem) <season>\b(?! (?:der|des|von)\b)(?P<year>)"
                ),
                _season,
            ),
            (r"\bvor <number> <unit>\b", _ago),
            (r"\b(?:an|um|zu|vor|über|letzte) weihnachten\b", _christmas),
            (r"\b<of year> (?P<year>(?:19|20)\d\d)\b", _year),
            (r"\b<bound of year> (?P<year>(?:19|20)\d\d)\b<no noun>", _year),
            (r"\bvorgestern\b", _before_yesterday),
            (r"\bgestern\b", _yesterday),
            (
                (
                    r"\b(?:(?P<last>(?:letzt|vergangen|vorig)e[nsmr]?)|(?P<this>(?:dies|laufend)e[nsmr]?)|"
                    r"(?P<before_last>(?:vorletzt|vorvergangen|vorvorig)e[nsmr]?)) <span>\b"
                ),
                _relative,
            ),
            (r"\b(?P<last>vor)(?P<unit>jahr)e?s?\b", _relative),
        ),
    ),
    *_readers(
        _SPANISH,
        (
            (r"\b<day> de <month>,?(?: del?)? <year>\b", _day),
            (r"\b<month>(?: del?)? <year>\b", _month_of_year),
            (r"\b(?P<which>)<season>(?: del?)? <year>\b", _season),
            (r"\b<day> de <month>\b(?:,? (?:del?|el) <which year>\b)?", _day_of_month),
            (r"\b(?:<month>|<season>),? (?:del?|el) <which year>\b", _of_year),
            (r"\b<month> (?P<next>próximo|que viene)\b", _of_year),
            (r"\b<which year>,? <of month> (?:el |la )?(?:<month>|<season>)\b", _of_year),
            (r"\b<season> antepasad[oa]\b", _season_before_last),
            (r"\b<of month> <month>\b", _month),
            (r"\b<month> pasado\b", _month),
            (r"\b<season> (?P<which>pasado|pasada)\b(?P<year>)", _season),
            (
                (
                    r"\b(?P<which>en|este|esta|durante|desde|hasta|antes del?|después del?)(?: el| la)? "
                    r"<season>\b(?! del? )(?P<year>)"
                ),
                _season,
            ),
            (r"\bhace <number> <unit>\b", _ago),
            (r"\b(?:en|por|antes de|la pasada) navidad(?:es)?\b", _christmas),
            (r"\b<of year> (?P<year>(?:19|20)\d\d)\b", _year),
            (r"\b<bound of year> (?P<year>(?:19|20)\d\d)\b<no noun>", _year),
            (r"\b(?:anteayer|antier|antes de ayer)\b", _before_yesterday),
            (r"\bayer\b", _yesterday),
            (r"\b<span> (?:(?P<last>pasad[oa])|(?P<before_last>antepasad[oa]))\b", _relative),
            # "Ha pasado semanas" is no time.
            (r"\b(?:el|la|del|al) (?P<last>pasad[oa]|últim[oa]) <span>\b", _relative),
            (r"\b(?P<this>est[ea]) <span>\b", _relative),
        ),
    ),
    *_readers(
        _FRENCH,
        (
            (r"\b<day>(?:er)? <month> <year>\b", _day),
            (r"\b<month> <year>\b", _month_of_year),
            (r"\b(?P<which>)<season>(?: de)? <year>\b", _season),
            (
                r"\b(?:le|du|au|\w+di) <day>(?:er)? <month>\b(?:,? (?:de )?<which year>\b|\s(?P<next__>prochain)\b)?",
                _day_of_month,
            ),
            # Without a word before it, "été" is a verb: "où as-tu été l'année dernière".
            (r"(?:\b<of month> |\bau |\b[ld]['’])(?:<month>|<season>),? (?:de )?<which year>\b", _of_year),
            (r"\b<which year>,? (?:en|au) (?:<month>|<season>)\b", _of_year),
            (r"\b<month> (?P<next>prochain)\b", _of_year),
            (r"\bavant[- ]dernier <season>\b", _season_before_last),
            (r"\b<of month> <month>\b", _month),
            (r"\b<month> (?:dernier|passé)\b", _month),
            (r"\b<season> (?P<which>dernier|passé)\b(?P<year>)", _season),
            (
                (
                    r"\b(?P<which>(?:en|au|cet|ce|jusqu['’]au) |(?:avant|après|depuis|dès|jusqu['’]à) (?:le |l['’]))"
                    r"<season>\b(?! d[eu'’])(?P<year>)"
                ),
                _season,
            ),
            (r"\bil y a <number> <unit>\b", _ago),
            (r"(?:\bà|\bavant|\bpour) noël\b", _christmas),
            (r"\b<of year> (?P<year>(?:19|20)\d\d)\b", _year),
            (r"\b<bound of year> (?P<year>(?:19|20)\d\d)\b<no noun>", _year),
            (r"\bavant[- ]hier\b", _before_yesterday),
            (r"\b(?:d['’]|et |depuis |dès )hier\b|\bhier (?:matin|midi|soir|après-midi)\b", _yesterday),
            # "hier" alone is German and Dutch for "here".
            (r"(?s)\A(?=.*\b(?:<surely french>)\b).*\bhier\b", _yesterday),
            (r"\b<span> (?P<last>derni(?:er|ère))\b", _relative),
            # "Un mois passé à Rome" is a length.
            (r"(?:\bl['’]|\b(?:la|le|du|au) )<span> (?P<last>passée?)\b", _relative),
            (r"\b(?P<before_last>avant[- ]derni(?:er|ère)) <span>\b", _relative),
            (r"\b(?P<this>cet|cette|ce) <span>\b", _relative),
        ),
    ),
    *_readers(
        _CHINESE,
        (
            (r"(?P<year>\d{4})年(?P<month>\d\d?)月(?P<day>\d\d?)[日号]", _day),
            (r"(?P<year>\d{4})年<chinese month>", _month_of_year),
            (r"(?P<which>)(?P<year>\d{4})年的?<season>", _season),
            (r"(?:<which year>的?)?(?<![\d个])<chinese month>份?<day>[日号]", _day_of_month),
            (r"<which year>的?(?:<chinese month>|<season>)", _of_year),
            # "25日前" of "3月25日前" is no length.
            (r"(?<!<within number>)(?<!月)<number>(?!月)<unit>[以之]?前(?![端台往])", _ago),
            (r"(?<![\d个])<chinese month>份?", _month),
            (r"(?P<which>今年|这个)?(?P<year>)<season>[天季]", _season),
            (r"圣诞", _christmas),
            (r"(?P<year>(?:19|20)\d\d)年(?!前(?!后))", _year),
            # Not of "目前天气", "以前天天" and "提前天数".
            (r"(?<![目以之从提当])前天(?!天)", _before_yesterday),
            (r"昨天", _yesterday),
            (r"(?P<before_last>上上)(?P<unit><chinese week>|个月)", _relative),
            (r"(?P<last>上)(?P<unit><chinese week>|个月)", _relative),
            # Not of "网上月饼", and not of "日本周刊".
            (r"(?<![网线晚早天路身街马以])(?P<last>上)(?P<unit>月)(?![饼亮球子光])", _relative),
            (r"(?:(?P<this>这)|(?<![日基书版根成资])(?P<this_>本))(?P<unit><chinese week>|个月)", _relative),
            (r"(?<![日基书版根成资])(?P<this>本)(?P<unit>月)", _relative),
            (r"(?<![\d一二三四五六七八九十年大目以之从提当])(?P<before_last>前)(?P<unit>年)(?![轻纪级])", _relative),
            (r"(?<![过失除])(?P<last>去)(?P<unit>年)", _relative),
            (r"(?<![如当至])(?P<this>今)(?P<unit>年)(?!轻)", _relative),
        ),
    ),
]
_FIRST = (_day, _day_of_month, _of_year, _season_before_last)
# Days first, and months of another year: their months alone would read like those of another language.
_READERS: _Readers = sorted(_FORMS, key=lambda reader: _FIRST.index(reader[1]) if reader[1] in _FIRST else len(_FIRST))
_UNBOUNDED = {pattern for pattern, read in _READERS if read in (_ago, _christmas, _before_yesterday)}
"""Those whose own words are "before" and the like."""

"""In which encoding a text file is: by its mark, as UTF-8, which may be damaged, or by what its language has often.

A text of an older encoding is read in every one of them, and compared with what is frequent in the languages it is used
for: pairs of letters, whatever their case, or characters. A wrong encoding makes rare ones, and strange signs, of them.
`decoded` is doubtful about a text where little of it speaks for one encoding, or another one is near.
"""

from __future__ import annotations

import codecs
import io
import itertools
import operator
import re
import string
import unicodedata

import chardet

_ASCII = frozenset(map(chr, range(128)))
_WESTERN = frozenset(
    "äöüÄÖÜßàâçéèêëîïôùûœæÀÂÇÉÈÊËÎÏÔÙÛŒÆÿáíóúñÁÍÓÚÑãõÃÕåÅøØìòÌÒ\xa0€£§°«»‹›„“”‘’‚–—…•·¿¡²³¹½¼¾©®™ªº´×÷±µ"
)
_NOT_WESTERN = re.compile(
    # Signs where no Western text has them are letters of another encoding, as are õ and ã that are not Portuguese.
    r"[^\W\d_][„‚¿¡«‹¼½¾]|[²³¹ºª´½¼¾„‚‹«×÷±°§]{2}|[²³¹ºª½¼¾][^\W\d_]|õ[^e]|ã[^\W\d_aeos]|[^\W\d_a-zA-Zµªº]{3}|[^\x00-\x7f\xa0]{4}"
)
_SAMPLE = 40_000
_LETTERS_TO_A_FAULT = 4
_ASCII_LETTERS = frozenset(string.ascii_lowercase)
_NOT_A_LETTER = re.compile(r"[\W\d_]+")
_STRANGE = re.compile(r"[^\w\s\x00-\x7f§°«·»№€\u2010-\u203a\u3000-\u303f\uff01-\uff65]")
"""Signs that hardly a text has, but many a text that is read in a wrong encoding."""
_STRANGE_WEIGHT = 5
_WITHOUT_ACCENTS = str.maketrans("άέήίόύώϊϋΐΰ", "αεηιουωιυιυ")
_SLAVIC = """
    а_ е_ _п _н не и_ _с ен я_ на _в о_ ст ан ни ра но по ре _д ва ов ат пр _и _з ка _о ер та то да за ро ти _к ко ме
    т_ ь_ ет ол те й_ в_ ор ри ит ть ис ло ли од _р им ал нн де тр ос ви от ом ве аз во _ф ле ль _т _у у_ ай об ма _б
    _м ия до ав го ск ед ес ем бы ей че ся ел ля ам ил ла х_
"""
_GREEK = """
    σ_ η_ α_ ο_ _α _ε ει το _τ ν_ ου ησ να εν ι_ τη _π τα ια _δ _σ στ με υ_ πο ση οσ αν ισ _μ ατ _κ ασ ρι μα ρο αρ αι
    ε_ ικ ρα εσ κα δε νο κο ετ ιο ων τε _ο δι _η τι ον αλ ερ χε υν ομ απ λο επ οι πα μη _γ ιν πι μο σε ορ κε λε γι ακ
    ρε πρ πε συ
"""
_HEBREW = """
    ת_ ה_ _מ _ה ית _ל _א ם_ _ש ל_ ני _ב ות ן_ י_ ים _ת מו ר_ ונ של _נ ור קו _ק לי א_ רו יו _ע _י רי ש_ לא בי ינ תי שי
    מי ב_ _פ יי וב ך_ _ס לה אי ימ מק יל או _כ נת _ר ו_ וד תו תמ ץ_ _ג מס ון ול ק_ בו סמ נה די ע_ _ח מה ד_ מת נו את יק
    וי יר טי פו
"""
_ARABIC = """
    ال _ا ة_ _م ر_ لم ية ا_ ل_ _ل ن_ ي_ م_ _ت ت_ ات _ف د_ _ع ان لا في _ب ف_ _أ لي _إ ست لف ار لت ما _ص لو لأ ير ى_ رة
    يم مل _ك لل _ي مس ع_ مة _س مي يا ح_ ور مو ط_ را ند دي ب_ نا ام صو ون لع ذا _ق عل تي _ن اس _و غي و_ بي وا فا تو تر
    ري ين رو ول من لى ها نه كم هي هذ قا كا اب اد
"""
_CENTRAL_EUROPEAN, _TURKISH, _BALTIC = "ąćęłńóśźżáčďéěíňřšťúůýžöőüű", "çğıöşüâî", "āąčēęėģīįķļņšūųžõäöü"
_JAPANESE = (
    "こそあどのにはをがとでもへらりるれろかきくけしすせたちつてなまみむめやゆよわいうえおんっゃゅょぎぐげごじずだばびべぼざぜぞーァアィイゥウェエォオカガキギクグケゲコゴサザシジスズセゼソゾタダチヂッツヅテデトドナ"
    "ニヌネノハバパヒビピフブプヘベペホボポマミムメモャヤュユョヨラリルレロヮワヰヱヲンヴヵヶ日一国会人年大二本中長出三同時政事自行社見月分後前民生連五発間対上部東者地合市業内方定今回新場金員九入選立開手力学問高代"
    "明子動京全目表通外最言現理調体化田当八六主題下意法不来作性的要用制務度気小七成期公持協取都和統以機平総加山思家話世受区領多県続進安設保改数記院女初北午指心界支第結百報書府活原先共得解名交資向際面委告文反元重近"
    "考判画海参売利知案信集在件団別物任使求次水半品計感特情示変打男基私各始島直両式確村提運終果西台広必応電住能無再位置流格有口過局少放税検町常料状工建語営空職証土供可役構木割身付由説転食研断何南石番規術護害算条店"
    "残線州質待試域例早限親商義形働好低味失移差個課末守種影福量白深字製票音申識注達株請"
)
_SIMPLIFIED_CHINESE = (
    "的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长知民样现分"
    "将外但身些与高意进把法此实回二理美点月明其种声全工己话者向情部正名定女问力机给等几很业最间新什打便位因重被走电四第门相次东政海口使教西再平世气信北少关并内加化由却代产入先山水万市体别处总才场师书比住员通目报立"
    "安表原路应期提何更合放做系计司利受果京务制解各任物台记边接它许直服建统色字请让认算结流每管连资队带条变权展传近决保办运完区品转量程告写收钱取设始历商找站改议形单数网专读价格型输选项据件版档错误"
)
_TRADITIONAL_CHINESE = (
    "的一是不了在人有我他這中大來上個國到說們為子和你地出道也時年得就那要下以生會自着去之过家學對可裡後小麼心多天而能好都然沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已老從動兩長知民樣現分"
    "將外但身些與高意進把法此實回二理美點月明其種聲全工己話者向情部正名定女問力機給等幾很業最間新什打便位因重被走電四第門相次東政海口使教西再平世氣信北少關并内加化由卻代產入先山水萬市體別處總才場師書比住員通目報立"
    "安表原路應期提何更合放做系計司利受果京務制解各任物臺記邊接它許直服建統色字請讓認算結流每管連資隊帶條變權展傳近決保辦運完區品轉量程告寫收錢取設始歷商找站改議形單數網專讀價格型輸選項據件版檔錯誤"
)
_KOREAN = (
    "이다니을지수에는를없로하시자일가스정파의용음합서기사리할인트한은어션않오터있문그위대드만제상옵으보값름함아실패해치작입력데모프표부식명버된전형고크바중행소되경나면키업설요못도열들출구여성적세개잘호변과록메료거"
    "번류야동목원환비필레미했내조장태현복체유마너단우주연안러분었와본추십간계려당반화결항또때최알속진절접른능확공법건방처새날씨습감후"
)


def _beside_ascii(letters: str) -> list[str]:
    return [pair for each in letters for other in string.ascii_lowercase for pair in (each + other, other + each)]


_LANGUAGES = (
    (("cp1255", "iso8859_8"), frozenset(_HEBREW.split()), 0.55),
    (("cp1251", "koi8_r", "cp866", "iso8859_5", "koi8_u"), frozenset(_SLAVIC.split()), 0.6),
    (("cp1253", "iso8859_7"), frozenset(_GREEK.split()), 0.55),
    (("cp1256", "iso8859_6"), frozenset(_ARABIC.split()), 0.55),
    (("cp1250", "iso8859_2"), frozenset(_beside_ascii(_CENTRAL_EUROPEAN)), 0.8),
    (("cp1254",), frozenset(_beside_ascii(_TURKISH)), 0.8),
    (("cp1257",), frozenset(_beside_ascii(_BALTIC)), 0.8),
    (("cp932", "euc_jp"), frozenset(_JAPANESE), 0.85),
    (("gb18030",), frozenset(_SIMPLIFIED_CHINESE), 0.6),
    (("big5",), frozenset(_TRADITIONAL_CHINESE), 0.6),
    (("cp949",), frozenset(_KOREAN), 0.7),
)
"""Encodings of a language, what is frequent in it, and the share that has of an ordinary text.

Frequent are characters, or pairs of letters, among which "_" is the edge of a word.
"""
_ENCODINGS = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("iso8859-1", "iso8859-2", "iso8859-5", "iso8859-7", "iso8859-8", "iso8859-9", "iso8859-15"),
    *("koi8-r", "koi8-u", "cp866", "cp437", "cp850", "cp852"),
    *("gb18030", "big5", "shift_jis", "cp932", "euc-jp", "euc-kr", "cp949"),
)
"""Those that chardet chooses among."""
_CONFIDENT = 0.15
"""From here on chardet hardly misread a text of the trials."""
_LIKELY, _LEAD, _FEW_BYTES = 0.6, 2.5, 12
"""From which part of that share on a text reads like one of the language; how far it is before the next encoding,
times the bytes that are not ASCII; how many of those there are at least where it is no guess."""


def encoding_by_mark(head: bytes) -> str | None:
    """The encoding of a file that begins with a byte order mark."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if head.startswith(mark):
            return encoding
    return None


def decoded(content: bytes) -> tuple[str, bool] | None:
    """The text, and whether it may be read wrongly: its encoding is a guess, or it has faults. None: it is no text."""
    marked = encoding_by_mark(content)
    if marked is not None:
        return _replaced(content, marked)
    try:
        return content.decode("utf-8"), False
    except UnicodeDecodeError:
        pass
    if b"\x00" in content:
        return None
    sample = _telling(content)
    if _is_damaged_utf8(sample):
        return content.decode("utf-8", errors="replace"), True
    encoding, is_sure = _encoding_by_frequency(sample)
    text, has_faults = _replaced(content, encoding)
    return text, has_faults or not is_sure


def _replaced(content: bytes, encoding: str) -> tuple[str, bool]:
    """The text, and whether something in it could not be read."""
    try:
        return content.decode(encoding), False
    except UnicodeDecodeError:
        return content.decode(encoding, errors="replace"), True


def _telling(content: bytes) -> bytes:
    """Whole lines in which the encoding shows; of one that is too long, an even number of bytes."""
    sample = bytearray()
    for line in io.BytesIO(content):
        if not line.isascii():
            if sample and len(sample) + len(line) > _SAMPLE:
                break
            sample += line[:_SAMPLE]
    return bytes(sample)


def _is_damaged_utf8(sample: bytes) -> bool:
    """Whether all but very few letters beyond ASCII are UTF-8; the last one may be cut."""
    text = codecs.getincrementaldecoder("utf-8")(errors="replace").decode(sample)
    faults = text.count("\ufffd") - sample.count("\ufffd".encode())
    letters = sum(not each.isascii() for each in text) - faults
    return letters > 0 and letters >= faults * _LETTERS_TO_A_FAULT


def _is_western(text: str) -> bool:
    """Whether a text that was read as Windows' Western encoding reads like one of Western Europe.

    Of texts that are short, or have few such letters, guesses by what is frequent name any encoding.
    """
    beyond = set(text) - _ASCII
    return beyond <= _WESTERN and _NOT_WESTERN.search(text) is None


def _encoding_by_frequency(sample: bytes) -> tuple[str, bool]:
    """The encoding in which a text reads most like one of a language, and whether that is sure.

    chardet knows more languages and encodings, but misreads short texts, and those in capitals.
    """
    if _is_western(sample.decode("cp1252", errors="replace")):
        return "cp1252", True
    first = operator.itemgetter(0)
    found: dict[str, tuple[float, str]] = {}
    for encodings, frequent, usual in _LANGUAGES:
        for encoding in encodings:
            text = sample.decode(encoding, errors="replace")
            found[text] = max(found.get(text, (0.0, encoding)), (_share(text, frequent) / usual, encoding), key=first)
    (likeness, encoding), (next_likeness, _) = sorted(found.values(), key=first, reverse=True)[:2]
    beyond = sum(each > 127 for each in sample)
    if likeness >= _LIKELY and beyond >= _FEW_BYTES and (likeness - next_likeness) * beyond >= _LEAD:
        return encoding, True
    guess = chardet.detect(sample, include_encodings=_ENCODINGS, compat_names=False)
    if likeness >= _LIKELY and guess["confidence"] < _CONFIDENT:
        return encoding, False
    return guess["encoding"] or "cp1252", guess["confidence"] >= _CONFIDENT and beyond >= _FEW_BYTES


def _share(text: str, frequent: frozenset[str]) -> float:
    """The share of what is frequent in a language among the characters, or pairs of letters, beyond ASCII."""
    strange = len(_STRANGE.findall(text))
    if len(next(iter(frequent))) == 1:
        units = [each for each in text if each.isalpha() and not each.isascii()]
    else:
        letters = "".join(each for each in text.casefold() if not unicodedata.combining(each))
        edged = _NOT_A_LETTER.sub("_", f" {letters} ").translate(_WITHOUT_ACCENTS)
        units = [pair for pair in map("".join, itertools.pairwise(edged)) if not pair.isascii()]
        strange += sum(pair not in frequent and not _ASCII_LETTERS.isdisjoint(pair) for pair in units)
    return sum(each in frequent for each in units) / (len(units) + _STRANGE_WEIGHT * strange or 1)

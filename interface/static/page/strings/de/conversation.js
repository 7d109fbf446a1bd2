import { strings as english } from '../en/conversation.js';
import { fill } from '../fill.js';
import { count, money, number } from './count.js';

export const strings = fill(english, {
  product: 'Anaphora',
  unreachable: 'Der Server ist nicht erreichbar.',
  outdated: 'Anaphora wurde auf dem Server aktualisiert. Lade die Seite neu; was du geschrieben hast, bleibt erhalten.',
  timedOut: 'Der Server hat nicht rechtzeitig geantwortet.',
  busy: 'Einen Moment …',

  attempt: {
    again: 'Erneut versuchen',
    perhapsDone: 'Vielleicht ist es trotzdem geschehen: Ein neuer Versuch kann es doppelt tun.',
  },

  sender: { user: 'Du', assistant: 'Assistent' },

  badge: {
    title: 'Klicken, um den Verweis auf die Nachricht zu kopieren',
    described: (index, hash) => (hash ? `Nachricht ${index}, Kennung ${hash}. Verweis kopieren` : `Nachricht ${index}. Verweis kopieren`),
    copied: 'Kopiert!',
    tooEarly: 'Diese Nachricht bekommt ihren Verweis, sobald die erste Antwort der Unterhaltung fertig ist.',
  },

  copy: {
    text: 'Text kopieren',
    code: 'Code kopieren',
    copied: 'Kopiert',
    done: (what) => `${what} kopiert`,
    permalink: 'Permalink kopiert',
    manualTitle: 'Von Hand kopieren',
    manualHelp: 'Dieser Browser lässt die Seite nicht an die Zwischenablage. Der Text unten ist ausgewählt: Drücke Strg+C (⌘C).',
    close: 'Schließen',
  },

  code: {
    download: 'Herunterladen',
    wrap: 'Zeilen umbrechen',
    preview: 'Vorschau',
    previewTitle: 'Vorschau des Codes',
    csv: 'Als CSV kopieren',
    latex: 'LaTeX kopieren',
  },

  usage: {
    cost: (amount, currency) => money(amount, currency),
    tokens: (asked, answered) => `${number(asked)} → ${number(answered)} Tokens`,
    speed: (tokens) => `${number(tokens < 10 ? tokens : Math.round(tokens))} Tokens/s`,
    title: 'Tokens, die das Modell gelesen hat → Tokens, die es geschrieben hat',
  },

  actions: {
    open: 'Aktionen der Nachricht',
    copyId: (shortId) => `Nachrichtenkennung #${shortId} kopieren`,
    aboutId: 'Für Programme, und so wie „Antwort auf“ sie zeigt. Um auf die Nachricht zu verweisen, kopiere den Verweis am Kennzeichen.',
    copyPermalink: 'Permalink kopieren',
    reply: 'Antworten',
    readAloud: 'Vorlesen oder damit aufhören',
    remember: 'Als Erinnerung merken',
    edit: 'Bearbeiten',
    fork: 'Ab hier abzweigen',
    pin: 'Anheften',
    unpin: 'Lösen',
    hide: 'Vor dem Modell verbergen',
    show: 'Dem Modell zeigen',
    moveUp: 'Nach oben',
    moveDown: 'Nach unten',
    delete: 'Löschen',
    selectThis: 'Auswählen',
    select: (index) => `Nachricht ${index} auswählen`,
  },

  edit: {
    label: 'Text der Nachricht',
    save: 'Speichern',
    saving: 'Wird gespeichert…',
    saveAndAsk: 'Speichern und neu antworten lassen',
    unsaved: 'Deine Änderungen sind nicht gespeichert. Drücke noch einmal Esc, um sie zu verwerfen.',
    discard: 'Änderungen verwerfen',
    cancel: 'Abbrechen',
    edited: 'bearbeitet',
    changed: 'Diese Nachricht wurde inzwischen anderswo geändert.',
    gone: 'Diese Nachricht wurde inzwischen anderswo gelöscht.',
    saveAnyway: 'Trotzdem speichern',
    restore: 'Wiederherstellen und speichern',
    copy: 'Deinen Text kopieren',
    showOther: 'Den anderen Text zeigen',
    hideOther: 'Den anderen Text ausblenden',
    elsewhere: 'Die Nachricht wurde inzwischen geändert oder gelöscht. Dein Text wartet bei ihr.',
    failed: (message) => `Die Nachricht konnte nicht geändert werden. ${message}`,
  },

  history: {
    open: 'Bearbeitet. Früheren Text zeigen',
    title: 'Frühere Texte',
    until: 'Bis',
    none: 'Kein früherer Text ist gespeichert.',
    failed: (message) => `Die früheren Texte konnten nicht geladen werden. ${message}`,
  },

  unkept: {
    label: 'nicht gespeichert',
    title: 'Weg, sobald du die Seite verlässt oder neu lädst',
    cancelled: 'Angehalten.',
    interrupted: 'Unterbrochen.',
  },

  hidden: {
    note: 'Vor dem Modell verborgen.',
    show: 'Zeigen',
    failed: (message) => `Die Nachricht konnte nicht verborgen oder gezeigt werden. ${message}`,
  },

  pins: {
    label: 'Angeheftete Nachrichten',
    pinned: 'Angeheftet',
    open: 'Zu dieser Nachricht',
    remove: (index) => `Nachricht ${index} lösen`,
    failed: (message) => `Das Anheften konnte nicht geändert werden. ${message}`,
    loadFailed: (message) => `Die angehefteten Nachrichten konnten nicht geladen werden. ${message}`,
  },

  fold: {
    all: (lines) => `Alle ${number(lines)} Zeilen zeigen`,
    less: 'Weniger zeigen',
  },

  variants: {
    label: 'Varianten dieser Antwort',
    place: (number, total) => `${number}/${total}`,
    previous: 'Vorige Variante',
    next: 'Nächste Variante',
    compare: 'Nebeneinander vergleichen',
    compareFailed: (message) => `Die Antworten konnten nicht geladen werden. ${message}`,
    failed: (message) => `Die Variante konnte nicht gewählt werden. ${message}`,
    regenerateFailed: (message) => `Es konnte nicht neu geantwortet werden. ${message}`,
  },

  branches: {
    label: 'Fassungen dieser Frage',
    place: (number, total) => `${number}/${total}`,
    previous: 'Vorige Fassung der Frage',
    next: 'Nächste Fassung der Frage',
    tree: 'Alle Zweige zeigen',
    title: 'Zweige dieser Unterhaltung',
    failed: (message) => `Der Zweig konnte nicht gewählt werden. ${message}`,
    treeFailed: (message) => `Die Zweige konnten nicht geladen werden. ${message}`,
  },

  find: {
    label: 'In dieser Unterhaltung suchen',
    placeholder: 'In dieser Unterhaltung suchen',
    count: (place, total) => (total === 0 ? 'Nicht gefunden' : `${place} von ${count(total, 'Nachricht', 'Nachrichten')}`),
    previous: 'Vorige (Umschalt+Enter)',
    next: 'Nächste (Enter)',
    close: 'Schließen (Esc)',
    failed: (message) => `Die Unterhaltung konnte nicht durchsucht werden. ${message}`,
  },

  beside: { isOpen: 'Diese Unterhaltung ist schon offen.' },

  rail: { failed: (message) => `Das konnte nicht geladen werden. ${message}` },

  move: {
    failed: (message) => `Die Nachrichten konnten nicht verschoben werden. ${message}`,
    stays: 'Nichts wurde verschoben: Anfang und Ende einer Unterhaltung und Fragen, die auf mehrere Arten gestellt wurden, bleiben, wo sie sind.',
  },

  reply: {
    to: (name, shortId) => (shortId ? `Antwort auf ${name} (#${shortId})` : `Antwort auf ${name}`),
    unknown: 'eine Nachricht',
    deleted: '(gelöscht)',
    cancel: 'Nicht auf diese Nachricht antworten',
  },

  answer: {
    waiting: 'Warten auf das Modell …',
    reconnecting: 'Die Verbindung ist abgebrochen und wird wiederhergestellt …',
    cancelled: 'Angehalten. Das bisher Gesagte bleibt erhalten.',
    interrupted: 'Unterbrochen. Das bisher Gesagte bleibt erhalten.',
    failed: 'Die Antwort ist fehlgeschlagen.',
    again: 'Neu antworten lassen',
    goOn: 'Fortsetzen',
    empty: 'Die Antwort ist leer.',
    finished: 'Die Antwort ist fertig.',
  },

  parts: {
    openFile: (name) => `${name} zeigen`,
    thinking: 'Gedankengang',
    notice: (sentence) => `Hinweis: ${sentence}`,
    other: (kind, name) => `${{ tool_call: 'Werkzeug', file: 'Datei', image: 'Bild' }[kind] ?? kind}: ${name}`,
    tool: (name, state, seconds) => `Werkzeug ${name}: ${state}${seconds ? ` (${seconds} s)` : ''}`,
    toolStates: { running: 'läuft …', complete: 'fertig', failed: 'fehlgeschlagen', cancelled: 'angehalten', waiting: 'wartet auf deine Zustimmung', interrupted: 'abgebrochen' },
    toolData: (given, result) => `Eingabe: ${given}\n\nErgebnis: ${result}`,
  },

  proposal: {
    memory: (statement) => `Zu merken: ${statement}`,
    documents: {
      write: (path) => `Zu schreiben: ${path}`, append: (path) => `Ans Ende von ${path} anzufügen`,
      replace_lines: (path) => `Zu ändern in ${path}`, rename: (path, newPath) => `Umzubenennen: ${path} → ${newPath}`, delete: (path) => `In den Papierkorb zu legen: ${path}`,
    },
    other: (kind) => `Eine Änderung ist vorgeschlagen (${kind}).`,
    call: (tool) => `Das Modell möchte ${tool} aufrufen, mit:`, allowOnce: 'Einmal erlauben', allowHere: 'In dieser Unterhaltung erlauben', refuse: 'Ablehnen', callStates: { accepted: 'Erlaubt.', declined: 'Abgelehnt.', expired: 'Die Antwort wartet nicht mehr darauf.' },
    accept: 'Annehmen', decline: 'Ablehnen', states: { accepted: 'Angenommen.', declined: 'Abgelehnt.', expired: 'Zu alt: Dieser Vorschlag ist abgelaufen.' },
    failed: (message) => `Das hat nicht geklappt. ${message}`,
  },

  answerSettings: {
    saved: 'Die Einstellungen dieser Unterhaltung sind gespeichert.',
    failed: (message) => `Das hat nicht geklappt. ${message}`,
  },

  send: {
    uploading: 'Eine Datei ist unterwegs. Die Nachricht wird gesendet, sobald sie da ist.',
    notUploaded: 'Eine Datei ist nicht hochgeladen. Versuche es noch einmal, oder nimm sie heraus.',
    send: 'Nachricht senden',
    stop: 'Antwort anhalten',
    sendLater: 'Senden, wenn die Antwort fertig ist',
    failedPart: (message) => `Ein Teil der Seite konnte nicht geladen werden. ${message}`,
    again: 'Erneut versuchen',
    tooLong: (limit) => `Eine Nachricht hat höchstens ${number(limit)} Zeichen.`,
    stopFailed: (message) => `Die Antwort konnte nicht angehalten werden. ${message}`,
  },

  outbox: {
    label: 'Nachrichten, die noch nicht gesendet sind',
    sending: () => 'Wird gesendet …',
    queued: () => 'Wird gesendet, sobald die Antwort fertig ist.',
    delayed: (message) => `Noch nicht gesendet. ${message} Sie bleibt hier und geht hinaus, sobald es klappt.`,
    retrying: (message) => `Noch nicht gesendet. ${message} Es wird noch einmal versucht …`,
    refused: (message) => `Nicht gesendet. ${message}`,
    cut: 'Die Nachricht wurde gerade gesendet, als du sie zurückgeholt hast. Hat der Server sie schon, steht sie gleich bei den Nachrichten.',
    elsewhere: (message) => `Eine Nachricht ist noch nicht gesendet und wartet dort, wo du sie geschrieben hast. ${message}`,
    goThere: 'Dorthin',
    now: 'Jetzt senden',
    edit: 'Zurückholen und bearbeiten',
    remove: 'Entfernen',
  },

  composer: {
    label: 'Nachricht',
    placeholder: 'Schreibe eine Nachricht. Mit @ nennst du Unterhaltungen und Erinnerungen.',
    references: 'Verweise in deiner Nachricht',
    useMemories: {
      on: 'Erinnerungen werden verwendet. Ausschalten', off: 'Erinnerungen werden nicht verwendet. Einschalten', name: 'Erinnerungen verwenden',
    },
    attached: 'Erinnerungen, die mit deiner Nachricht gehen',
    attachedAlready: (friendlyId) => `@${friendlyId} geht schon mit deiner nächsten Nachricht.`,
    attachedNow: (friendlyId) => `@${friendlyId} geht mit deiner nächsten Nachricht.`,
    attachedDeleted: 'gelöscht',
    detach: (friendlyId) => `@${friendlyId} nicht beilegen`,
    tooManyAttached: (most) => `Höchstens ${most} Erinnerungen gehen mit einer Nachricht.`,
  },

  transcript: {
    label: 'Nachrichten',
    loading: 'Nachrichten werden geladen …',
    earlier: 'Frühere Nachrichten werden geladen …',
    later: 'Spätere Nachrichten werden geladen …',
    toNewest: 'Zur neuesten Nachricht',
    sideFailed: { earlier: 'Frühere Nachrichten konnten nicht geladen werden.', later: 'Spätere Nachrichten konnten nicht geladen werden.' },
    failed: (message) => `Die Nachrichten konnten nicht geladen werden. ${message}`,
    stale: (message) => `Was hier steht, ist vielleicht nicht mehr aktuell: Es konnte nicht neu geladen werden. ${message}`,
    again: 'Erneut versuchen',
    gone: 'Diese Unterhaltung gibt es nicht, oder sie wurde gelöscht.',
    messageGone: 'Diese Nachricht gibt es nicht mehr.',
    untitled: '(ohne Titel)',
    none: 'Neue Unterhaltung',
  },

  empty: {
    title: 'Worüber möchtest du sprechen?',
    importOffer: 'Einen Export aus ChatGPT, Claude oder anderen hier ablegen oder wählen…',
    importFailed: (message) => `Das Importieren ließ sich nicht öffnen. ${message}`,
    intro: 'Schreibe unten. Was in einer Unterhaltung gesagt wurde, kannst du in jeder anderen fragen:',
    temporary: 'Diese Unterhaltung ist temporär: Sie ist weg, wenn du sie verlässt, oder nach einem Tag.',
    steps: [
      ['Schreibe @', 'und ein paar Wörter, um eine Unterhaltung und eine ihrer Nachrichten zu finden, oder etwas, das du dir gemerkt hast.'],
      ['Drücke Strg+K', '(⌘K auf einem Mac) für alle Befehle und Unterhaltungen, Strg+Umschalt+F, um alles zu durchsuchen, was gesagt wurde; ? zeigt alle Tasten.', 'keyboard'],
      ['Schreibe /help', 'um die Befehle zu sehen, mit denen eine Nachricht beginnen kann.'],
    ],
    models: {
      ready: 'Das Modell ist bereit.',
      prepared: 'Das Modell wird vorbereitet. Du kannst schon schreiben: Es antwortet, sobald es bereit ist.',
      failed: 'Das Modell ist gerade nicht verfügbar. Alles andere funktioniert.',
      none: 'Kein Modell ist eingerichtet, also antwortet niemand. Alles andere funktioniert: Verweise, Erinnerungen, Suche.',
    },
  },

  used: {
    begin: 'Verwendet:',
    memories: (n) => count(n, 'Erinnerung', 'Erinnerungen'),
    source: {
      referenced: 'in deiner Nachricht genannt',
      attached: 'deiner Nachricht beigelegt',
      pinned: 'angeheftet',
      conv_pinned: 'an diese Unterhaltung angeheftet',
      auto: 'gefunden, weil sie passt',
    },
  },

  models: {
    fetching: (name, percent) => (percent === null ? `${name} wird heruntergeladen …` : `${name} wird heruntergeladen: ${percent}\u00a0%`),
    loading: (name) => `${name} wird geladen …`,
    failed: (name) => `${name} ist nicht verfügbar.`,
    none: 'Kein Modell ist eingerichtet. Alles andere funktioniert; setze ANAPHORA_MAIN_MODEL und starte neu, um Antworten zu bekommen.',
    progress: 'Fortschritt des Modells',
  },

  mermaid: { alt: 'Diagramm', source: 'Quelltext', failed: 'Dieses Diagramm konnte nicht gezeichnet werden.' },
});

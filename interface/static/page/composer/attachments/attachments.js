import { bring } from '../../core/api.js';
import { strings } from '../../strings/en/conversation.js';
import { isDialogOpen } from '../../ui/controls/dialog.js';
import { setHidden } from '../../ui/dom.js';

const LONG_ENOUGH_TO_LOOK = 4000;
const AROUND_A_FILE = 60;

const carriesFiles = (event) => event.dataTransfer?.types.includes('Files') && !event.defaultPrevented;
/** A dialog or a panel over the conversation may want them, and the composer can't be seen. */
const isCovered = () => isDialogOpen() || Boolean(document.documentElement.dataset.panel);

/** The ways in which files come: the button, dropped on `area`, pasted. `onPaste` is told of text. */
function receiveFiles({ form, input, area, onFiles, onPaste }) {
  const picker = form.querySelector('.attach-files');
  const target = form.querySelector('.drop-target');
  form.querySelector('.attach-button').addEventListener('click', () => picker.click());
  picker.addEventListener('change', () => {
    onFiles([...picker.files]);
    picker.value = '';
  });
  area.addEventListener('dragover', (event) => {
    const isMine = carriesFiles(event) && !isCovered();
    setHidden(target, !isMine);
    if (isMine) event.preventDefault();
  });
  area.addEventListener('dragleave', (event) => !area.contains(event.relatedTarget) && setHidden(target, true));
  area.addEventListener('drop', (event) => {
    setHidden(target, true);
    if (!carriesFiles(event) || isCovered()) return;
    event.preventDefault();
    onFiles([...event.dataTransfer.files]);
  });
  input.addEventListener('paste', (event) => {
    const text = event.clipboardData.getData('text/plain');
    const files = [...event.clipboardData.files];
    // A word processor adds a picture of what it copies as text.
    if (text) onPaste(text);
    else if (files.length > 0) {
      event.preventDefault();
      onFiles(files);
    }
  });
}

/**
 * The files that go with the next message; what shows and reads them is loaded with the first one.
 *
 * @param {object} options
 * @param {HTMLElement} options.place for their chips
 * @param {number} options.most characters in a message
 * @param {(files: object[], uploaded: string[]) => Promise<boolean>} options.onChange when a file came or went by hand, also with an upload
 *   that ended; false where they can't be kept
 * @param {() => string|null} options.shownId of the conversation in which they are attached
 * @param {(text: string) => void} options.onProblem
 * @param {(error: Error, again: () => void) => void} options.onFailed
 * @param {() => void} options.onChosen when a person chooses files or takes one out
 * @param {() => void} options.onArrived when all that were chosen are there
 */
export function createAttachments({ form, input, place, page, most, onChange, shownId, onProblem, onFailed, onChosen, onArrived }) {
  let files = [];
  /** Files on their way to the server, and those that did not get there: `{id, name, file, place, share, problem, controller}` each. */
  let uploads = [];
  /** How many choices of files are being read. */
  let reading = 0;
  /** Why files of the last choice were not taken. */
  let refused = [];
  let list = null;
  let withdrawOffer = () => {};
  /** Counts the conversations that were turned to. */
  let conversation = 0;
  const part = () => bring(() => import('./file_chips.js'));

  async function show() {
    if (!list && files.length === 0 && uploads.length === 0) return;
    try {
      const { bringToServer, createFileList } = await part();
      const upload = (one) => bringToServer(one, server);
      list ??= createFileList({ place, input, page, onRemove: remove, onCancel: cancel, onRetry: upload });
      await list.show(files, uploads);
      uploads.filter(({ controller, problem }) => !controller && !problem).forEach(upload);
    } catch (error) {
      onFailed(error, show);
    }
  }

  /** Shows the files of another text: what was offered for the one before is over. */
  function set(wanted) {
    withdrawOffer();
    files = wanted;
    refused = [];
    return show();
  }

  /** Says why files were not taken and why others were not uploaded: each reason stays while other files arrive. */
  async function tellProblems(more = []) {
    onProblem((await part()).problemsOf(uploads, [...refused, ...more]));
  }

  /** @param {() => void} [onShown] called before the files are kept: the focus moves at once, or not at all */
  async function change(wanted, uploaded = [], onShown = () => {}) {
    files = wanted;
    const isKept = onChange(files, uploaded);
    await show();
    onShown();
    await tellProblems((await isKept) ? [] : [(await part()).sentences.notKept]);
  }

  function tellWhetherAllArrived() {
    if (reading === 0 && uploads.length === 0) onArrived();
  }

  async function remove(position) {
    onChosen();
    const { name, stored } = files[position];
    // One that a message uses stays, and one that can't be erased now is erased by the server later.
    if (stored) page.api.discardFile(stored.attachment_id).catch(() => {});
    refused = [];
    withdrawOffer();
    await change(files.toSpliced(position, 1), [], () => list.removed(name, position));
  }

  async function cancel(one) {
    onChosen();
    const position = uploads.indexOf(one);
    one.controller?.abort();
    uploads = uploads.filter((each) => each !== one);
    refused = [];
    await change(files, [one.id], () => list.removed(one.name, files.length + position));
  }

  /** What an upload needs of the message. See `bringToServer`. */
  const server = {
    page,
    shownId,
    onProgress: (one) => list.progressed(one),
    async onChange() {
      await show();
      await tellProblems();
    },
    async onEnd(one, stored) {
      uploads = uploads.filter((each) => each !== one);
      // What another tab has brought there comes with its draft.
      if (!stored) onChosen();
      await (stored ? take([{ name: stored.name, stored, place: one.place }], [one.id]) : show());
      tellWhetherAllArrived();
    },
  };

  async function take(added, uploaded = []) {
    await change((await part()).inPlace([...files, ...added]), uploaded, () => added.length > 0 && list.added(added));
  }

  /** Of two offers, the newer one stands. @param {(() => void)|null} withdraw null where nothing is offered */
  function offered(withdraw) {
    if (!withdraw) return;
    withdrawOffer();
    withdrawOffer = withdraw;
  }

  async function read(wanted) {
    const before = conversation;
    onChosen();
    reading += 1;
    let isRead = false;
    try {
      isRead = await receive(wanted, () => before === conversation);
    } catch (error) {
      onFailed(error, () => read(wanted));
    } finally {
      reading -= 1;
    }
    if (isRead) tellWhetherAllArrived();
  }

  /** @returns {Promise<boolean>} false where the person turned elsewhere meanwhile, who did not mean that conversation */
  async function receive(wanted, isHere) {
    const { linkInstead, offerAsDocuments, readFiles, sentences, withPlace } = await part();
    const { added, problems, others } = await readFiles(wanted, { most, held: files.length + uploads.length });
    if (!isHere()) {
      onProblem(sentences.leftBehind);
      return false;
    }
    refused = problems;
    await take(added);
    for (const one of others) uploads = [...uploads, withPlace(one, [...files, ...uploads])];
    await show();
    const onKept = (documents) => change(linkInstead(documents, { input, files }));
    if (page.tracksDocuments) offered(offerAsDocuments(added, { api: page.api, onKept }));
    return true;
  }

  async function pasted(text) {
    if (text.length < LONG_ENOUGH_TO_LOOK) return;
    const pastedText = text.replaceAll('\r\n', '\n');
    const loaded = await part().catch(() => null);
    // It may be sent already.
    if (!loaded || !input.value.includes(pastedText)) return;
    offered(loaded.offerPasted(text, (file) => {
      // What was pasted may have been changed since: then it stays in the text too.
      input.value = input.value.replace(pastedText, () => '');
      input.dispatchEvent(new Event('input'));
      take([file]);
    }));
  }

  receiveFiles({ form, input, area: page.dropArea, onFiles: read, onPaste: pasted });

  return {
    all: () => files,
    /** How many characters they take, with what is written around them. */
    length: () => files.reduce((sum, { text = '', name }) => sum + text.length + name.length + AROUND_A_FILE, 0),
    /** Whether a file is being read, or on its way to the server. */
    areArriving: () => reading > 0 || uploads.some((one) => !one.problem),
    /** Whether a file did not get to the server. */
    isOneMissing: () => uploads.some((one) => one.problem),
    /** Shows other ones, or none. */
    set,
    /** Shows those of another conversation, and goes on with those of its uploads that were on their way. */
    async turnTo(wanted, waiting) {
      conversation += 1;
      for (const { controller } of uploads) controller?.abort();
      uploads = waiting.map((one) => ({ ...one, share: 0 }));
      await set(wanted);
      if (list && uploads.length > 0) await tellProblems();
    },
    /** Keeps what is on its way under another conversation, since it is one now. */
    keepUploads: () => list?.keep(uploads, server),
    /** @returns {Promise<string>} the text of the message with `attached` in it */
    inText: async (text, attached) => (attached.length > 0 ? (await part()).withFiles(text, attached) : text),
    tooLong: async (limit) => (files.length > 0 ? (await part()).sentences.tooLong(limit) : strings.send.tooLong(limit)),
  };
}

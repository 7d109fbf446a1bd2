/** The browser's database (IndexedDB). A browser may close the connection to it at any time: the next use opens another one. */

const DATABASE = 'anaphora';
const STORE = 'kept';
/** What is said of a connection that is closed, or whose files are gone, and of what was under way meanwhile. */
const LOST = new Set(['InvalidStateError', 'UnknownError', 'AbortError']);

const promised = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** All entries of one owner, whose keys are [owner, kind, id]. In this order, an array comes after every string. */
const allOf = (owner) => IDBKeyRange.bound([owner], [owner, []]);

/** @template T @param {() => Promise<T>} job done again where the connection was lost @returns {Promise<T>} */
export async function onceMore(job) {
  try {
    return await job();
  } catch (error) {
    if (!LOST.has(error.name)) throw error;
    return job();
  }
}

/**
 * @param {IDBFactory} factory
 * @returns {Promise<{readAll: (owner: string) => Promise<Array<[string[], any]>>, read: (key: string[]) => Promise<any>,
 *   put: (changes: Array<[string[], any]>) => Promise<void>}>} `put`: all of the changes or none; null removes
 */
export async function openDatabase(factory) {
  /** The connection, or the one that is being opened. @type {Promise<IDBDatabase>|null} */
  let connection = null;

  async function connect() {
    const request = factory.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    const database = await promised(request);
    database.onclose = () => {
      connection = null;
    };
    // Another version of the page may want to change the database.
    database.onversionchange = () => leave(database);
    return database;
  }

  function leave(database) {
    database.close();
    connection = null;
  }

  async function using(job) {
    connection ??= connect();
    const used = connection;
    let database = null;
    try {
      database = await used;
      return await job(database);
    } catch (error) {
      if (connection === used && database === null) connection = null;
      else if (connection === used && LOST.has(error.name)) leave(database);
      throw error;
    }
  }

  await using(() => {});
  return {
    readAll: (owner) => using(async (database) => {
      const store = database.transaction(STORE).objectStore(STORE);
      const [keys, values] = await Promise.all([promised(store.getAllKeys(allOf(owner))), promised(store.getAll(allOf(owner)))]);
      return keys.map((key, position) => [key, values[position]]);
    }),
    read: (key) => using((database) => promised(database.transaction(STORE).objectStore(STORE).get(key))),
    put: (changes) => using((database) => {
      const transaction = database.transaction(STORE, 'readwrite');
      const store = transaction.objectStore(STORE);
      for (const [key, value] of changes) {
        if (value === null) store.delete(key);
        else store.put(value, key);
      }
      // Begun now, it is carried out even where the page ends before it has heard so.
      transaction.commit();
      return new Promise((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error ?? new DOMException('The connection was closed.', 'AbortError'));
      });
    }),
  };
}

import { strings as english } from '../en/conversation.js';
import { fill } from '../fill.js';
import { count, money, number } from './count.js';

export const strings = fill(english, {
  product: 'Anaphora',
  unreachable: 'No se puede conectar con el servidor.',
  outdated: 'Anaphora se actualizó en el servidor. Recarga la página; lo que escribiste se conserva.',
  timedOut: 'El servidor no respondió a tiempo.',
  busy: 'Un momento…',

  attempt: {
    again: 'Reintentar',
    perhapsDone: 'Quizá se hizo de todos modos: si lo reintentas, puede hacerse dos veces.',
  },

  sender: { user: 'Tú', assistant: 'Asistente' },

  badge: {
    title: 'Haz clic para copiar la referencia del mensaje',
    described: (index, hash) => (hash ? `Mensaje ${index}, clave ${hash}. Copiar su referencia` : `Mensaje ${index}. Copiar su referencia`),
    copied: '¡Copiado!',
    tooEarly: 'Este mensaje recibe su referencia cuando la primera respuesta de la conversación está completa.',
  },

  copy: {
    text: 'Copiar el texto',
    code: 'Copiar el código',
    copied: 'Copiado',
    done: (what) => `Se copió ${what}`,
    permalink: 'Enlace permanente copiado',
    manualTitle: 'Copiar a mano',
    manualHelp: 'Este navegador no deja que la página use el portapapeles. El texto de abajo está seleccionado: pulsa Ctrl+C (⌘C).',
    close: 'Cerrar',
  },

  code: {
    download: 'Descargar',
    wrap: 'Ajustar las líneas',
    preview: 'Vista previa',
    previewTitle: 'Vista previa del código',
    csv: 'Copiar como CSV',
    latex: 'Copiar LaTeX',
  },

  usage: {
    cost: (amount, currency) => money(amount, currency),
    tokens: (asked, answered) => `${number(asked)} → ${number(answered)} tokens`,
    speed: (tokens) => `${number(tokens < 10 ? tokens : Math.round(tokens))} tokens/s`,
    title: 'Tokens que leyó el modelo → tokens que escribió',
  },

  actions: {
    open: 'Acciones del mensaje',
    copyId: (shortId) => `Copiar el identificador del mensaje #${shortId}`,
    aboutId: 'Para programas, y tal como lo muestra «Respuesta a». Para referirte al mensaje, copia su referencia de la insignia.',
    copyPermalink: 'Copiar el enlace permanente',
    reply: 'Responder',
    readAloud: 'Leer en voz alta, o dejar de leer',
    remember: 'Guardar como recuerdo',
    edit: 'Editar',
    fork: 'Bifurcar desde aquí',
    pin: 'Fijar',
    unpin: 'Soltar',
    hide: 'Ocultar al modelo',
    show: 'Mostrar al modelo',
    moveUp: 'Subir',
    moveDown: 'Bajar',
    delete: 'Borrar',
    selectThis: 'Seleccionar',
    select: (index) => `Seleccionar el mensaje ${index}`,
  },

  edit: {
    label: 'Texto del mensaje',
    save: 'Guardar',
    saving: 'Guardando…',
    saveAndAsk: 'Guardar y responder de nuevo',
    unsaved: 'Tus cambios no están guardados. Pulsa Esc otra vez para descartarlos.',
    discard: 'Descartar los cambios',
    cancel: 'Cancelar',
    edited: 'editado',
    changed: 'Este mensaje se cambió entretanto en otra parte.',
    gone: 'Este mensaje se borró entretanto en otra parte.',
    saveAnyway: 'Guardar de todos modos',
    restore: 'Restaurar y guardar',
    copy: 'Copiar lo que escribiste',
    showOther: 'Mostrar el otro texto',
    hideOther: 'Ocultar el otro texto',
    elsewhere: 'El mensaje se cambió o se borró entretanto. Lo que escribiste espera en él.',
    failed: (message) => `No se pudo cambiar el mensaje. ${message}`,
  },

  history: {
    open: 'Editado. Mostrar lo que decía antes',
    title: 'Textos anteriores',
    until: 'Hasta',
    none: 'No se conserva ningún texto anterior.',
    failed: (message) => `No se pudieron cargar los textos anteriores. ${message}`,
  },

  unkept: {
    label: 'no se guarda',
    title: 'Desaparece cuando sales de la página o la recargas',
    cancelled: 'Detenido.',
    interrupted: 'Interrumpido.',
  },

  hidden: {
    note: 'Oculto al modelo.',
    show: 'Mostrar',
    failed: (message) => `No se pudo ocultar o mostrar el mensaje. ${message}`,
  },

  pins: {
    label: 'Mensajes fijados',
    pinned: 'Fijado',
    open: 'Ir a este mensaje',
    remove: (index) => `Soltar el mensaje ${index}`,
    failed: (message) => `No se pudo fijar ni soltar. ${message}`,
    loadFailed: (message) => `No se pudieron cargar los mensajes fijados. ${message}`,
  },

  fold: {
    all: (lines) => `Mostrar las ${number(lines)} líneas`,
    less: 'Mostrar menos',
  },

  variants: {
    label: 'Variantes de esta respuesta',
    place: (number, total) => `${number}/${total}`,
    previous: 'Variante anterior',
    next: 'Variante siguiente',
    compare: 'Comparar lado a lado',
    compareFailed: (message) => `No se pudieron cargar las respuestas. ${message}`,
    failed: (message) => `No se pudo elegir la variante. ${message}`,
    regenerateFailed: (message) => `No se pudo responder de nuevo. ${message}`,
  },

  branches: {
    label: 'Versiones de esta pregunta',
    place: (number, total) => `${number}/${total}`,
    previous: 'Versión anterior de la pregunta',
    next: 'Versión siguiente de la pregunta',
    tree: 'Mostrar todas las ramas',
    title: 'Ramas de esta conversación',
    failed: (message) => `No se pudo elegir la rama. ${message}`,
    treeFailed: (message) => `No se pudieron cargar las ramas. ${message}`,
  },

  find: {
    label: 'Buscar en esta conversación',
    placeholder: 'Buscar en esta conversación',
    count: (place, total) => (total === 0 ? 'No encontrado' : `${place} de ${count(total, 'mensaje', 'mensajes')}`),
    previous: 'Anterior (Mayús+Intro)',
    next: 'Siguiente (Intro)',
    close: 'Cerrar (Esc)',
    failed: (message) => `No se pudo buscar en la conversación. ${message}`,
  },

  beside: { isOpen: 'Esta conversación ya está abierta.' },

  rail: { failed: (message) => `No se pudo cargar. ${message}` },

  move: {
    failed: (message) => `No se pudieron mover los mensajes. ${message}`,
    stays: 'No se movió nada: el principio y el final de una conversación, y las preguntas hechas de varias maneras, se quedan donde están.',
  },

  reply: {
    to: (name, shortId) => (shortId ? `Respuesta a ${name} (#${shortId})` : `Respuesta a ${name}`),
    unknown: 'un mensaje',
    deleted: '(borrado)',
    cancel: 'No responder a este mensaje',
  },

  answer: {
    waiting: 'Esperando al modelo…',
    reconnecting: 'Se cortó la conexión. Reconectando…',
    cancelled: 'Detenido. Lo dicho hasta aquí se conserva.',
    interrupted: 'Interrumpido. Lo dicho hasta aquí se conserva.',
    failed: 'La respuesta falló.',
    again: 'Responder de nuevo',
    goOn: 'Continuar',
    empty: 'La respuesta está vacía.',
    finished: 'La respuesta está completa.',
  },

  parts: {
    openFile: (name) => `Mostrar ${name}`,
    thinking: 'Razonamiento',
    notice: (sentence) => `Nota: ${sentence}`,
    other: (kind, name) => `${{ tool_call: 'Herramienta', file: 'Archivo', image: 'Imagen' }[kind] ?? kind}: ${name}`,
    tool: (name, state, seconds) => `Herramienta ${name}: ${state}${seconds ? ` (${seconds} s)` : ''}`,
    toolStates: { running: 'en curso…', complete: 'terminada', failed: 'fallida', cancelled: 'detenida', waiting: 'espera tu consentimiento', interrupted: 'interrumpida' },
    toolData: (given, result) => `Entrada: ${given}\n\nResultado: ${result}`,
  },

  proposal: {
    memory: (statement) => `Para recordar: ${statement}`,
    documents: {
      write: (path) => `Para escribir: ${path}`, append: (path) => `Para añadir al final de ${path}`,
      replace_lines: (path) => `Para cambiar en ${path}`, rename: (path, newPath) => `Para renombrar: ${path} → ${newPath}`, delete: (path) => `Para mover a la papelera: ${path}`,
    },
    other: (kind) => `Se propone un cambio (${kind}).`,
    call: (tool) => `El modelo quiere llamar a ${tool}, con:`, allowOnce: 'Permitir una vez', allowHere: 'Permitir en esta conversación', refuse: 'Rechazar',
    callStates: { accepted: 'Permitida.', declined: 'Rechazada.', expired: 'La respuesta ya no espera esta llamada.' },
    accept: 'Aceptar', decline: 'Rechazar', states: { accepted: 'Aceptado.', declined: 'Rechazado.', expired: 'Demasiado antigua: esta propuesta ha caducado.' },
    failed: (message) => `No ha funcionado. ${message}`,
  },

  answerSettings: {
    saved: 'Los ajustes de esta conversación están guardados.',
    failed: (message) => `Eso no funcionó. ${message}`,
  },

  send: {
    uploading: 'Un archivo se está subiendo. El mensaje se envía en cuanto esté.',
    notUploaded: 'Un archivo no se ha subido. Inténtalo de nuevo, o quítalo.',
    send: 'Enviar el mensaje',
    stop: 'Detener la respuesta',
    sendLater: 'Enviar cuando la respuesta esté lista',
    failedPart: (message) => `No se pudo cargar una parte de la página. ${message}`,
    again: 'Reintentar',
    tooLong: (limit) => `Un mensaje tiene como máximo ${number(limit)} caracteres.`,
    stopFailed: (message) => `No se pudo detener la respuesta. ${message}`,
  },

  outbox: {
    label: 'Mensajes que aún no se han enviado',
    sending: () => 'Enviando…',
    queued: () => 'Se envía cuando la respuesta esté lista.',
    delayed: (message) => `Aún no se ha enviado. ${message} Se conserva aquí y se envía en cuanto sea posible.`,
    retrying: (message) => `Aún no se ha enviado. ${message} Se está intentando de nuevo…`,
    refused: (message) => `No se envió. ${message}`,
    cut: 'Se estaba enviando justo cuando lo recuperaste. Si el servidor ya lo tiene, aparecerá entre los mensajes.',
    elsewhere: (message) => `Un mensaje aún no se ha enviado y espera donde lo escribiste. ${message}`,
    goThere: 'Ir allí',
    now: 'Enviar ahora',
    edit: 'Recuperar y editar',
    remove: 'Quitar',
  },

  composer: {
    label: 'Mensaje',
    placeholder: 'Escribe un mensaje. Con @ nombras conversaciones y recuerdos.',
    references: 'Referencias en tu mensaje',
    useMemories: { on: 'Se usan los recuerdos. Desactivar', off: 'No se usan los recuerdos. Activar', name: 'Usar recuerdos' },
    attached: 'Recuerdos que van con tu mensaje',
    attachedAlready: (friendlyId) => `@${friendlyId} ya va con tu próximo mensaje.`,
    attachedNow: (friendlyId) => `@${friendlyId} va con tu próximo mensaje.`,
    attachedDeleted: 'borrado',
    detach: (friendlyId) => `No adjuntar @${friendlyId}`,
    tooManyAttached: (most) => `Con un mensaje van como máximo ${most} recuerdos.`,
  },

  transcript: {
    label: 'Mensajes',
    loading: 'Cargando mensajes…',
    earlier: 'Cargando mensajes anteriores…',
    later: 'Cargando mensajes posteriores…',
    toNewest: 'Al mensaje más reciente',
    sideFailed: { earlier: 'No se pudieron cargar los mensajes anteriores.', later: 'No se pudieron cargar los mensajes posteriores.' },
    failed: (message) => `No se pudieron cargar los mensajes. ${message}`,
    stale: (message) => `Lo que se muestra puede estar desactualizado: no se pudo volver a cargar. ${message}`,
    again: 'Reintentar',
    gone: 'Esta conversación no existe o fue borrada.',
    messageGone: 'Ese mensaje ya no está.',
    untitled: '(sin título)',
    none: 'Conversación nueva',
  },

  empty: {
    title: '¿De qué te gustaría hablar?',
    importOffer: 'Suelta aquí una exportación de ChatGPT, Claude u otros, o elígela…',
    importFailed: (message) => `No se pudo abrir la importación. ${message}`,
    intro: 'Escribe abajo. Lo que se dijo en una conversación se puede preguntar en cualquier otra:',
    temporary: 'Esta conversación es temporal: desaparece al salir de ella, o después de un día.',
    steps: [
      ['Escribe @', 'y unas palabras para encontrar una conversación y uno de sus mensajes, o algo que guardaste como recuerdo.'],
      ['Pulsa Ctrl+K', '(⌘K en un Mac) para ver todos los comandos y conversaciones, Ctrl+Mayús+F para buscar en todo lo que se dijo; ? muestra todas las teclas.', 'keyboard'],
      ['Escribe /help', 'para ver los comandos con los que puede empezar un mensaje.'],
    ],
    models: {
      ready: 'El modelo está listo.',
      prepared: 'El modelo se está preparando. Ya puedes escribir: responde en cuanto esté listo.',
      failed: 'El modelo no está disponible ahora. Todo lo demás funciona.',
      none: 'No hay ningún modelo configurado, así que nadie responde. Todo lo demás funciona: referencias, recuerdos, búsqueda.',
    },
  },

  used: {
    begin: 'Usado:',
    memories: (n) => count(n, 'recuerdo', 'recuerdos'),
    source: {
      referenced: 'nombrado en tu mensaje',
      attached: 'adjunto a tu mensaje',
      pinned: 'fijado',
      conv_pinned: 'fijado a esta conversación',
      auto: 'encontrado porque viene al caso',
    },
  },

  models: {
    fetching: (name, percent) => (percent === null ? `Descargando ${name}…` : `Descargando ${name}: ${percent}\u00a0%`),
    loading: (name) => `Cargando ${name}…`,
    failed: (name) => `${name} no está disponible.`,
    none: 'No hay ningún modelo configurado. Todo lo demás funciona; define ANAPHORA_MAIN_MODEL y reinicia para recibir respuestas.',
    progress: 'Progreso del modelo',
  },

  mermaid: { alt: 'Diagrama', source: 'Código', failed: 'No se pudo dibujar este diagrama.' },
});

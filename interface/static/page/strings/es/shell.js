import { shellStrings as english } from '../en/shell.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

export const shellStrings = fill(english, {
  dialog: { cancel: 'Cancelar', save: 'Guardar', confirm: 'Continuar' },

  session: {
    ended: 'Se cerró tu sesión. Lo que escribiste se conserva en este navegador.',
    signIn: 'Iniciar sesión',
    other: (email) => `Ahora hay otra cuenta con sesión iniciada en este navegador. Esta página es de ${email}: nada de lo que hagas aquí se lleva a cabo. Lo que escribiste se conserva para ${email}.`,
    reload: 'Recargar',
    logOutTitle: '¿Cerrar sesión y quitar lo que no se ha enviado?',
    logOutText: 'Hay borradores o mensajes sin enviar. Solo están en este navegador y se quitan al cerrar sesión.',
    logOut: 'Quitar y cerrar sesión',
  },

  defaultWorkspace: 'General',
  globalAssistant: 'Asistente global',

  toast: { dismiss: 'Cerrar', undo: 'Deshacer' },

  version: { newer: 'Anaphora se actualizó en el servidor.', reload: 'Recargar' },
  keepsNothing: 'El navegador no puede conservar ahora lo que escribes: se pierde cuando sales de esta página.',

  attention: {
    done: 'La respuesta está lista.',
    untitled: 'Anaphora',
    offer: 'Una respuesta estuvo lista mientras estabas en otra parte. ¿Quieres que tu navegador te avise la próxima vez?',
    accept: 'Avísame',
  },

  proposals: {
    open: (n) => count(n, 'propuesta', 'propuestas'),
    failed: (message) => `No se pudieron cargar las propuestas. ${message}`,
  },

  sidebar: {
    label: 'Conversaciones',
    loading: 'Cargando conversaciones…',
    failed: (message) => `No se pudieron cargar tus conversaciones. ${message}`,
    again: 'Reintentar',
    empty: 'Todavía no hay conversaciones.',
    open: 'Mostrar la barra lateral',
    close: 'Ocultar la barra lateral',
    actionFailed: (message) => `Eso no funcionó. ${message}`,
    rowActions: 'Acciones',
    actionsOf: (title) => `Acciones para «${title}»`,
    selected: (n) => `${number(n)} conversaciones seleccionadas`,
    dragged: 'en la selección',
    newTemporary: 'Conversación temporal',
    more: 'Mostrar más',
    moreOf: (n) => `Mostrar más (${number(n)})`,
    moreConversations: 'Mostrar más conversaciones',
  },

  shelves: {
    loading: 'Cargando…',
    failed: (message) => `No se pudo cargar. ${message}`,
    archiveEmpty: 'No hay nada archivado.',
    binEmpty: 'La papelera está vacía.',
    daysLeft: (n) => count(n, 'día restante', 'días restantes'),
    restore: (title) => `Restaurar «${title}»`,
    erase: (title) => `Borrar «${title}» para siempre`,
    eraseTitle: (title) => `¿Borrar «${title}» para siempre?`,
    eraseText: 'No se podrá recuperar, y las referencias a ella dirán que fue borrada.',
    eraseConfirm: 'Borrar para siempre',
    empty: 'Vaciar la papelera',
    emptyTitle: (n) => `¿Borrar ${count(n, 'conversación', 'conversaciones')} para siempre?`,
    emptied: (n) => `Se borró para siempre: ${count(n, 'conversación', 'conversaciones')}`,
    emptying: 'Vaciando la papelera…',
  },

  flags: { none: 'Sin marca', red: 'Rojo', orange: 'Naranja', yellow: 'Amarillo', green: 'Verde', blue: 'Azul', purple: 'Morado' },
  flagged: (title, color) => `${title}, marca de color ${color.toLowerCase()}`,
  unkept: (title) => `${title}, no se guarda`,
  answering: 'se está respondiendo',
  unread: 'respuesta sin leer',

  filter: {
    searching: 'Buscando…',
    matches: (n) => (n ? count(n, 'resultado', 'resultados') : 'Nada coincide.'),
    more: (n) => `Los primeros ${number(n)} resultados. Escribe más para acotarlos.`,
    failed: (message) => `La búsqueda falló. ${message}`,
    workspace: 'Espacio de trabajo',
    tag: (n) => count(n, 'conversación', 'conversaciones'),
  },

  conversationMenu: {
    copyReference: 'Copiar la referencia de la conversación',
    copyFullReference: 'Copiar la referencia completa',
    openWindow: 'Abrir en una ventana nueva',
    openBeside: 'Abrir al lado',
    rename: 'Cambiar el nombre',
    clone: 'Duplicar',
    pin: 'Fijar',
    unpin: 'Soltar',
    pinMany: (n) => `Fijar ${number(n)} conversaciones`,
    unpinMany: (n) => `Soltar ${number(n)} conversaciones`,
    flag: 'Poner marca',
    flagMany: (n) => `Marcar ${number(n)} conversaciones`,
    tags: 'Etiquetas…',
    archive: 'Archivar',
    archiveMany: (n) => `Archivar ${number(n)} conversaciones`,
    unarchive: 'Sacar del archivo',
    moveTo: 'Mover a…',
    delete: 'Borrar',
    deleteMany: (n) => `Borrar ${number(n)} conversaciones`,
    moveMany: (n) => `Mover ${number(n)} conversaciones a…`,
  },

  workspaceMenu: {
    newConversation: 'Conversación nueva',
    newWorkspace: 'Subespacio nuevo',
    rename: 'Cambiar el nombre',
    color: 'Cambiar el color',
    moveTo: 'Mover a…',
    topLevel: 'Nivel superior',
    delete: 'Borrar',
    colors: {
      primary: 'Azul',
      success: 'Verde',
      danger: 'Rojo',
      warning: 'Ámbar',
      info: 'Turquesa',
      secondary: 'Gris',
    },
  },

  conversation: {
    referenceCopied: (reference) => `Se copió ${reference}`,
    renameTitle: 'Cambiar el nombre de la conversación',
    renameLabel: 'Título',
    tagsTitle: (title) => `Etiquetas de «${title}»`,
    tagsLabel: 'Etiquetas, separadas por comas',
    deleted: (title) => `Se borró «${title}»`,
    deletedMany: (n) => `Se borró: ${count(n, 'conversación', 'conversaciones')}`,
    deletedElsewhere: 'Esta conversación se borró en otra ventana. La papelera la conserva 30 días.',
    restored: 'Restaurado',
    archived: (title) => `Se archivó «${title}»`,
    archivedMany: (n) => `Se archivó: ${count(n, 'conversación', 'conversaciones')}`,
    unarchived: (title) => `«${title}» salió del archivo`,
    cloned: (title) => `Se duplicó «${title}»`,
  },

  workspace: {
    newTitle: 'Espacio de trabajo nuevo',
    label: 'Nombre',
    create: 'Crear',
    renameTitle: 'Cambiar el nombre del espacio de trabajo',
    deleteTitle: (name) => `¿Borrar «${name}»?`,
    deleteText: 'Sus conversaciones y espacios se conservan: pasan al espacio que está encima.',
    deleteConfirm: 'Borrar el espacio de trabajo',
  },
});

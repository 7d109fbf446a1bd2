import { shellStrings } from '../../strings/en/shell.js';
import { showToast } from './toast.js';

/** Says that the browser does not keep what is typed. @returns {() => void} takes that back */
export const tellUnkept = () => showToast(shellStrings.keepsNothing, { kind: 'error', lasting: true });

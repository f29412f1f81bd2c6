/** Texts of the commands that do the same as dialogs. */
export const commands = { sameAs: 'The same as', command: 'command' }

export const scriptSessions = {
  create: 'Create a session for scripts',
  description:
    'A script uses it in place of your password, also when you have a second factor or sign in through a provider. It can do all that you can do.',
  name: 'Name',
  nameHint: 'Where you will use it, such as “Nightly report”.',
  bySso: 'To confirm, you must have signed in through your provider within the last ten minutes.',
  tooOld: 'Your sign-in is more than ten minutes old. Sign in again, and then create the session.',
  signInAgain: 'Sign in again',
  submit: 'Create session',
  copyTitle: 'Copy your session',
  copyDescription: (until: string) =>
    `It is not shown again. Run this command before your script, and keep it secret: it gives access to your account. Without use, the session ends ${until}.`,
  command: 'Command that sets BERTH_COOKIE',
  done: 'I have copied it',

  listTitle: 'Sessions for scripts',
  listDescription: 'Your scripts use them in place of your password.',
  none: 'None.',
  unused: (until: string) => `Not used yet. Ends ${until} without use`,
  used: (client: string, address: string, when: string, until: string) =>
    `${client} at ${address}, used ${when}. Ends ${until} without use`,
  ending: (others: number, scripts: string[]) => {
    const parts = [
      others > 0 && (others === 1 ? '1 other session' : `${others} other sessions`),
      scripts.length > 0 &&
        `${scripts.length === 1 ? '1 script session' : `${scripts.length} script sessions`}: ${scripts.join(', ')}`,
    ]
    return `This ends ${parts.filter(Boolean).join(' and ')}.`
  },
  endOf: (name: string) => `End the session “${name}”`,
}

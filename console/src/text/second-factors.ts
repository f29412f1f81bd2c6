export const secondFactors = {
  title: 'Second factor',
  description: 'Protects your account from whoever learns your password.',
  none: 'Sign-ins need your password only. Add an authenticator app, such as Aegis, 1Password or Google Authenticator.',
  app: 'Authenticator app',
  used: (added: string, used: string) => `Added ${added}, last used ${used}.`,
  codesLeft: (left: number) =>
    left === 1 ? 'One recovery code is left.' : `${left} recovery codes are left.`,
  setUp: 'Set up an authenticator app',
  remove: 'Remove',
  removeApp: 'Remove the authenticator app',
  removeTitle: 'Remove the authenticator app?',
  removeDescription:
    'Sign-ins then need your password only. Your recovery codes stop working, and your other sessions end.',
  removed: 'The authenticator app was removed.',
  renew: 'New recovery codes',
  renewTitle: 'Replace your recovery codes?',
  renewDescription: 'You get ten new codes. The earlier ones stop working.',

  passwordFirst: 'Confirm that it is you with your password.',
  next: 'Continue',
  scan: 'Scan this code with your authenticator app.',
  qrCode: 'QR code for your authenticator app',
  orType: 'Or type this key into the app:',
  key: 'key',
  code: 'Code',
  codeHint: 'The six digits that the app shows now.',
  confirm: 'Turn on',

  recoveryTitle: 'Keep your recovery codes',
  recoveryDescription:
    'Each code replaces the authenticator app once, for example when you lose your phone. Keep them where you keep passwords: they are not shown again.',
  recoveryCodes: 'Recovery codes',
  download: 'Download',
  done: 'I have saved them',

  stepTitle: 'Enter your code',
  stepDescription: 'Open your authenticator app and enter the code of this server.',
  recoveryCode: 'Recovery code',
  recoveryHint: 'One of the codes that you saved. It works once.',
  switchToRecoveryCode: 'Use a recovery code',
  switchToApp: 'Use the authenticator app',
  otherAccount: 'Use another account',

  requiredTitle: 'Set up a second factor',
  requiredDescription: (organization: string) =>
    `${organization} requires a second factor for sign-ins with a password.`,
  otherOrganizations: 'You can also work in another organization, or leave this one.',
  leave: (organization: string) => `Leave ${organization}`,

  organizationTitle: 'Sign-in',
  required: 'Members who sign in with a password need a second factor.',
  notRequired: 'Members may sign in with their password only.',
  ownersDecide: 'Only an owner can change this.',
  require: 'Require a second factor',
  stopRequiring: 'Stop requiring it',
  requireTitle: 'Require a second factor?',
  requireDescription:
    'Members without one can still sign in, but must set one up before they can work here. Sign-ins through a provider are not affected.',
  nowRequired: 'A second factor is now required.',
  noLongerRequired: 'A second factor is no longer required.',
}

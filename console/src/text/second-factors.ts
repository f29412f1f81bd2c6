export const secondFactors = {
  title: 'Second factor',
  description: 'Protects your account if someone learns your password.',
  none: 'Sign-ins need your password only. Add a passkey, or an authenticator app such as Aegis, 1Password or Google Authenticator.',
  app: 'Authenticator app',
  used: (added: string, used: string) => `Added ${added}, last used ${used}.`,
  codesLeft: (left: number) =>
    left === 1 ? 'One recovery code is left.' : `${left} recovery codes are left.`,
  setUp: 'Set up an authenticator app',
  remove: 'Remove',
  removeApp: 'Remove the authenticator app',
  removeTitle: 'Remove the authenticator app?',
  removePasskey: (name: string) => `Remove the passkey ${name}`,
  removePasskeyTitle: (name: string) => `Remove the passkey ${name}?`,
  removeDescription:
    'Without another second factor, sign-ins need your password only, and your recovery codes stop working.',
  removed: 'The second factor was removed.',

  addPasskey: 'Add a passkey',
  passkeyName: 'Name',
  passkeyNameHint: 'Such as the device that keeps it.',
  passkeyFailed:
    'Your browser did not use a passkey. Try again. Passkeys work only at the public address of this server.',
  passkeyKnown: 'This device has a passkey for your account already.',
  passkeyAdded: (added: string, used: string | null) =>
    used === null ? `Passkey, added ${added}, not used yet.` : `Passkey, added ${added}, last used ${used}.`,
  passkeyInstead: 'Use a passkey instead',
  passwordInstead: 'Use the password instead',
  appInstead: 'Use an authenticator app instead',
  rotate: 'New recovery codes',
  renewTitle: 'Replace your recovery codes?',
  renewDescription: 'You get ten new codes. The earlier ones stop working.',

  passwordFirst: 'Confirm that it is you.',
  next: 'Continue',
  scan: 'Scan this code with your authenticator app.',
  qrCode: 'QR code for your authenticator app',
  orType: 'Or type this key into the app:',
  key: 'key',
  code: 'Code',
  codeHint: 'The six digits that the app shows now.',
  turnOn: 'Turn on',

  recoveryTitle: 'Save your recovery codes',
  recoveryDescription:
    'Each code replaces your second factor once, for example when you lose your phone. Keep them where you keep passwords: they are not shown again.',
  recoveryCodes: 'Recovery codes',
  download: 'Download',
  done: 'I have saved them',

  steps: {
    passkey: {
      title: 'Use your passkey',
      description: 'Your browser asks for your passkey, security key or phone.',
      switch: 'Use a passkey',
    },
    totp: {
      title: 'Enter your code',
      description: 'Open your authenticator app and enter the code of this server.',
      switch: 'Use the authenticator app',
    },
    recovery_code: {
      title: 'Enter a recovery code',
      description: 'You saved ten of them when you set up your second factor.',
      switch: 'Use a recovery code',
    },
  },
  recoveryCode: 'Recovery code',
  recoveryHint: 'It works once.',
  otherAccount: 'Use another account',

  requiredTitle: 'Set up a second factor',
  requiredDescription: (organization: string) =>
    `${organization} requires a second factor for sign-ins with a password.`,
  otherOrganizations: 'You can also work in another organization, or leave this one.',
  leave: (organization: string) => `Leave ${organization}`,

  organizationTitle: 'Sign-in',
  required: 'Members who sign in with a password need a second factor.',
  notRequired: 'A password is enough to sign in. A second factor is optional.',
  ownersDecide: 'Only an owner can change this.',
  require: 'Require a second factor',
  stopRequiring: 'Stop requiring it',
  requireTitle: 'Require a second factor?',
  requireDescription:
    'Members without one can still sign in, but must set one up before they can work here. Sign-ins through a provider are not affected.',
  nowRequired: 'A second factor is now required.',
  noLongerRequired: 'A second factor is no longer required.',
}

/** Texts of members that are programs. */
export const serviceMembers = {
  title: 'Programs',
  description: 'Service members: they sign in with a generated password, and work from their networks only.',
  none: 'No programs yet',
  noneHint: 'A program signs in with a password of its own, which does not end with a person’s account.',
  lastUsed: 'Last used',
  usedAt: (when: string) => `Used: ${when}`,
  passwordAge: 'Password from',
  passwordFrom: (when: string) => `Password from ${when}`,
  networks: 'Networks',
  addDescription: 'It can use deployments and models. It gets no email, and cannot use this console.',
  name: 'Name',
  nameHint: 'What the program does, such as Nightly report.',
  networksHint:
    'One network per line, such as 10.0.0.0/8 or 192.0.2.7. It can sign in and work only from these. 0.0.0.0/0 and ::/0 are everywhere.',
  changeNetworks: 'Change networks',
  changeNetworksOf: (name: string) => `Change the networks of ${name}`,
  changeNetworksDescription: 'Its sessions from other networks end at once.',
  naming: 'People it serves',
  namingTitle: (name: string) => `The people whom ${name} serves`,
  namingDescription:
    'A program such as Open WebUI asks for many people. If its requests name a member, turns, limits, budgets and usage are those of the member, who must have access to the model too.',
  mayName: 'Its requests may name members',
  mayNameHint: 'With the header X-Berth-Member, and an email or a user ID. Nobody checks whom it names.',
  memberHeader: 'Another header with the email',
  memberHeaderHint: 'Open WebUI: X-OpenWebUI-User-Email. LiteLLM: x-litellm-end-user-id.',
  previousUntil: (when: string) => `The previous password ends ${when}`,

  rotate: 'New password',
  rotateTitle: (name: string) => `A new password for ${name}?`,
  rotateDescription:
    'The current password, and the sessions so far, go on for 24 hours, so that the program can take the new one without a pause.',
  rotateNow: 'End the current password and all sessions now',
  rotateNowHint:
    'Choose this if somebody else may know the password. The program stops until it has the new one.',

  copyTitle: 'Copy the credentials',
  copyDescription: 'The password is not shown again. Keep it where the program reads its secrets.',
  credentials: 'Credentials',
  run: 'With these variables, berth connect --service serves models to a program that only knows a key.',
  done: 'I have copied them',

  removeDescription: 'Its account, its password and its sessions end at once and for good.',

  pageTitle: 'This account is for programs',
  pageDescription: (name: string) =>
    `${name} is a service member. It can call the API, but not use this console. Sign in with an account of your own.`,
}

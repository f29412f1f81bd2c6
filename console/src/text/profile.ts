export const profile = {
  about: 'About you',
  aboutDescription: 'Members of your organizations see your name and email address.',
  name: 'Display name',
  firstName: 'First name',
  lastName: 'Last name',
  country: 'Country',
  contactNumber: 'Contact number',

  signingIn: 'Sign-in',
  email: 'Email',
  emailHint: 'The address is fixed. If you use single sign-on, it follows the address at your provider.',
  method: 'This session',
  byPassword: 'Signed in with a password',
  byProvider: (provider: string) => `Signed in through ${provider}`,
  since: 'Account created',
  changePassword: 'Change password',
  setPassword: 'Set a password',
  hasNoPassword: 'You sign in through a provider. We can email you a link to set a password as well.',
  noMail:
    'To choose a new password, you need a link. This server sends no email: it writes the link to a file, which its operator can read for you. Using the link signs you out of all sessions.',
  linkWritten:
    'The link is in the newest file of the folder “mail” in the server’s data directory. Ask the operator for it. It works once within an hour.',
  linkSent: (email: string) => `We sent a link to ${email}. It works once within an hour.`,

  invitations: 'Invitations to you',
  invitationsDescription: 'To accept an invitation, open the link in its email.',
  invitationsDescriptionFile: 'To accept an invitation, open the link that its sender gives you.',
  noInvitations: 'No pending invitations.',
  invitedAs: (role: string, until: string) => `As ${role}. Valid until ${until}.`,
  domainOffer: (domain: string, role: string) =>
    `People with an address of ${domain} may join as ${role}. You keep your own organization.`,
  join: 'Join',
  joinOrganization: (organization: string) => `Join ${organization}`,
  decline: 'Decline',
  declineFrom: (organization: string) => `Decline the invitation to ${organization}`,
  declineTitle: 'Decline the invitation?',
  declineDescription: (organization: string) =>
    `You won’t join ${organization}. Its admins can invite you again.`,
  declined: 'Invitation declined.',

  currentPassword: 'Current password',
  passwordChanged: 'Password changed. Your other sessions ended.',

  identities: 'Single sign-on',
  identitiesDescription: 'The accounts at your provider that sign in to this account.',
  identityFacts: (subject: string, since: string) => `ID ${subject}. Linked on ${since}.`,
  onlyIdentity: 'You can remove this link once you can sign in with a password.',
  unlink: 'Remove',
  unlinkFrom: (provider: string) => `Remove the link to ${provider}`,
  unlinkTitle: (provider: string) => `Remove the link to ${provider}?`,
  unlinkDescription:
    'You then sign in with your password only. If you sign in through the provider with the same email again, it is linked again.',
  unlinked: 'Link removed. Your other sessions ended.',

  sessions: 'Sessions',
  sessionsDescription: 'Where you are signed in.',
  thisSession: 'Current',
  unknownClient: 'Unknown client',
  browserOn: (browser: string, system: string) => `${browser} on ${system}`,
  seen: (address: string | null, when: string) => (address ? `${address}, used ${when}` : `Used ${when}`),
  endSession: 'End',
  endSessionOf: (client: string) => `End the session of ${client}`,
  endOthers: 'End all others',
  endOthersAndScripts: 'End all others and scripts',

  commandLine: 'Command line',
  commandLineDescription: 'berth connect serves your models to programs that only know a key.',
  commandLineCommands: 'Commands that install it',

  data: 'Your data',
  dataDescription: 'Take your data with you, or delete your account.',
  export: 'Export data',
  deleteAccount: 'Delete account',
  deleteTitle: 'Delete your account?',
  deleteDescription: 'Your sessions end at once. This cannot be undone.',
  closing: (names: string) => `Closes with your account, because only you are in it: ${names}.`,
  deploymentsEnd: (count: number) =>
    count === 1
      ? 'Your deployment ends with your account.'
      : `Your ${count} deployments end with your account.`,
  onlyOwner: (organization: string) =>
    `You are the only owner of ${organization}. Make another member an owner first.`,
  deleteBySso: 'To confirm, you must have signed in through your provider within the last ten minutes.',

  appearance: 'Appearance',
  appearanceDescription: 'Saved in this browser.',
}

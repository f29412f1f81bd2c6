export const profile = {
  title: 'Your profile',
  about: 'About you',
  aboutDescription: 'Members of your organizations see your name and email address.',
  name: 'Display name',
  firstName: 'First name',
  lastName: 'Last name',
  country: 'Country',
  contactNumber: 'Contact number',

  signingIn: 'Sign-in',
  email: 'Email',
  emailHint: 'You cannot change the address.',
  method: 'This session',
  byPassword: 'Signed in with a password',
  byProvider: (provider: string) => `Signed in through ${provider}`,
  since: 'Account created',
  changePassword: 'Change password',
  setPassword: 'Set a password',
  hasPassword: 'We’ll email you a link to choose a new password. Using it signs you out of all sessions.',
  hasNoPassword: 'You sign in through a provider. We can email you a link to set a password as well.',
  noMail:
    'To choose a new password, you need a link. This server sends no email: it writes the link to a file, which its operator can read for you. Using the link signs you out of all sessions.',
  linkWritten:
    'The link is in the newest file of the folder “mail” in the server’s data directory. Ask the operator for it. It works once within an hour.',
  linkSent: (email: string) => `We sent a link to ${email}. It works once within an hour.`,

  invitations: 'Invitations to you',
  invitationsDescription: 'To accept an invitation, open the link in its email.',
  noInvitations: 'No pending invitations.',
  invitedAs: (role: string, until: string) => `As ${role}. Valid until ${until}.`,
  decline: 'Decline',
  declineFrom: (organization: string) => `Decline the invitation to ${organization}`,
  declineTitle: 'Decline the invitation?',
  declineDescription: (organization: string) =>
    `You won’t join ${organization}. Its admins can invite you again.`,
  declined: 'Invitation declined.',

  appearance: 'Appearance',
  appearanceDescription: 'Saved in this browser.',
}

export const profile = {
  title: 'Your profile',
  about: 'About you',
  aboutDescription: 'Members of your organizations see your name and e-mail address.',
  name: 'Display name',
  firstName: 'First name',
  lastName: 'Last name',
  country: 'Country',
  contactNumber: 'Contact number',

  signingIn: 'Signing in',
  email: 'E-mail',
  emailHint: 'The address can’t be changed.',
  method: 'This session',
  byPassword: 'With your password',
  byProvider: (provider: string) => `Through ${provider}`,
  since: 'Account since',
  changePassword: 'Change password',
  setPassword: 'Set a password',
  hasPassword: 'We mail you a link to choose a new password. Using it signs you out everywhere.',
  hasNoPassword:
    'You sign in through a provider only. We can mail you a link to set a password as a second way in.',
  linkSent: (email: string) => `A link is on its way to ${email}. It works once, for an hour.`,

  invitations: 'Invitations to you',
  invitationsDescription: 'To accept one, open the link in its mail.',
  noInvitations: 'No invitation waits for your answer.',
  invitedAs: (role: string, until: string) => `As ${role}. Valid until ${until}.`,
  decline: 'Decline',
  declineFrom: (organization: string) => `Decline the invitation to ${organization}`,
  declineTitle: 'Decline the invitation?',
  declineDescription: (organization: string) =>
    `You don’t join ${organization}. Its admins can invite you again.`,
  declined: 'The invitation is declined.',

  appearance: 'Appearance',
  appearanceDescription: 'Kept in this browser.',
}

import type { RoleName } from '../../../server/src/contract.ts'

const roles: Record<RoleName, string> = {
  super_admin: 'the owner',
  admin: 'an admin',
  member: 'a member',
  viewer: 'a viewer',
}

export const auth = {
  email: 'E-mail',
  password: 'Password',
  newPassword: 'New password',
  passwordRule: 'At least 8 characters. A few words that only you would put together are good.',
  showPassword: 'Show password',
  hidePassword: 'Hide password',
  or: 'or',
  continueWith: (provider: string) => `Continue with ${provider}`,

  signIn: 'Sign in',
  forgotLink: 'Forgot your password?',
  noAccount: 'New here?',
  createAccount: 'Create an account',
  passwordSet: 'Your new password is set. Sign in with it.',
  ssoFailure: (code: string) =>
    ssoFailures[code] ?? 'Signing in came to nothing. Try again, or sign in in another way.',

  registerTitle: 'Create your account',
  name: 'Your name',
  firstName: 'First name',
  lastName: 'Last name',
  organization: 'Organization',
  organizationHint: 'Models, people and bills belong to it. You can rename it later.',
  register: 'Create account',
  haveAccount: 'Have an account?',
  signInInstead: 'Sign in instead',

  forgotTitle: 'Reset your password',
  forgotDescription: 'We send you a link to choose a new one.',
  sendLink: 'Send link',
  linkSentTitle: 'Look into your mail',
  linkSent: (email: string) =>
    `If ${email} has an account, a link is on its way. It works once, for an hour; only the newest one works.`,
  otherAddress: 'Try another address',
  backToSignIn: 'Back to sign-in',

  resetTitle: 'Choose a new password',
  resetDescription: 'You will be signed out everywhere.',
  setPassword: 'Set password',
  badLinkTitle: 'This link does not work',
  badLink: 'It was used already, is too old, or a newer one has taken its place.',
  newLink: 'Send a new link',

  completeTitle: 'Almost there',
  completeDescription: 'You came in through a provider. Two things are missing.',
  complete: 'Continue',
  signedInAs: (email: string) => `You are ${email}.`,

  invitation: 'Invitation',
  invitationTitle: (organization: string) => `Join ${organization}`,
  invitationFor: (role: RoleName) => `You are invited as ${roles[role]}.`,
  addressedTo: 'Addressed to',
  validUntil: 'Valid until',
  accept: 'Accept',
  decline: 'Decline',
  declineTitle: 'Decline the invitation?',
  declineDescription: (organization: string) =>
    `You don’t join ${organization}. Its admins can invite you again.`,
  declined: (organization: string) => `You declined. You are not a member of ${organization}.`,
  joined: (organization: string) => `You now work in ${organization}.`,
  signInToAnswer: 'You have an account. Sign in with it, and you come back here.',
  registerToAccept: 'Choose a password, and you are in. The names may be left out.',
  acceptAndRegister: 'Create account and join',
  otherAccount: (invitee: string, current: string) =>
    `This invitation is addressed to ${invitee}, and you are signed in as ${current}.`,
  signOut: 'Sign out',
  home: 'To your deployments',
  answeredTitle: 'This invitation was answered',
  accepted: (organization: string) => `It was accepted: ${organization} has a new member.`,
  expiredTitle: 'This invitation has expired',
  expired: (organization: string) => `Ask ${organization} to send it again; you get a new link.`,
  unknownTitle: 'This invitation can’t be found',
  unknown: 'The link may be cut off, or a newer one was sent: open the newest mail, or ask for it again.',
}

/** Why signing in through a provider came to nothing, by the code in the address. */
const ssoFailures: Record<string, string> = {
  sso_flow_expired: 'Signing in took too long, or it began in another browser. Try again.',
  sso_denied: 'The provider says that you did not agree. Try again, or sign in in another way.',
  sso_failed:
    'The provider’s answer could not be used. Try again; if it stays so, tell who runs this server.',
  sso_unavailable: 'The provider can’t be reached at the moment. Try again in a minute.',
  sso_email_unverified:
    'The provider does not vouch for your e-mail address. Confirm the address there, then try again.',
  sso_invitation_mismatch:
    'The invitation is addressed to another e-mail address than the one that you signed in with.',
  invitation_not_found: 'The invitation can’t be found. Open the newest mail, or ask for it again.',
  invitation_answered: 'The invitation was answered already.',
  invitation_expired: 'The invitation has expired. Ask for a new one.',
}

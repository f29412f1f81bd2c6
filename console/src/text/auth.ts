import type { RoleName } from '../contract.ts'

const roles: Record<RoleName, string> = {
  super_admin: 'the owner',
  admin: 'an admin',
  member: 'a member',
  viewer: 'a viewer',
}

export const auth = {
  email: 'Email',
  or: 'or',
  continueWith: (provider: string) => `Continue with ${provider}`,

  signIn: 'Sign in',
  forgotLink: 'Forgot your password?',
  noAccount: 'New here?',
  createAccount: 'Create an account',
  noAccounts:
    'Berth runs open models for your team on your own hardware. Nobody has an account on this server yet.',
  createFirstAccount: 'Create the first account',
  sessionEnded: 'Your session has ended. Sign in again to continue where you left off.',
  signedOutHere: 'You are signed out here. Your provider still knows you, and will ask who you are.',
  accountDeleted: 'Your account is deleted.',
  passwordSet: 'Your new password is set. Sign in to continue.',
  ssoFailure: (code: string) =>
    ssoFailures[code] ?? 'Sign-in failed. Try again, or use another way to sign in.',

  registrationLimited: (domains: string[]) =>
    domains.length === 0
      ? 'New accounts need an invitation. Ask an admin of your organization to invite you.'
      : `New accounts need an invitation, or an email at ${domains.join(' or ')}.`,
  registerTitle: 'Create your account',
  name: 'Your name',
  firstName: 'First name',
  lastName: 'Last name',
  organization: 'Organization',
  organizationHint: 'Your team and billing live here. You can rename it later.',
  register: 'Create account',
  haveAccount: 'Already have an account?',
  signInInstead: 'Sign in instead',

  forgotTitle: 'Reset your password',
  forgotDescription: 'We’ll email you a link to choose a new one.',
  forgotDescriptionFile:
    'This server sends no email. It writes the link to a file, which its operator can read for you.',
  sendLink: 'Request link',
  linkSentTitle: 'Check your email',
  linkSent: (email: string) =>
    `If ${email} has an account, we sent a link. It works once within an hour. A newer link replaces it.`,
  linkWrittenTitle: 'Ask your operator for the link',
  linkWritten: (email: string) =>
    `This server sends no email. If ${email} has an account, the link is in the newest file of the folder “mail” in the server’s data directory. It works once within an hour.`,
  otherAddress: 'Use another address',
  backToSignIn: 'Back to sign-in',

  resetTitle: 'Choose a new password',
  resetDescription: 'You will be signed out of all sessions.',
  setPassword: 'Set password',
  badLinkTitle: 'This link does not work',
  badLink: 'The link was used, has expired, or was replaced by a newer one.',
  newLink: 'Send a new link',

  verifyTitle: 'Verify your email',
  verifyDescription: (email: string) => `Verify that ${email} is your address.`,
  verify: 'Verify email',
  emailVerified: 'Your email is verified.',

  completeTitle: 'Almost there',
  completeDescription: 'Add your name and organization to finish signing up.',
  complete: 'Continue',
  signedInAs: (email: string) => `You are ${email}.`,

  invitation: 'Invitation',
  invitationTitle: (organization: string) => `Join ${organization}`,
  invitationFor: (role: RoleName, inviter: string) =>
    inviter === '' ? `You’re invited as ${roles[role]}.` : `${inviter} invites you as ${roles[role]}.`,
  addressedTo: 'For',
  validUntil: 'Valid until',
  accept: 'Accept',
  decline: 'Decline',
  declineTitle: 'Decline the invitation?',
  declineDescription: (organization: string) =>
    `You won’t join ${organization}. Its admins can invite you again.`,
  declined: (organization: string) => `You declined the invitation to ${organization}.`,
  joined: (organization: string) => `You joined ${organization}.`,
  signInToAnswer: 'You already have an account. Sign in to accept the invitation.',
  registerToAccept: 'Choose a password to join. Names are optional.',
  acceptAndRegister: 'Create account and join',
  otherAccount: (invitee: string, current: string) =>
    `This invitation is for ${invitee}, but you are signed in as ${current}.`,
  signOut: 'Sign out',
  home: 'Go to deployments',
  cancelledTitle: 'This invitation was cancelled',
  cancelled: (organization: string) =>
    `An admin of ${organization} cancelled it. Ask for a new one if you still want to join.`,
  answeredTitle: 'This invitation was already answered',
  accepted: (organization: string) => `The invitation to ${organization} was accepted.`,
  expiredTitle: 'This invitation has expired',
  expired: (organization: string) => `Ask an admin of ${organization} to send a new one.`,
  unknownTitle: 'Invitation not found',
  unknown: 'The link may be incomplete. Open it from the email again, or ask for a new invitation.',
  replacedTitle: 'There is a newer email',
  replaced: 'A newer invitation email replaced this link. Open the link in that one.',
}

/** Reasons for a failed SSO sign-in, by the code in the URL. */
const ssoFailures: Record<string, string> = {
  sso_flow_expired: 'The sign-in took too long or started in another browser. Try again.',
  sso_denied: 'The provider reports that you declined. Try again, or use another way to sign in.',
  sso_failed:
    'The provider sent an invalid response. Try again. If this continues, contact your administrator.',
  sso_unavailable: 'The provider is unreachable. Try again in a minute.',
  sso_email_missing: 'The provider sent no email address. Ask your administrator, whose log says more.',
  sso_email_unverified:
    'An account has your address, and the provider doesn’t say that the address is yours. Verify it there, or ask your administrator.',
  sso_email_in_use:
    'Another person at your provider already uses the account with your email address. Ask the operator of this server for help.',
  sso_invitation_mismatch: 'The invitation is for a different email address than the one you signed in with.',
  invitation_not_found: 'The invitation was not found. Open the newest email, or ask for a new invitation.',
  invitation_answered: 'The invitation was already answered.',
  invitation_expired: 'The invitation has expired. Ask for a new one.',
  registration_closed: 'New accounts need an invitation. Ask an admin of your organization to invite you.',
  account_disabled: 'Your account is disabled. Contact the operator of this server.',
}
